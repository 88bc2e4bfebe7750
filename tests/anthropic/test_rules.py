"""Each rule with a request that breaks it and one that keeps it. Accepted requests have no
violations.
"""

from __future__ import annotations

import functools
import json
import re
from typing import Any

import pytest

from tests.joined import joined
from tests.property import sample
from wire.anthropic import (
    ContentBlock,
    CountTokensRequest,
    Message,
    MessageRequest,
    Thinking,
    check,
)
from wire.anthropic import rules as anthropic_rules
from wire.anthropic.families import Family, family
from wire.anthropic.rows import ROWS
from wire.anthropic.rules import CHECKED, RULES, check_body
from wire.anthropic.rules.rule_input import Body

from .neutral import text, thinking, tool_result, tool_use

HI = {"role": "user", "content": "Hi"}
HO = {"role": "assistant", "content": "Ho"}
CALLED = [HI, {"role": "assistant", "content": [tool_use()]}]
ANSWERED = [*CALLED, {"role": "user", "content": [tool_result()]}]
TOOL = {"name": "get_tide", "input_schema": {"type": "object", "properties": {}}}
OPEN, CLOSED = (
    {"type": "object", "properties": {}},
    {"type": "object", "properties": {}, "additionalProperties": False},
)
ENABLED = {"type": "enabled", "budget_tokens": 1024}


def said(*blocks: Any, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


TOOL_SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
REFERENCE = {"type": "tool_reference", "tool_name": TOOL["name"]}
FOUND = [
    HI,
    said(
        {"type": "server_tool_use", "id": "s_1", "name": TOOL_SEARCH["name"], "input": {}},
        {
            "type": "tool_search_tool_result",
            "tool_use_id": "s_1",
            "content": {
                "type": "tool_search_tool_search_result",
                "tool_references": [REFERENCE],
            },
        },
        role="assistant",
    ),
    HI,
]


def body(messages: Any = (HI,), model: str = "claude-opus-4-6", **fields: Any) -> dict[str, Any]:
    return {"model": model, "max_tokens": 4096, "messages": list(messages), **fields}


def rules(request: dict[str, Any], severity: str = "error", **how: Any) -> list[tuple[str, str]]:
    return [(each.path, each.rule) for each in check(request, **how) if each.severity == severity]


def form(schema: Any) -> dict[str, Any]:
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


def strict(count: int = 1, **schema: Any) -> dict[str, Any]:
    return {
        "tools": [
            {"name": f"f{at}", "strict": True, "input_schema": {"type": "object", **schema}}
            for at in range(count)
        ]
    }


def mark(ttl: str | None = None) -> dict[str, Any]:
    return {"cache_control": {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}}


NODE = {
    "Node": {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/Node"}},
        "additionalProperties": False,
    }
}

BROKEN: list[tuple[str, dict[str, Any], str, str]] = [
    ("A1", body([]), "messages", "messages: at least one message is required"),
    (
        "A2",
        body([HI, {"role": "tool", "content": "x"}]),
        "messages[1].role",
        'Unexpected role "tool"',
    ),
    (
        "A2",
        body([{"role": "system", "content": "x"}, HI], "claude-sonnet-4-5"),
        "messages[0].role",
        "top-level `system` parameter",
    ),
    (
        "A5",
        body([{"role": "user", "content": ""}]),
        "messages[0].content",
        "messages.0: all messages must have non-empty content except",
    ),
    (
        "A5",
        body([HI, {"role": "assistant", "content": []}, HI]),
        "messages[1].content",
        "messages.1: all messages must have non-empty",
    ),
    (
        "A6",
        body([said(text(""), text("Hi"))]),
        "messages[0].content[0]",
        "messages: text content blocks must be non-empty",
    ),
    ("A6", body([said(text(" \n"))]), "messages[0].content[0]", "must contain non-whitespace text"),
    ("A6", body(system=[text("")]), "system[0]", "system: text content blocks must be non-empty"),
    (
        "A7",
        body([said(text("Hi"), text("", **mark()))]),
        "messages[0].content[1]",
        "messages.0.content.1.text: cache_control cannot be set for empty text blocks",
    ),
    (
        "A8",
        body([*CALLED, HI]),
        "messages[1].content[0]",
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately",
    ),
    ("A8", body(CALLED, "claude-haiku-4-5"), "messages[1].content[0]", "after: toolu_1. Each"),
    (
        "A8",
        body([*CALLED, said(text("So:"), tool_result())]),
        "messages[1].content[0]",
        "found without `tool_result`",
    ),
    (
        "A9",
        body([HI, HO, said(tool_result("x"))]),
        "messages[2].content[0]",
        "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: x. Each",
    ),
    (
        "A9",
        body([*ANSWERED, HO, said(tool_result())]),
        "messages[4].content[0]",
        "unexpected `tool_use_id`",
    ),
    (
        "A10",
        body([*CALLED, said(tool_result(), tool_result())]),
        "messages[2].content[1]",
        "must have a single result",
    ),
    (
        "A11",
        body(
            [
                HI,
                said(
                    {"type": "advisor_tool_result", "tool_use_id": "srvtoolu_1"}, role="assistant"
                ),
                HI,
            ]
        ),
        "messages[1].content[0]",
        "Each `advisor_tool_result` block must have a corresponding `server_tool_use` "
        "block before it.",
    ),
    (
        "A12",
        body(
            [
                HI,
                said(tool_use("functions.x:0"), role="assistant"),
                said(tool_result("functions.x:0")),
            ]
        ),
        "messages[1].content[0].id messages[2].content[0].tool_use_id",
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    (
        "A12",
        body([HI, said(tool_use(""), role="assistant"), said(tool_result(""))]),
        "messages[1].content[0].id messages[2].content[0].tool_use_id",
        "String should match",
    ),
    (
        "A13",
        body([HI, said(tool_use(), tool_use(), role="assistant"), said(tool_result())]),
        "messages[1].content[1].id",
        "`tool_use` ids must be unique",
    ),
    (
        "A14",
        body([HI, said(tool_use(input="{}"), role="assistant"), said(tool_result())]),
        "messages[1].content[0].input",
        "Input should be a valid dictionary",
    ),
    (
        "A15",
        body([*CALLED, said(tool_result(content=[{"type": "image"}], is_error=True))]),
        "messages[2].content[0].content",
        'all content must be type "text" if "is_error" is true',
    ),
    (
        "A16",
        body([HI, said(thinking(signature=""), text("Ho"), role="assistant"), HI]),
        "messages[1].content[0]",
        "signature",
    ),
    (
        "A17",
        body(ANSWERED, "claude-sonnet-4-5", thinking=ENABLED),
        "messages[1].content[0]",
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but "
        "found `tool_use`.",
    ),
    (
        "A17",
        body(
            [HI, said(thinking(), text("Ho"), role="assistant"), *ANSWERED],
            "claude-sonnet-4-5",
            thinking=ENABLED,
        ),
        "messages[3].content[0]",
        "messages.3.content.0.type: Expected",
    ),
    (
        "A18",
        body([HI, said(thinking(), role="assistant")], "claude-haiku-4-5"),
        "messages[1]",
        "an 'assistant' message in the final position cannot contain 'thinking'",
    ),
    (
        "A18",
        body([HI, said(thinking(), role="assistant")], "kimi-k2.6", thinking={"type": "disabled"}),
        "messages[1]",
        "thinking",
    ),
    (
        "A19",
        body([HI, HO], "claude-sonnet-5"),
        "messages[1]",
        "This model does not support assistant message prefill.",
    ),
    (
        "A20",
        body([HI, {"role": "assistant", "content": "Ho "}], "claude-haiku-4-5"),
        "messages[1].content",
        "trailing whitespace",
    ),
    (
        "A21",
        body([said(*(text("x", **mark()) for _ in range(5)))]),
        "messages[0].content[4].cache_control",
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    (
        "A22",
        body([HI, said({**thinking(), **mark()}, role="assistant"), HI]),
        "messages[1].content[0].cache_control",
        "cache_control",
    ),
    (
        "A23",
        body([said(text("x", **mark("1h")))], system=[text("y", **mark("5m"))]),
        "messages[0].content[0].cache_control",
        "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.",
    ),
    (
        "A24",
        body(tools=[{**TOOL, "name": "get tide"}]),
        "tools[0].name",
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    (
        "A24",
        body(tools=[{**TOOL, "name": "x" * 129}]),
        "tools[0].name",
        "String should have at most 128 characters",
    ),
    (
        "A24",
        body([HI, said(tool_use(name="fs.read"), role="assistant"), said(tool_result())]),
        "messages[1].content[0].name",
        "tool_use.name: String should match",
    ),
    ("A25", body(tools=[TOOL, TOOL]), "tools[1].name", "tools: Tool names must be unique."),
    (
        "A26",
        body(tools=[{"name": "f"}]),
        "tools[0].input_schema",
        "tools.0.custom.input_schema: Field required",
    ),
    (
        "A26",
        body(tools=[{"name": "f", "input_schema": {}}]),
        "tools[0].input_schema.type",
        "tools.0.custom.input_schema.type: Field required",
    ),
    (
        "A26",
        body(tools=[{"name": "f", "input_schema": {"type": "array"}}]),
        "tools[0].input_schema.type",
        "Input should be 'object'",
    ),
    (
        "A26",
        body(tools=[{"name": "f", "input_schema": True}]),
        "tools[0].input_schema",
        "Input does not match the expected shape.",
    ),
    ("A27", body(tool_choice={"type": "required"}, tools=[TOOL]), "tool_choice.type", "'required'"),
    (
        "A27",
        body(tool_choice={"type": "tool", "name": "g"}, tools=[TOOL]),
        "tool_choice.name",
        "Tool 'g' not found",
    ),
    (
        "A27",
        body(tool_choice={"type": "auto"}),
        "tool_choice",
        "only be specified while providing tools",
    ),
    (
        "A28",
        body(
            model="claude-sonnet-4-5", thinking=ENABLED, tools=[TOOL], tool_choice={"type": "any"}
        ),
        "tool_choice",
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    (
        "A28",
        body(model="claude-opus-5-5", tools=[TOOL], tool_choice={"type": "any"}),
        "tool_choice",
        'tool_choice: type "tool" and "any" are not supported for this model.',
    ),
    ("A29", body(**strict(21)), "tools[20].strict", "Too many strict tools (21)."),
    (
        "A29",
        body(**strict(properties={str(at): {"type": "string"} for at in range(25)})),
        "tools",
        "too many optional parameters (25)",
    ),
    (
        "A29",
        body(
            **strict(
                properties={str(at): {"type": ["string", "null"]} for at in range(17)},
                required=[str(at) for at in range(17)],
            )
        ),
        "tools",
        "too many parameters with union types (17 parameters with type arrays or anyOf)",
    ),
    (
        "A30",
        body(**strict(**{"$defs": NODE})),
        "tools[0].input_schema",
        "Circular reference detected in schema definitions: Node -> Node.",
    ),
    (
        "A30",
        body(**form({"$ref": "#/$defs/Node", "$defs": NODE})),
        "output_config.format.schema",
        "Node -> Node",
    ),
    (
        "A31",
        body(**form(OPEN)),
        "output_config.format.schema",
        "output_config.format.schema: For 'object' type, 'additionalProperties' must be "
        "explicitly set to false",
    ),
    (
        "A31",
        body(**form({**CLOSED, "properties": {"a": {"type": "array", "items": OPEN}}})),
        "output_config.format.schema",
        "must be",
    ),
    (
        "A31",
        body(output_format={"type": "json_schema", "schema": OPEN}),
        "output_format.schema",
        "output_format.schema: For 'object'",
    ),
    (
        "A31",
        body(output_config={"format": {"type": "json_schema"}}),
        "output_config.format.schema",
        "output_config.format.schema: Field required",
    ),
    (
        "A31",
        body(output_format={"type": "json_schema", "schema": None}),
        "output_format.schema",
        "output_format.schema: Field required",
    ),
    (
        "A31",
        body(output_config={"format": {"schema": "object"}}),
        "output_config.format.schema",
        "Input should be a valid dictionary",
    ),
    (
        "A32",
        body(thinking={"type": "enabled", "budget_tokens": 4096}),
        "thinking.budget_tokens",
        "`max_tokens` must be greater than `thinking.budget_tokens`.",
    ),
    (
        "A32",
        body(thinking={"type": "enabled", "budget_tokens": 1023}),
        "thinking.budget_tokens",
        "greater than or equal to 1024",
    ),
    ("A32", body(thinking={"type": "enabled"}), "thinking.budget_tokens", "Field required"),
    (
        "A33",
        body(model="claude-opus-4-8", thinking=ENABLED),
        "thinking.type",
        '"thinking.type.enabled" is not supported for this model. Use '
        '"thinking.type.adaptive" and "output_config.effort" to control',
    ),
    (
        "A33",
        body(model="claude-haiku-4-5", thinking={"type": "adaptive"}),
        "thinking.type",
        "adaptive",
    ),
    (
        "A33",
        body(model="claude-3-5-haiku-latest", thinking=ENABLED),
        "thinking.type",
        "does not support thinking",
    ),
    (
        "A33",
        body(model="claude-fable-5", thinking={"type": "disabled"}),
        "thinking.type",
        '"thinking.type.disabled" is not supported for this model.',
    ),
    (
        "A33",
        body(model="claude-sonnet-5-5", thinking={"type": "disabled"}),
        "thinking.type",
        "between_tools",
    ),
    (
        "A33",
        body(model="claude-opus-5", thinking={"type": "disabled"}, output_config={"effort": "max"}),
        "thinking.type",
        "effort level 'max'",
    ),
    (
        "A34",
        body(output_config={"effort": "xhigh"}),
        "output_config.effort",
        "This model does not support effort level 'xhigh'. Supported levels: high, low, "
        "max, medium.",
    ),
    (
        "A34",
        body(model="claude-haiku-4-5", output_config={"effort": "low"}),
        "output_config.effort",
        "does not support the effort",
    ),
    (
        "A35",
        body(context_management={"edits": [{"type": "clear_thinking_20251015"}]}),
        "context_management.edits[0]",
        "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive",
    ),
    (
        "A49",
        body(
            context_management={
                "edits": [
                    {
                        "type": "compact_20260112",
                        "trigger": {"type": "input_tokens", "value": 49_999},
                    }
                ]
            }
        ),
        "context_management.edits[0].trigger.value",
        "greater than or equal to 50000",
    ),
    (
        "A36",
        {"model": "claude-opus-4-8", "messages": [HI]},
        "max_tokens",
        "max_tokens: Field required",
    ),
    ("A36", {**body(), "max_tokens": -1}, "max_tokens", "greater than or equal to 1"),
    (
        "A37",
        body(model="claude-opus-4-7", temperature=1.0),
        "temperature",
        "`temperature` is not supported",
    ),
    ("A37", body(model="claude-sonnet-5", top_k=5), "top_k", "`top_k` is not supported"),
    ("A38", body(temperature=1.1), "temperature", "temperature: range: 0..1"),
    (
        "A39",
        body(thinking=ENABLED, temperature=0.5),
        "temperature",
        "may only be set to 1 when thinking is enabled",
    ),
    (
        "A45",
        body([{"role": "system", "content": "x"}, HI], "claude-opus-4-8"),
        "messages[0]",
        "messages.0: use the top-level 'system' parameter for the initial system prompt",
    ),
    ("A46", body(thread={"type": "resume"}), "thread.type", "expected create or continue"),
    (
        "A46",
        body(thread={"type": "continue"}),
        "thread.previous_message_id",
        "previous_message_id: Field required",
    ),
    (
        "A50",
        body(tools=[{**TOOL, "defer_loading": True}]),
        "tools",
        "All tools have defer_loading set. At least one tool must be non-deferred.",
    ),
    (
        "A50",
        body(FOUND, tools=[{**TOOL, "name": "other"}]),
        "messages[1].content[1].content.tool_references[0]",
        f"Tool reference '{TOOL['name']}' has no corresponding tool definition",
    ),
    (
        "A47",
        body(compaction={"type": "summarize"}, context_management={"edits": []}),
        "compaction",
        "cannot be combined with context_management",
    ),
]


@joined(("rule", "request_", "path", "words"), BROKEN)
def test_a_rule_is_found_where_it_is_broken(
    rule: str, request_: dict[str, Any], path: str, words: str
):
    found = [each for each in check(request_) if each.severity == "error"]
    assert [(each.rule, each.path) for each in found] == [(rule, each) for each in path.split()]
    assert words in found[0].message
    assert (found[0].status, found[0].code) == (400, "invalid_request_error")
    as_bytes = check(json.dumps(request_).encode())
    assert as_bytes == check(request_)


def test_an_image_for_a_model_that_reads_none_is_a_warning():
    """Hosts of other vendors' models answer, or refuse it in words of their own."""
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "aW1n"},
    }
    request = body([{"role": "user", "content": [image]}], "deepseek-v4-pro")
    for provider in ("deepseek@anthropic", ""):
        found = check(request, provider=provider)
        assert [(each.rule, each.path, each.severity, each.message) for each in found] == [
            ("A48", "messages[0].content[0]", "warning", "deepseek-v4-pro reads text, no image")
        ]
    assert check(body([{"role": "user", "content": [image]}], "claude-sonnet-5")) == []


@joined("request_", [each[1] for each in BROKEN])
def test_a_body_is_judged_for_one_host_after_another(request_: dict[str, Any]):
    checked = Body(request_)
    for provider in ("", *ROWS, "anthropic"):
        assert check_body(checked, "", provider) == check(request_, "", provider)


KEPT = [
    body(FOUND, tools=[{**TOOL, "defer_loading": True}, TOOL_SEARCH]),
    body(FOUND, tools=[{"type": "mcp_toolset", "mcp_server_name": "tides"}, TOOL_SEARCH]),
    body(ANSWERED, tools=[TOOL]),
    body([*CALLED, said(tool_result(), text("So?"))]),
    body([*CALLED, said(tool_result()), said(text("So?"))]),
    body([*CALLED, said(tool_result(is_error=True, content=[text("no such port")]))]),
    body([HI, said(text(" "), tool_use(), role="assistant"), said(tool_result())]),
    body([HI, HO], "claude-haiku-4-5"),
    body([HI, said(text("Ho"), role="assistant"), HI]),
    body([HI, {"role": "assistant", "content": ""}], "claude-haiku-4-5"),
    body(
        [
            HI,
            said(
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
                role="assistant",
            ),
        ],
        "claude-sonnet-5",
    ),
    body([HI, said(thinking(""), text("Ho"), role="assistant"), HI], "claude-sonnet-5"),
    body([HI, {"role": "system", "content": "x"}], "claude-opus-4-8"),
    body([HI, {"role": "system", "content": "x"}, HO, HI], "claude-opus-4-8"),
    {**body(), "max_tokens": 0},
    body(thread={"type": "create"}),
    body(
        [said(tool_result()), said(text("So?"))],
        thread={"type": "continue", "previous_message_id": "msg_1"},
        tool_choice={"type": "auto"},
    ),
    body([said({"type": "compaction", "content": "So far."}, role="assistant"), HI]),
    body([HI, HO], "claude-sonnet-5", compaction={"type": "summarize"}),
    body([HI, HO], "claude-sonnet-5", fallback_credit_token="t"),
    body([HI], "claude-sonnet-5", thinking={"type": "between_tools"}),
    body(temperature=0.5, top_p=0.5, top_k=3),
    body(
        [HI, said(thinking(), tool_use(), role="assistant"), said(tool_result())],
        "claude-sonnet-4-5",
        thinking=ENABLED,
    ),
    body(
        [
            HI,
            said(thinking(), tool_use(), role="assistant"),
            said(tool_result()),
            said(tool_use("toolu_2"), role="assistant"),
            said(tool_result("toolu_2")),
        ],
        "claude-sonnet-4-5",
        thinking=ENABLED,
    ),
    body([*ANSWERED, HO, HI], "claude-sonnet-4-5", thinking=ENABLED),
    body(
        [
            *CALLED,
            said(tool_use("toolu_2"), role="assistant"),
            said(tool_result(), tool_result("toolu_2")),
        ]
    ),
    body(
        **form(
            {
                "$defs": {
                    f"D{at}": {"anyOf": [{"$ref": f"#/$defs/D{at + 1}"}] * 2} for at in range(60)
                }
                | {"D60": {}}
            }
        )
    ),
    body(ANSWERED, thinking={"type": "adaptive"}),
    body(thinking={"type": "adaptive"}, tools=[TOOL], tool_choice={"type": "any"}),
    body([said(*(text("x", **mark()) for _ in range(4)))]),
    body([said(text("x", **mark("5m")))], system=[text("y", **mark("1h"))]),
    body(
        tools=[{"type": "web_search_20260318", "name": "web_search"}], tool_choice={"type": "auto"}
    ),
    body(tool_choice={"type": "none"}),
    body(**strict(20)),
    body(**strict(properties={str(at): {"type": "string"} for at in range(24)})),
    body(
        **strict(
            **{
                "$defs": {
                    "A": {"properties": {"b": {"$ref": "#/$defs/B"}, "c": {"$ref": "#/$defs/B"}}},
                    "B": {},
                }
            }
        )
    ),
    body(**form(CLOSED)),
    body(thinking={"type": "enabled", "budget_tokens": 4095}, temperature=1),
    body(model="claude-opus-4-7", thinking={"type": "adaptive"}, output_config={"effort": "xhigh"}),
    body(model="claude-opus-4-5", output_config={"effort": "high"}),
    body(model="claude-opus-5", thinking={"type": "disabled"}, output_config={"effort": "high"}),
    body(
        model="claude-sonnet-5", context_management={"edits": [{"type": "clear_thinking_20251015"}]}
    ),
]


@joined("request_", KEPT)
def test_what_is_accepted_breaks_no_rule(request_: dict[str, Any]):
    assert rules(request_) == []


@joined(
    ("rule", "request_", "path"),
    [
        ("A3", body([HO, HI]), "messages[0]"),
        ("A4", body([HI, HI]), "messages[1]"),
        (
            "A28",
            body(model="claude-opus-7", tools=[TOOL], tool_choice={"type": "any"}),
            "tool_choice",
        ),
        ("A33", body(model="claude-fable-9", thinking={"type": "disabled"}), "thinking.type"),
        ("A40", body(ANSWERED), "tools"),
        (
            "A45",
            body([HI, HO, {"role": "system", "content": "x"}], "claude-opus-4-8"),
            "messages[2]",
        ),
        (
            "A8",
            body([*CALLED, HI], "claude-3-nano", tools=[TOOL]),
            "messages[1].content[0]",
        ),
        ("A13", body([*ANSWERED, *ANSWERED[1:]], tools=[TOOL]), "messages[3].content[0].id"),
        ("A41", body(model="claude-3-haiku-20240307"), "model"),
    ],
)
def test_what_only_others_refuse_is_a_warning(rule: str, request_: dict[str, Any], path: str):
    assert rules(request_) == []
    assert rules(request_, "warning") == [(path, rule)]


@joined(
    ("turns", "errors", "warnings"),
    [
        ([["a"], ["b"]], [], []),
        ([["a"], ["a"]], [], [3]),
        ([["a"], ["b"], ["a"]], [], [5]),
        ([["a", "a"]], [1], []),
        ([["a"], ["a", "a"]], [3], [3]),
        ([["a"], ["b", "b"], ["b"]], [3], [5]),
    ],
)
def test_an_id_belongs_to_its_message(
    turns: list[list[str]], errors: list[int], warnings: list[int]
):
    messages = [HI]
    for ids in turns:
        messages.append(said(*map(tool_use, ids), role="assistant"))
        messages.append(said(*map(tool_result, dict.fromkeys(ids))))
    for severity, wanted in (("error", errors), ("warning", warnings)):
        found = rules(body(messages, tools=[TOOL]), severity)
        assert [int(re.findall(r"\d+", path)[0]) for path, rule in found if rule == "A13"] == wanted
        assert {rule for _, rule in found} <= {"A13"}


@joined(
    ("model", "day"),
    [
        ("claude-2.1", "2025-07-21"),
        ("claude-instant-1.2", "2024-11-06"),
        ("claude-3-5-sonnet-20240620", "2025-10-28"),
        ("claude-3-5-sonnet-latest", "2025-10-28"),
        ("claude-3-7-sonnet-20250219", "2026-02-19"),
        ("claude-sonnet-4-0", "2026-06-15"),
        ("claude-opus-4-20250514", "2026-06-15"),
        ("claude-opus-4-1-20250805", ""),
        ("claude-sonnet-4-5", ""),
        ("claude-3-7-sonnet@20250219", "2026-02-19"),
        ("kimi-k2.6", ""),
    ],
)
def test_a_retired_model_is_a_warning_of_anthropics_own_host(model: str, day: str):
    found = [each for each in check(body(model=model)) if each.rule == "A41"]
    assert [(each.path, each.severity, each.status, each.message) for each in found] == (
        [("model", "warning", 404, f"model: {model}")] if day else []
    )
    assert all(day in each.remedy for each in found)
    assert "A41" not in [each.rule for each in check(body(model=model), model, "")]


def test_a_result_that_comes_a_turn_too_late_answers_nothing():
    both = said(tool_use(), tool_use("toolu_2"), role="assistant")
    request = body([HI, both, said(tool_result()), HO, said(tool_result("toolu_2"))], tools=[TOOL])
    assert rules(request) == [("messages[1].content[1]", "A8"), ("messages[4].content[0]", "A9")]


@pytest.mark.sampled
@pytest.mark.parametrize("model", ["claude-opus-4-6", "claude-opus-5-5", "kimi-k2.6"])
def test_a_rule_that_is_skipped_would_find_nothing(model: str, monkeypatch: pytest.MonkeyPatch):
    """Requests of texts, or without a setting, skip the rules about blocks and that setting."""
    requests = [*(each[1] for each in BROKEN), *KEPT]
    messages = {json.dumps(each["messages"]): each["messages"] for each in requests}
    others = {
        json.dumps(rest): rest
        for each in requests
        if (rest := {key: value for key, value in each.items() if key not in ("model", "messages")})
    }
    mixed = [
        {"model": model, "messages": turns, **rest}
        for turns in messages.values()
        for rest in others.values()
    ]
    mixed = sample(mixed)
    quick = [check(each) for each in mixed]
    monkeypatch.setattr(anthropic_rules, "_rules_for", lambda keys: RULES)
    assert quick == [check(each) for each in mixed]


def test_every_rule_has_a_request_that_breaks_it():
    of_a_version = {rule for rule, *_ in BROKEN_SINCE_2026}
    assert {rule for rule, *_ in BROKEN} | {
        "A3",
        "A4",
        "A40",
        "A41",
        "A48",
    } | of_a_version == CHECKED
    assert sorted(CHECKED, key=lambda rule: int(rule[1:])) == [
        f"A{number}" for number in range(1, 51)
    ]
    assert len(RULES) == len(dict(RULES))


DOCUMENT = {"type": "document", "source": {"type": "url", "url": "https://x.test/a.pdf"}}
CITED = text("As it says.", citations=[{"type": "page_location", "cited_text": "x"}])
BROKEN_SINCE_2026: list[tuple[str, dict[str, Any], str, str]] = [
    ("A42", body(temperature=1.0), "temperature", "temperature: Extra inputs are not permitted"),
    ("A42", body(top_p=0.9, top_k=1), "top_p top_k", "top_p: Extra inputs are not permitted"),
    (
        "A43",
        body([HI, said(text("Here."), DOCUMENT, role="assistant"), HI]),
        "messages[1].content[1]",
        "messages.1.content.1: an assistant message may not have document blocks",
    ),
    (
        "A44",
        body([said(text("Hi"), CITED)]),
        "messages[0].content[1].citations",
        "messages.0.content.1.citations: a user message may not have citations",
    ),
    (
        "A44",
        body([said({"type": "search_result", "source": "s", "title": "t", "content": [CITED]})]),
        "messages[0].content[0].content[0].citations",
        "citations: a user message may not have citations",
    ),
]


@joined(("rule", "request_", "path", "words"), BROKEN_SINCE_2026)
def test_a_rule_of_a_version_is_for_that_version_at_its_vendor(
    rule: str, request_: dict[str, Any], path: str, words: str
):
    found = check(request_, version="2026-10-21")
    assert [(each.rule, each.path) for each in found] == [(rule, each) for each in path.split()]
    assert words in found[0].message
    assert check(request_) == check(request_, version="2023-06-01") == []
    assert check(request_, provider="minimax@anthropic", version="2026-10-21") == []


def test_a_parameter_that_a_version_lacks_has_no_range():
    hot = body(temperature=1.5)
    assert [each.rule for each in check(hot, version="2026-10-21")] == ["A42"]
    assert [each.rule for each in check(hot, version="2023-06-01")] == ["A38"]


def test_what_version_2026_accepts_breaks_no_rule():
    for kept in (
        body([said(DOCUMENT, text("Hi"))]),
        body([HI, said(CITED, role="assistant"), HI]),
        body([said(text("Hi", citations=[]))]),
    ):
        assert check(kept, version="2026-10-21") == []


def test_what_other_hosts_do_is_not_judged_by_the_vendors_rules():
    unsigned = body(
        [HI, said(thinking(signature=""), text("Ho"), role="assistant"), HI], "kimi-k2.6"
    )
    assert rules(unsigned, provider="anthropic") == [("messages[1].content[0]", "A16")]
    assert rules(unsigned, provider="kimi@anthropic") == rules(unsigned, provider="") == []
    hot = body(
        model="MiniMax-M3", temperature=1.5, thinking=ENABLED, output_config={"effort": "turbo"}
    )
    assert rules(hot, provider="minimax@anthropic") == []
    assert [rule for _, rule in rules(hot, provider="anthropic")] == ["A34", "A38"]


def test_structs_and_counts():
    request = MessageRequest(
        model="claude-opus-4-8",
        max_tokens=10,
        messages=[Message(role="user", content=[ContentBlock(type="text", text="")])],
        thinking=Thinking(type="enabled", budget_tokens=5000),
    )
    assert [each.rule for each in check(request)] == ["A6", "A32", "A33"]
    assert [each.rule for each in check(request, "claude-sonnet-4-5")] == ["A6", "A32"]
    assert (
        check(
            CountTokensRequest(
                model="claude-opus-4-8", messages=[Message(role="user", content="Hi")]
            )
        )
        == []
    )
    assert check({"model": "m", "messages": [HI]}, endpoint="count_tokens") == []


@joined(
    "odd",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        b'{"messages":5}',
        b'{"messages":[5,{"content":[7,{"type":3}]}],"tools":{},"thinking":[],"system":5}',
        object(),
        {
            "messages": [HI],
            "tools": [
                {
                    "name": "f",
                    "strict": True,
                    "input_schema": functools.reduce(
                        lambda inner, _: {"items": inner}, range(5000), {}
                    ),
                }
            ],
        },
    ],
)
def test_what_is_no_request_is_told_and_nothing_is_raised(odd: Any):
    assert [each.severity for each in check(odd)] != []


@joined(
    ("model", "wanted"),
    [
        ("claude-opus-4-8", Family("opus", (4, 8))),
        ("claude-sonnet-4-20250514", Family("sonnet", (4, 0))),
        ("claude-sonnet-4-5-20250929", Family("sonnet", (4, 5))),
        ("claude-sonnet-4@20250514", Family("sonnet", (4, 0))),
        ("claude-3-7-sonnet-latest", Family("sonnet", (3, 7))),
        ("claude-3-haiku-20240307", Family("haiku", (3, 0))),
        ("claude-2.1", Family("", (2, 1))),
        ("claude-opus-5", Family("opus", (5, 0))),
        ("claude-opus-5-5", Family("opus", (5, 5))),
        ("anthropic/claude-haiku-4.5", Family("haiku", (4, 5))),
        ("eu.anthropic.claude-sonnet-4-5-20250929-v1:0", Family("sonnet", (4, 5))),
        ("claude-mythos-preview", Family()),
        ("deepseek-v4-pro", Family()),
        ("", Family()),
    ],
)
def test_families(model: str, wanted: Family):
    found = family(model)
    assert (found.name, found.version) == (wanted.name, wanted.version)
