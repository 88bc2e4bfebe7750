"""Rule for deferred tools, and for what a search among them found."""

from __future__ import annotations

from collections.abc import Iterator

from wire.anthropic.rules.rule_input import RuleInput, as_object, as_objects, violation
from wire.core.errors import Violation


def deferred_tools_findable(request: RuleInput) -> Iterator[Violation]:
    """A50: some tool is not deferred, and the tools that a search found are declared.

    From the vendor's page of the tool search, read on 2026-02-22.
    """
    tools = request.body.tools
    if not tools or not request.at_anthropic:
        return
    if all(tool.plain.get("defer_loading") for tool in tools):
        message = "All tools have defer_loading set. At least one tool must be non-deferred."
        yield violation("tools", message, "A50", "add a tool search")
    # The request names the tools of a toolset nowhere.
    if request.continues_thread or any(tool.type.endswith("toolset") for tool in tools):
        return
    names = {tool.plain.get("name") for tool in tools}
    for turn in request.turns_with("tool_search_tool_result"):
        for block in turn.of("tool_search_tool_result"):
            content = as_object(block.plain.get("content"))
            for index, each in enumerate(as_objects(content.get("tool_references"))):
                if each.get("tool_name") not in names:
                    yield violation(
                        f"{block.path}.content.tool_references[{index}]",
                        f"Tool reference '{each.get('tool_name')}' has no corresponding tool "
                        "definition",
                        "A50",
                        "send the tool, or remove the search and its result",
                    )
