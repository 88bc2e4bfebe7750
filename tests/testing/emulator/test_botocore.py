"""botocore as a client: of the emulator, and of a gateway to another vendor."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.serving.running import gateway
from wire.testing.emulator import Emulator, serve

# The dev extra has it; it has no types.
Session: Any = pytest.importorskip("botocore.session").Session
Config: Any = pytest.importorskip("botocore.config").Config
exceptions: Any = pytest.importorskip("botocore.exceptions")

NOVA = "amazon.nova-2-lite-v1:0"
TIDE = {
    "toolSpec": {
        "name": "tide",
        "description": "The tide.",
        "inputSchema": {"json": {"type": "object", "properties": {"port": {"type": "string"}}}},
    }
}
CALLS = {"text": "I look.", "calls": [{"name": "tide", "args": {"port": "Brest"}}]}
HI = {"role": "user", "content": [{"text": "When is high tide?"}]}


def client_of(url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of the service. It signs its requests: a token it would send over TLS alone."""
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    config = Config(retries={"max_attempts": 0, "mode": "standard"}, read_timeout=30)
    session: Any = Session()
    return session.create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        config=config,
        aws_access_key_id="fake-access-key",
        aws_secret_access_key="fake-secret-key",
    )


def closed(url: str, monkeypatch: pytest.MonkeyPatch) -> contextlib.closing[Any]:
    """A client that is closed at the end of a block."""
    return contextlib.closing(client_of(url, monkeypatch))


Door = Callable[..., Any]


@pytest.fixture(params=["emulator", "gateway"])
def door(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    """Makes a client of a server that plays a script: Bedrock, or Anthropic behind a gateway."""

    def make(*script: dict[str, Any]) -> Any:
        emulator = Emulator(list(script))
        server = serve(emulator) if request.param == "emulator" else gateway("anthropic", emulator)
        url = opened.enter_context(server).url
        return opened.enter_context(closed(url, monkeypatch))

    with contextlib.ExitStack() as opened:
        yield make


def whole(client: Any, messages: list[Any], **fields: Any) -> Any:
    return client.converse(modelId=NOVA, messages=messages, **fields)


def gathered(client: Any, messages: list[Any], **fields: Any) -> Any:
    """The answer of a stream, put together as its users do."""
    blocks: dict[int, Any] = {}
    answer: dict[str, Any] = {}
    response = client.converse_stream(modelId=NOVA, messages=messages, **fields)
    with contextlib.closing(response["stream"]) as stream:
        events = [next(iter(event.items())) for event in stream]
    for kind, value in events:
        if kind == "contentBlockStart":
            blocks[value["contentBlockIndex"]] = {"toolUse": {**value["start"]["toolUse"]}}
        elif kind == "contentBlockDelta":
            at, delta = value["contentBlockIndex"], value["delta"]
            if "text" in delta:
                block = blocks.setdefault(at, {"text": ""})
                block["text"] += delta["text"]
            else:
                call = blocks[at]["toolUse"]
                call["input"] = call.get("input", "") + delta["toolUse"]["input"]
        elif kind in ("messageStop", "metadata"):
            answer |= value
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"].get("input") or "{}")
    message = {"role": "assistant", "content": [blocks[at] for at in sorted(blocks)]}
    return {**answer, "output": {"message": message}}


@pytest.mark.parametrize("ask", [whole, gathered], ids=["converse", "converse_stream"])
def test_a_loop_of_tools(door: Door, ask: Callable[..., Any]) -> None:
    client = door({"say": CALLS}, {"say": "At 05:12."})
    settings = {"toolConfig": {"tools": [TIDE]}, "inferenceConfig": {"maxTokens": 300}}
    first = ask(client, [HI], system=[{"text": "Be brief."}], **settings)
    said = first["output"]["message"]
    assert first["stopReason"] == "tool_use"
    assert first["usage"]["totalTokens"] > 0
    [text, call] = said["content"]
    assert text == {"text": "I look."}
    assert (call["toolUse"]["name"], call["toolUse"]["input"]) == ("tide", {"port": "Brest"})
    result = {"toolUseId": call["toolUse"]["toolUseId"], "content": [{"json": {"at": "05:12"}}]}
    answered = {"role": "user", "content": [{"toolResult": result}]}
    second = ask(client, [HI, said, answered], **settings)
    assert second["output"]["message"]["content"] == [{"text": "At 05:12."}]
    assert second["stopReason"] == "end_turn"


@pytest.mark.parametrize("ask", [whole, gathered], ids=["converse", "converse_stream"])
def test_an_error_has_its_type(door: Door, ask: Callable[..., Any]) -> None:
    client = door({"fault": "429"})
    with pytest.raises(exceptions.ClientError) as caught:
        ask(client, [HI])
    assert caught.value.response["Error"]["Code"] == "ThrottlingException"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 429


def test_a_refusal_of_the_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(Emulator()) as server, closed(server.url, monkeypatch) as client:
        with pytest.raises(exceptions.ClientError) as caught:
            whole(client, [{"role": "user", "content": [{"text": ""}]}])
        error = caught.value.response["Error"]
        assert error["Code"] == "ValidationException"
        assert error["Message"].startswith("The text field in the ContentBlock object at")


def test_an_error_in_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        serve(Emulator([{"say": "At 05:12.", "fault": "error"}])) as server,
        closed(server.url, monkeypatch) as client,
    ):
        with pytest.raises(exceptions.EventStreamError):
            gathered(client, [HI])


def test_a_count_of_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(Emulator()) as server, closed(server.url, monkeypatch) as client:
        found = client.count_tokens(
            modelId="anthropic.claude-sonnet-4-6", input={"converse": {"messages": [HI]}}
        )
        assert found["inputTokens"] > 0
