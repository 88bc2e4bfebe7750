"""Deferred tools: which of a request's tools are sent, and which a search has to find first.

A host with a tool search of its own gets all tools, marked. Elsewhere an agent's tool `find_tools`
is the search, and the conversation says what it found: no other state is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from wire.core.memory import Note
from wire.neutral.messages import Message, ToolCall, ToolResult
from wire.neutral.request import Request, Tool

FIND_TOOLS = "find_tools"
"""Name of the tool with which a model finds deferred tools, where the host has no search."""


def found_tools(messages: Iterable[Message], *, called: bool = False) -> Iterator[str]:
    """Yield the names of the tools that `find_tools` found in a conversation, in that order.

    >>> result = ToolResult("1", "find_tools", {"tools": [{"name": "tide"}]})
    >>> list(found_tools([Message("tool", (result,))]))
    ['tide']

    With `called`, those of calls are among them: another vendor's search may have found these.
    """
    for part in (part for message in messages for part in message.parts):
        if called and isinstance(part, ToolCall):
            yield part.name
        elif isinstance(part, ToolResult) and part.name == FIND_TOOLS and not part.error:
            tools = part.content.get("tools") if isinstance(part.content, Mapping) else None
            for each in tools if isinstance(tools, list | tuple) else ():
                if isinstance(each, Mapping):
                    yield str(each.get("name"))


def searched(
    request: Request,
    functions: list[tuple[str, Tool]],
    notes: list[Note],
    search: str | None,
) -> tuple[list[tuple[str, Tool]], frozenset[str]]:
    """Return what `wire.neutral.rendering.sent_functions` does, for functions of which some are
    deferred.

    `search` is the name of the host's own tool search. Without one, found tools follow the others
    in the order in which they were found, so that each request begins as the one before. A tool
    that was called, or that `tool_choice` names, counts as found. A note says what became of the
    deferred tools.
    """
    deferred = {tool.name: (path, tool) for path, tool in functions if tool.deferred}
    chosen = request.tool_choice if isinstance(request.tool_choice, tuple) else ()
    finds = any(tool.name == FIND_TOOLS for _, tool in functions)
    if search is not None:
        marked = deferred.keys() - {*found_tools(request.messages), *chosen}
        functions = [each for each in functions if each[1].name != FIND_TOOLS]
        words = f"{len(marked)} of {len(functions)} deferred: the host's {search} finds them"
        notes.append(Note("tools", words))
        return functions, frozenset(marked)
    if not finds:
        words = f"{len(deferred)} deferred ones sent in full: the host has no tool search"
        notes.append(Note("tools", f"{words}, and the request no {FIND_TOOLS}"))
        return functions, frozenset()
    named = [*found_tools(request.messages, called=True), *chosen]
    found = dict.fromkeys(name for name in named if name in deferred)
    left = len(deferred) - len(found)
    if left:
        words = f"not sent: {left} of {len(functions)}, until {FIND_TOOLS} finds them"
        notes.append(Note("tools", words))
    at_once = [each for each in functions if not each[1].deferred]
    return [*at_once, *(deferred[name] for name in found)], frozenset()
