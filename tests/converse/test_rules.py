"""Each rule with a request that breaks it and one that keeps it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.converse.samples import CLAUDE, NOVA, asked, client
from tests.joined import joined
from wire import converse
from wire.converse.rules import CHECKED, RULES, check
from wire.errors import RuleError, Violation
from wire.testing.emulator import Emulator

LLAMA = "meta.llama3-1-70b-instruct-v1:0"
OLDER = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
HI = {"role": "user", "content": [{"text": "Hi"}]}
HO = {"role": "assistant", "content": [{"text": "Ho"}]}
POINT = {"cachePoint": {"type": "default"}}
LONG = {"cachePoint": {"type": "default", "ttl": "1h"}}
TINY = {"bytes": "QUJD"}
IMAGE = {"image": {"format": "png", "source": TINY}}
VIDEO = {"video": {"format": "mp4", "source": TINY}}
AT_S3 = {"s3Location": {"uri": "s3://tides/a.png"}}
STORED = {"image": {"format": "png", "source": AT_S3}}
GUARD = {"guardrailConfig": {"guardrailIdentifier": "abc", "guardrailVersion": "1"}}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def own(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def use(id: str = "a", **fields: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": id, "name": "tide", "input": {}, **fields}}


def result(id: str = "a", **fields: Any) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": id, "content": [{"text": "5 m"}], **fields}}


def tool(name: str = "tide", schema: Any = None, **fields: Any) -> dict[str, Any]:
    schema = {"type": "object"} if schema is None else schema
    return {"toolSpec": {"name": name, "inputSchema": {"json": schema}, **fields}}


def document(name: str = "Tides", **fields: Any) -> dict[str, Any]:
    return {"document": {"format": "txt", "name": name, "source": TINY, **fields}}


def tools(*given: Any, choice: Any = None) -> dict[str, Any]:
    chosen = {} if choice is None else {"toolChoice": choice}
    return {"toolConfig": {"tools": list(given or (tool(),)), **chosen}}


def body(*messages: Any, **fields: Any) -> dict[str, Any]:
    return {"messages": list(messages or (HI,)), **fields}


def looped(call: Any, answer: Any, **fields: Any) -> dict[str, Any]:
    """A loop of one call."""
    return body(HI, own(call), user(answer), **{**tools(), **fields})


def output(schema: Any) -> dict[str, Any]:
    structure = {"jsonSchema": {"schema": schema}}
    return {"outputConfig": {"textFormat": {"type": "json_schema", "structure": structure}}}


THINKS = {"additionalModelRequestFields": {"thinking": {"type": "adaptive"}}}
REASONS = {"reasoningContent": {"reasoningText": {"text": "Ebb.", "signature": "c2ln"}}}
UNSIGNED = {"reasoningContent": {"reasoningText": {"text": "Ebb."}}}

BROKEN: list[tuple[str, dict[str, Any], str, str]] = [
    ("B1", {"messages": []}, NOVA, "must start with a user message"),
    ("B2", body(HI, {"role": "robot", "content": [{"text": "Hi"}]}), NOVA, "enum value set"),
    ("B3", body(HO, HI), NOVA, "must start with a user message"),
    ("B4", body(HI, HI), NOVA, "must alternate between user and assistant roles"),
    ("B5", body(user()), NOVA, "messages.0 is empty. Add a ContentBlock"),
    ("B5", body(user({**IMAGE, **VIDEO})), NOVA, "expected one key"),
    ("B6", body(user({"text": ""})), NOVA, "messages.0.content.0 is blank. Add text"),
    ("B6", body(user({"text": "\n"}, {"text": "Hi"})), NOVA, "is blank. Add text"),
    ("B6", body(system=[{"text": ""}]), NOVA, "greater than or equal to 1"),
    ("B7", body(HI, own(result()), HI, **tools()), NOVA, "belongs in a message of the user"),
    ("B8", body(HI, own(use()), HI, **tools()), NOVA, "for the following Ids: a"),
    ("B9", body(HI, HO, user(result()), **tools()), NOVA, "exceeds the number of toolUse"),
    ("B10", looped(use("a b"), result("a b")), NOVA, "regular expression pattern"),
    ("B10", looped(use("a" * 65), result("a" * 65)), NOVA, "less than or equal to 64"),
    ("B10", body(HI, own(use(), use()), user(result()), **tools()), NOVA, "duplicate Ids"),
    ("B11", looped(use(name="a b"), result()), NOVA, "regular expression pattern"),
    ("B12", looped(use(input=[]), result()), NOVA, "Provide a json object"),
    ("B13", looped(use(), result(content=[], status="error")), NOVA, "cannot be empty when status"),
    ("B13", looped(use(), result(status="bad")), NOVA, "[success, error]"),
    ("B14", body(HI, own(use()), user(result(), {"text": "And?"}), **tools()), LLAMA, "same turn"),
    ("B15", body(HI, own(use()), user(result())), NOVA, "toolConfig field must be defined"),
    ("B16", body(HI, own(UNSIGNED, {"text": "Ebb."}), HI), CLAUDE, "signature: Field required"),
    ("B17", body(user({"text": "a"}, *[POINT] * 5)), CLAUDE, "at most 4 cache points"),
    ("B17", body(user({"text": "a"}, LONG), system=[{"text": "a"}, POINT]), CLAUDE, "1h comes"),
    ("B18", body(HI, own(REASONS, POINT, {"text": "a"}), HI), CLAUDE, "after reasoning block"),
    ("B18", body(user({"text": "a"}, document(), POINT)), CLAUDE, "type: Field required"),
    ("B19", body(HI, HO), CLAUDE, "does not support assistant message prefill"),
    ("B20", body(user({"image": {"format": "bmp", "source": TINY}})), NOVA, "[png, jpeg, gif"),
    ("B21", body(user({"image": {"format": "png", "source": {}}})), NOVA, "expected one of bytes"),
    ("B22", body(user({"text": "a"}, document("a.txt"))), NOVA, "can only contain alphanumeric"),
    ("B22", body(user({"text": "a"}, document("a  b"))), NOVA, "consecutive whitespace"),
    ("B22", body(user({"text": "a"}, document(), document())), NOVA, "duplicate document names"),
    ("B23", body(user(document())), NOVA, "a text block has to stand beside"),
    ("B24", body(user({"text": "a"}, *(document(f"a{n}") for n in range(6)))), NOVA, "more than 5"),
    ("B25", body(toolConfig={"tools": []}), NOVA, "greater than or equal to 1"),
    ("B25", body(**tools(tool("a b"))), NOVA, "regular expression pattern"),
    ("B25", body(**tools(tool(), tool())), NOVA, "tool name tide is already defined"),
    ("B25", body(**tools(tool(description=""))), NOVA, "greater than or equal to 1"),
    ("B26", body(**tools(tool(schema={"type": "string"}))), NOVA, "must be one of the following"),
    ("B27", body(**tools(choice={"tool": {"name": "wind"}})), NOVA, "no tool is called 'wind'"),
    ("B27", body(**tools(choice={"none": {}})), NOVA, "expected one of auto, any and tool"),
    ("B27", body(**tools(choice={"any": {}})), LLAMA, "doesn't support the toolConfig.toolChoice"),
    ("B28", body(**tools(choice={"any": {}}), **THINKS), CLAUDE, "Thinking may not be enabled"),
    ("B29", body(inferenceConfig={"temperature": 1.5}), NOVA, "less than or equal to 1"),
    ("B29", body(inferenceConfig={"maxTokens": 0}), NOVA, "greater than or equal to 1"),
    ("B29", body(inferenceConfig={"stopSequences": [""]}), NOVA, "greater than or equal to 1"),
    (
        "B30",
        body(inferenceConfig={"temperature": 0.5}),
        "us.anthropic.claude-opus-4-7",
        "not supported for this model",
    ),
    ("B31", body(performanceConfig={"latency": "fast"}), NOVA, "[standard, optimized]"),
    ("B31", body(outputConfig={"effort": "a" * 17}), NOVA, "less than or equal to 16"),
    ("B32", body(**output("[]")), NOVA, "expected a text with a JSON Schema"),
    ("B33", body(requestMetadata={"a": "b!"}), NOVA, "regular expression pattern"),
    ("B33", body(additionalModelResponseFieldPaths=["a"]), NOVA, "expected a JSON pointer"),
    ("B34", body(user({"guardContent": {"text": None}}), **GUARD), NOVA, "one of text and image"),
    ("B34", body(guardrailConfig={"trace": "enabled"}), NOVA, "expected guardrailIdentifier"),
    ("B35", body(user({"text": "a"}, VIDEO)), CLAUDE, "doesn't support the video content block"),
    ("B35", body(user({"text": "a"}, STORED)), CLAUDE, "doesn't support the s3Uri field"),
]
WARNINGS = {"B4", "B14", "B24"}

KEPT: list[tuple[str, dict[str, Any], str]] = [
    ("B1", {"promptVariables": {"a": {"text": "b"}}}, "arn:aws:bedrock:us-east-1:1:prompt/a:1"),
    ("B2", body({"role": "system", "content": [{"text": "a"}]}, HI), NOVA),
    ("B3", body(HO, HI), OLDER),
    ("B4", body(HI, HO, HI), NOVA),
    ("B5", body(user({"text": "a", "tideHint": 1})), NOVA),
    ("B6", body(user({"text": " a"})), NOVA),
    ("B7", body(HI, own(REASONS, {"text": "a"}), HI), NOVA),
    ("B8 B9", body(HI, own(use("a"), use("b")), user(result("b"), result("a")), **tools()), NOVA),
    ("B10", looped(use("toolu.1:a-b_c"), result("toolu.1:a-b_c")), NOVA),
    ("B11 B12", looped(use(name="T-1_a", input={"a": [1]}), result()), NOVA),
    ("B13", looped(use(), result(status="error")), NOVA),
    ("B13", looped(use(), result(content=[])), NOVA),
    ("B14", body(HI, own(use()), user(result(), {"text": "And?"}), **tools()), NOVA),
    ("B15", looped(use(), result()), LLAMA),
    ("B16", body(HI, own(UNSIGNED, {"text": "Ebb."}), HI), "openai.gpt-oss-120b-1:0"),
    ("B17", body(user({"text": "a"}, POINT), system=[{"text": "a"}, LONG]), CLAUDE),
    ("B18", body(user({"text": "a"}, document(format="pdf"), POINT)), CLAUDE),
    ("B19", body(HI, HO), OLDER),
    ("B20 B21", body(user({"text": "a"}, STORED, VIDEO, IMAGE)), NOVA),
    ("B22 B23", body(user({"text": "a"}, document("A b-(c)[d]_1"), document("b"))), NOVA),
    ("B24", body(user({"text": "a"}, *(document(f"a{n}") for n in range(5)))), NOVA),
    ("B25 B26", body(**tools(tool("a-b"), tool("b", {"type": "object", "properties": {}}))), NOVA),
    ("B27", body(**tools(choice={"tool": {"name": "tide"}})), NOVA),
    ("B27", body(**tools(choice={"auto": {}})), LLAMA),
    ("B28", body(**tools(choice={"auto": {}}), **THINKS), CLAUDE),
    ("B29", body(inferenceConfig={"temperature": 1, "topP": 0, "maxTokens": 1}), NOVA),
    ("B30", body(inferenceConfig={"temperature": 0.5}), OLDER),
    ("B31", body(performanceConfig={"latency": "optimized"}, serviceTier={"type": "flex"}), NOVA),
    ("B32", body(**output('{"type":"object"}')), NOVA),
    ("B33", body(requestMetadata={"a": ""}, additionalModelResponseFieldPaths=["/a"]), NOVA),
    ("B34", body(user({"guardContent": {"text": {"text": "a"}}}), **GUARD), NOVA),
    ("B35", body(user({"text": "a"}, IMAGE)), CLAUDE),
    ("B35", looped(use(), result(content=[document(format="pdf", source=AT_S3)])), CLAUDE),
]


@joined(("rule", "given", "model", "words"), BROKEN)
def test_a_request_that_breaks_a_rule(
    rule: str, given: dict[str, Any], model: str, words: str
) -> None:
    found = check(given, model)
    assert {each.rule for each in found} == {rule}
    assert any(words in (each.words or each.message) for each in found), found
    blank = rule == "B6" and "\n" in str(given["messages"][0]["content"][0].get("text"))
    warns = rule in WARNINGS or blank or words == "expected guardrailIdentifier"
    assert {each.severity for each in found} == {"warning" if warns else "error"}
    # The same as bytes, and as a struct.
    data = json.dumps(given).encode()
    assert shown(check(data, model)) == shown(found)


def shown(found: list[Violation]) -> list[str]:
    return [str(each) for each in found]


@joined(("rules", "given", "model"), KEPT)
def test_a_request_that_keeps_a_rule(rules: str, given: dict[str, Any], model: str) -> None:
    assert check(given, model) == []


def test_each_rule_has_both_and_a_row() -> None:
    kept = {name for rules, _, _ in KEPT for name in rules.split()}
    page = Path(__file__).parents[2] / "docs" / "rules.md"
    rows = set(re.findall(r"^\| (B\d+) \|", page.read_text("utf-8"), re.MULTILINE))
    assert {rule for rule, _, _, _ in BROKEN} == kept == CHECKED == rows
    assert {name for names, _ in RULES for name in names.split()} == CHECKED


@joined(("given", "model"), [(given, model) for _, given, model in KEPT])
def test_the_emulator_takes_what_keeps_the_rules(given: dict[str, Any], model: str) -> None:
    answer = _answered(given, model)
    assert answer.status == 200, answer.body


@joined(
    ("given", "model", "words"),
    [row[1:] for row in BROKEN if row[0] not in WARNINGS and "is blank" not in row[3]],
)
def test_the_emulator_refuses_in_the_words_of_the_server(
    given: dict[str, Any], model: str, words: str
) -> None:
    if words == "expected guardrailIdentifier":
        return
    answer = _answered(given, model)
    assert answer.status == 400, answer.body
    assert dict(answer.headers)["x-amzn-errortype"].startswith("ValidationException")
    assert words in json.loads(answer.body)["message"]


def _answered(given: dict[str, Any], model: str) -> Any:
    headers = [("authorization", "Bearer fake-key"), ("content-type", "application/json")]
    path = f"/model/{model.replace('/', '%2F')}/converse"
    return Emulator().answer("POST", path, headers, json.dumps(given).encode())


def test_a_call_is_refused_before_it_is_sent() -> None:
    emulator = Emulator()
    with client(emulator) as sender, pytest.raises(RuleError) as caught:
        sender.send(converse.converse(NOVA, asked("")))
    assert caught.value.violations[0].rule == "B6"
    assert emulator.requests == []
