"""Each function that puts a value of the caller into a path refuses what would name another path,
or none, before anything is sent (R-31, R-38).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from tests.joined import joined
from wire import Message, Request, anthropic, gemini, openai
from wire.core.call import Call, StreamCall
from wire.errors import ConfigurationError, RuleError, WireError
from wire.gemini import types
from wire.neutral.embeddings import EmbedRequest
from wire.openai import responses

WIRES = {"gemini": gemini, "anthropic": anthropic, "openai": openai, "responses": responses}
VALUES: dict[str, Any] = {
    "request": Request(messages=(Message.user("Hi"),)),
    "requests": [types.EmbedContentRequest(content=types.Content(parts=[types.Part(text="a")]))],
    "batch": types.EmbedContentBatch(),
    "update_mask": "priority",
    "items": [responses.types.Item(type="message", role="user", content="a")],
    "metadata": {"a": "b"},
    "endpoint": "/v1/chat/completions",
    "data": b"a",
    "purpose": "batch",
}
GOOD = ("probe-1", "fileSearchStores/s-1/documents/probe-1", "operations/probe-1")
BAD = {
    "half of a surrogate pair": "\ud800",
    "a half inside": "probe\udfff-1",
    "a line end": "probe\n-1",
    "NUL": "probe\0",
    "a control character of Latin-1": "probe\x85",
    "the folder above": "..",
    "one that climbs": "../probe-1",
    "one that climbs later": "probe-1/../../files",
    "a slash alone": "/",
    "a slash first": "//probe-1",
    "empty": "",
    "blank": "  ",
    "100 kB": "a" * 100_000,
    "a key": "sk-proj-fake-" + "a1" * 16,
    "a number": 5,
}


def builders() -> Iterator[tuple[str, Callable[..., Any], str]]:
    """Each public function of each wire, and its parameter that is a text without default."""
    for wire, module in WIRES.items():
        for name in dir(module):
            function = getattr(module, name)
            if name.startswith("_") or not inspect.isfunction(function):
                continue
            for each in inspect.signature(function).parameters.values():
                if each.default is each.empty and str(each.annotation).startswith("str"):
                    yield f"{wire}.{name}.{each.name}", function, each.name


def called(function: Callable[..., Any], parameter: str, value: Any) -> Any:
    arguments = {
        each.name: VALUES.get(each.name, "probe-2")
        for each in inspect.signature(function).parameters.values()
        if each.default is each.empty and each.kind is not each.VAR_KEYWORD
    }
    if "requests" in arguments and function.__name__ == "create_batch":
        arguments["requests"] = "files/probe-2"
    if "request" in arguments:
        arguments["request"] = REQUESTS.get(function.__name__, VALUES["request"])
    if function.__name__ == "update_batch":
        arguments["batch"] = types.GenerateContentBatch(priority="5")
    if function.__name__ == "update_cached_content":
        arguments["ttl"] = "60s"
    made = function(**{**arguments, parameter: value})
    return next(made) if inspect.isgenerator(made) else made


REQUESTS: dict[str, Any] = {
    "compute_tokens": [VALUES["requests"][0].content],
    "embed_flow": EmbedRequest(("a",)),
    "count_tokens": [VALUES["requests"][0].content],
    "embed_content": VALUES["requests"][0],
    "generate_content": types.GenerateContentRequest(contents=[VALUES["requests"][0].content]),
    "stream_generate_content": types.GenerateContentRequest(
        contents=[VALUES["requests"][0].content]
    ),
    "import_file": types.ImportFileRequest(file_name="files/probe-2"),
    "predict": types.PredictRequest(instances=[{}]),
    "predict_long_running": types.PredictRequest(instances=[{}]),
}


def paths() -> dict[str, tuple[Callable[..., Any], str]]:
    """The parameters of `builders` that stand in the path of the call."""
    found = {}
    for name, function, parameter in builders():
        for value in GOOD:
            try:
                made = called(function, parameter, value)
            except (WireError, TypeError, StopIteration, AttributeError):
                continue
            if isinstance(made, (Call, StreamCall)) and "probe-1" in made.path:
                found[name] = function, parameter
    return found


PATHS = paths()


def test_the_parameters_of_paths_are_found() -> None:
    assert len(PATHS) >= 66


@pytest.mark.row("R-31", "R-38")
@joined("bad", BAD)
@joined("name", PATHS)
def test_a_bad_value_of_a_path_is_refused(name: str, bad: str) -> None:
    function, parameter = PATHS[name]
    with pytest.raises((ConfigurationError, RuleError)) as caught:
        called(function, parameter, BAD[bad])
    said = str(caught.value)
    assert said.split(":")[0] in (parameter, f"{parameter}_id", "model", "name")
    assert "\n" not in said
    assert len(said.encode()) < 1_000
    assert "sk-proj-fake" not in said


@pytest.mark.row("R-38")
@joined(
    ("field", "value"),
    [
        ("path", "/models/\ud800"),
        ("path_prefix", "/\udfff"),
        ("query", {"page": "\ud800"}),
        ("query", {"page": ["a", "\ud800"]}),
        ("query", {"\ud800": "a"}),
    ],
)
def test_a_call_has_no_half_of_a_surrogate_pair_in_its_url(field: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"^{field}: it has half of a surrogate pair"):
        # A query is encoded, and so refused, where the target is needed.
        assert msgspec.structs.replace(gemini.get_model("a"), **{field: value}).target
