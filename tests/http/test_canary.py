"""No key reaches what people print, log, store or send to a bug tracker (R-28, R-29, R-33).

Each key is a canary. The tests count the sinks that they looked into.
"""

from __future__ import annotations

import base64
import copy
import functools
import gc
import inspect
import itertools
import json
import logging
import os
import pickle
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import httpx
import httpx2
import msgspec
import pytest

import wire
from tests.http.drive import CALL, STREAM_CALL, Drive
from tests.http.loopback import ANSWER, LAST, STREAM, chunked, event, loopback, text, whole
from tests.joined import joined
from tests.property import ALL, sample
from wire import (
    AsyncChat,
    AsyncChats,
    AsyncClient,
    Chat,
    Chats,
    Client,
    Secret,
    WireError,
    anthropic,
    gemini,
    openai,
)
from wire.agent import Agent, LLMAgent
from wire.agent.config import LLMConfig, load_config
from wire.core.secret import in_base64
from wire.http.lanes import Lanes
from wire.http.target import target
from wire.testing import AsyncRecord, Record
from wire.testing.emulator import Emulator, EmulatorLimits, EmulatorTransport

CANARIES = {
    "openai": "sk-" + "canary-8f3b1c7d2e9a4f60",
    "google": "AIzaCanary8f3b1c7d2e9a4f60Xy",
    "random": "8f3b1c7d2e9a4f60b5c4d3e2f1a09b87",
}
FRAGMENT = "8f3b1c7d2e9a"
"""A part of each canary, which is found in any form of them."""


class Shows:
    """An object whose `repr` shows what it holds."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"Shows({self.text})"


class Number(int):
    """A number that is a key."""

    def __repr__(self) -> str:
        return f"Number({FRAGMENT})"


SHAPES: dict[str, Callable[[str], Any]] = {
    "text": str,
    "with a line end": lambda key: f"{key}\n",
    "bytes": lambda key: key.encode(),
    "tuple": lambda key: (key,),
    "list": lambda key: [key],
    "set": lambda key: {key},
    "dict": lambda key: {"key": key},
    "nested": lambda key: {"a": [{"b": (key,)}]},
    "object": Shows,
    "partial": lambda key: functools.partial(print, key),
}


def frames_of(error: BaseException) -> str:
    """The traceback with locals, without the frames of these tests: those are the caller's own."""
    shown: list[str] = []
    chain: list[BaseException | None] = [error]
    seen: set[int] = set()
    while chain:
        each = chain.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        chain += [each.__cause__, each.__context__]
        told = traceback.TracebackException.from_exception(each, capture_locals=True)
        shown += told.format_exception_only()
        shown += [
            f"{frame.filename}:{frame.name}: {frame.locals}"
            for frame in told.stack
            if not Path(frame.filename).name.startswith("test_canary")
        ]
    return "\n".join(shown)


def sinks_of_error(error: BaseException) -> dict[str, str]:
    """What people print, log or store of an error."""
    return {
        "str": str(error),
        "repr": repr(error),
        "format": f"{error:}",
        "args": repr(error.args),
        "vars": repr(vars(error)),
        "notes": repr(getattr(error, "__notes__", ())),
        **sinks_of_request(error),
        "copy": repr(copy.copy(error)) + repr(vars(copy.copy(error))),
        "restored": repr(pickle.loads(pickle.dumps(error))),
        "traceback with locals": frames_of(error),
    }


def sinks_of_request(error: BaseException) -> dict[str, str]:
    """What people print of the request and the response of an error."""
    if not isinstance(error, WireError) or error.preview is None:
        return {}
    restored = pickle.loads(pickle.dumps(error))
    assert restored.preview == error.preview
    return {
        "preview": repr(error.preview),
        "preview as text": str(error.preview),
        "fields of preview": repr(msgspec.structs.asdict(error.preview)),
        "pickled preview": repr(pickle.dumps(error.preview)),
        "curl": error.preview.curl,
        "model": error.preview.model,
        "response headers": repr(error.response_headers),
        "account": repr(error.account),
    }


def hits(sinks: dict[str, str]) -> list[str]:
    return [name for name, shown in sinks.items() if FRAGMENT in shown]


# --- what is refused ------------------------------------------------------------------------------


def client_doors(kind: type) -> dict[str, Callable[..., Any]]:
    return {
        "name": lambda key: kind(key),
        "name, with base_url": lambda key: kind(key, base_url="ftp://host"),
        "http": lambda key: kind("gemini", http=key),
        **{
            option: functools.partial(
                lambda key, option: kind("gemini", **{option: key}), option=option
            )
            for option in (
                "base_url",
                "timeouts",
                "retry",
                "limits",
                "version",
                "project",
                "location",
                "dialect",
                "plain_http",
                "headers",
            )
        },
        "api_key": lambda key: kind("gemini", api_key=key, timeouts="x"),
        "token": lambda key: kind("gemini@vertex", token=key, project="p"),
        "token and key": lambda key: kind("openai", token=key, api_key=key),
        "project of vertex": lambda key: kind("gemini@vertex", project=key),
        "location of vertex": lambda key: kind("gemini@vertex", project="p", location=(key,)),
        **{
            f"misspelt {option}": functools.partial(
                lambda key, option: kind("openai", **{option: key}), option=option
            )
            for option in (
                "apikey",
                "api_kye",
                "key",
                "openai_api_key",
                "Token",
                "secret",
                "x",
                "model",
            )
        },
        "key in the query": lambda key: kind("openai", base_url=f"https://host/v1?key={key}"),
        "key as user": lambda key: kind("openai", base_url=f"https://{key}@host/v1"),
        "key as password": lambda key: kind("openai", base_url=f"https://u:{key}@host/v1"),
        "key in the fragment": lambda key: kind("openai", base_url=f"https://host/v1#{key}"),
        "key in the path": lambda key: kind("openai", base_url=f"http://host/{key}/v1"),
        "key before the endpoint": lambda key: kind(
            "openai", base_url=f"https://host/{key}/v1/chat/completions"
        ),
        "key as host": lambda key: kind("openai", base_url=f"http://{key}"),
        "header value": lambda key: kind("openai", headers={"x-team": key, "x y": "1"}),
        "header name": lambda key: kind("openai", headers={key: "a"}),
        "authorization": lambda key: kind("openai", headers={"authorization": key, "x": "é"}),
        "secret header with a line end": lambda key: kind(
            "openai", headers={"x-token": f"{key}\n"}
        ),
        "headers as pairs": lambda key: kind("openai", headers=[("x-api-key", key)]),
        "nested headers": lambda key: kind("openai", headers={"x": {"api-key": key}}),
    }


def chat_doors(kind: type) -> dict[str, Callable[..., Any]]:
    model = "openai:gpt-5.2"

    def asked(key: Any, how: str, **options: Any) -> Any:
        chat = kind(model, api_key="fake-key", http="auto")
        door = getattr(chat, how)
        result = door("Hi", **dict.fromkeys(options, key))
        return anyio.run(lambda: result) if how == "ask" and kind is AsyncChat else result

    return {
        "model": lambda key: kind(key),
        "model with provider": lambda key: kind(f"nobody:{key}" if isinstance(key, str) else key),
        "http": lambda key: kind(model, http=key),
        "misspelt api_key": lambda key: kind(model, apikey=key),
        "misspelt key": lambda key: kind(model, key=key),
        "wrong option": lambda key: kind(model, timeouts=key),
        "setting": lambda key: kind(model, max_token=key),
        "key, then wrong option": lambda key: kind(model, api_key=key, nonsense=1),
        **{
            f"{how} with api_key": functools.partial(asked, how=how, api_key=1)
            for how in ("call", "stream_call", "request", "stream", "ask")
        },
    }


def made_call(**options: Any) -> wire.Call[Any]:
    return wire.Call("gemini", "GET", "/x", parse=bytes, read_error=CALL.read_error, **options)


def other_doors() -> dict[str, Callable[..., Any]]:
    chats = Chats({"gemini": Client("gemini", api_key="fake-key")})
    return {
        "create_provider model": lambda key: wire.create_provider("openai", key, key, nonsense=1),
        "create_provider name": lambda key: wire.create_provider(key, "fake-key", "m"),
        "create_provider base": lambda key: wire.create_provider("openai", "k" * 9, "m", key, x=1),
        "create_provider option": lambda key: wire.create_provider(
            "openai", "k" * 9, "m", apikey=key
        ),
        "agent option": lambda key: Agent(Chat("openai:gpt-5", api_key="fake-key"), api_key=key),
        "agent model": lambda key: Agent(key),
        "async agent option": lambda key: LLMAgent(
            AsyncChat("openai:gpt-5", api_key="fake-key"), apikey=key
        ),
        "async agent provider": lambda key: LLMAgent(key),
        "from_env option": lambda key: Chats.from_env(api_key=key),
        "from_env name": lambda key: Chats.from_env(key),
        "async from_env option": lambda key: AsyncChats.from_env(apikey=key),
        "chats clients": lambda key: Chats(key),
        "chats client": lambda key: Chats({"openai": key}),
        "async chats client": lambda key: AsyncChats({"openai": key}),
        "register_provider": lambda key: wire.register_provider("canary", key),
        "EmulatorLimits": lambda key: EmulatorLimits(max_headers=key),
        "LLMConfig number": lambda key: LLMConfig(max_tokens=key),
        "chats default": lambda key: Chats({"gemini": Client("gemini")}, default=key),
        "chats provider": lambda key: chats.ask("Hi", model="m", provider=key),
        "chats setting": lambda key: chats.ask("Hi", model="m", api_key=key),
        "chats stream setting": lambda key: chats.stream("Hi", model="m", api_key=key),
        "chats settings": lambda key: chats.chat("m", api_key=key),
        "config key": lambda key: load_config({"api_key": key, "provider": "nobody"}),
        "config misspelt": lambda key: load_config({"apikey": key}),
        "config misspelt more": lambda key: load_config({"api_kye": key}),
        "config nested": lambda key: load_config(
            {"multi_agent": {"agents": {"p": {"key": key, "max_tokens": 0}}}}
        ),
        "config token": lambda key: load_config(
            {"token": key, "provider": "gemini@vertex", "x": 1, "modle": key}
        ),
        "config provider": lambda key: load_config({"provider": key}),
        "config number": lambda key: load_config({"max_tokens": key}),
        "config api_base": lambda key: load_config({"api_base": key, "max_tokens": 0}),
        "config routing": lambda key: load_config({"routing": {"api_key": key, "modle": "m"}}),
        "config path": lambda key: load_config(key if isinstance(key, str) else str(key)),
        "config variable": lambda key: load_config(
            {"max_tokens": "${FAKE}"}, env={"FAKE": key if isinstance(key, str) else str(key)}
        ),
        "LLMConfig": lambda key: LLMConfig(key, max_tokens=0),
        "LLMConfig provider": lambda key: LLMConfig(provider=key, max_tokens=0),
        "LLMConfig token": lambda key: LLMConfig(token=key, max_tokens=0),
        "LLMConfig base": lambda key: LLMConfig(api_base=key, max_tokens=0),
        "emulator provider": lambda key: Emulator(provider=key),
        "emulator date": lambda key: Emulator(date=key),
        "Record": lambda key: Record(key, "x.json"),
        "Record secrets": lambda key: Record(Lanes(), "x.json", secrets=[key, ""]),
        "AsyncRecord secrets": lambda key: AsyncRecord(
            wire.AsyncLanes(), "x.json", secrets=[key, ""]
        ),
        "call headers": lambda key: CALL.replace(headers={"x-api-key": key, "x y": "a"}),
        "call header name": lambda key: CALL.replace(headers={key: "a\n"}),
        "call headers as text": lambda key: CALL.replace(headers=key),
        "call query": lambda key: CALL.replace(query={"key": key, "a": 1}),
        "call query as text": lambda key: CALL.replace(query=key),
        "call itself": lambda key: made_call(headers={"authorization": key, "é": "a"}),
        "call itself, query": lambda key: made_call(query={"key": key, "a": 1}),
        "Secret": lambda key: Secret(f"{key}\n"),
        "target": lambda key: target(key, {"apikey": key}),
    }


DOORS = {
    **{f"Client {name}": door for name, door in client_doors(Client).items()},
    **{f"AsyncClient {name}": door for name, door in client_doors(AsyncClient).items()},
    **{f"Chat {name}": door for name, door in chat_doors(Chat).items()},
    **{f"AsyncChat {name}": door for name, door in chat_doors(AsyncChat).items()},
    **other_doors(),
}


RAW_REQUEST = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
BUILDERS: dict[str, Callable[..., Any]] = {
    **{
        f"gemini.{each.__name__}": each
        for each in (
            gemini.generate_content, gemini.stream_generate_content, gemini.count_tokens,
            gemini.embed_content, gemini.predict, gemini.get_model, gemini.get_file,
            gemini.create_file, gemini.get_batch, gemini.create_batch, gemini.get_cached_content,
        )
    },
    **{
        f"anthropic.{each.__name__}": each
        for each in (
            anthropic.create_message, anthropic.stream_message, anthropic.count_tokens,
            anthropic.get_model, anthropic.create_batch, anthropic.get_batch,
        )
    },
    **{
        f"openai.{each.__name__}": each
        for each in (
            openai.chat_completions, openai.stream_chat_completions, openai.embeddings,
            openai.get_model, openai.delete_model,
        )
    },
}  # fmt: skip


def value_doors() -> dict[str, Callable[..., Any]]:
    """Builders of requests, and the classes of options, with a key in a wrong place."""
    return {
        **{
            f"{name} {place}": functools.partial(call, build)
            for name, build in BUILDERS.items()
            for place, call in {
                "first": lambda build, key: build(key),
                "with a request": lambda build, key: build(key, RAW_REQUEST),
                "second": lambda build, key: build("m", key),
                "misspelt": lambda build, key: build("m", api_kye=key),
            }.items()
        },
        **{
            f"{kind.__name__} {name}": functools.partial(
                lambda kind, name, key: kind(**{name: key}), kind, name
            )
            for kind in (wire.Timeouts, wire.Retry, wire.Limits, wire.Guard)
            for name in inspect.signature(kind).parameters
            if name != "steering"
        },
        "Timeouts positional": lambda key: wire.Timeouts(1.0, key),
        "Retry positional": lambda key: wire.Retry(2, key),
    }


DOORS |= value_doors()

RANDOM_MODELS = {
    "Chat model with provider", "AsyncChat model with provider", "create_provider model",
    *(f"{name} {place}" for name in BUILDERS for place in ("first", "with a request")),
}  # fmt: skip
"""Doors where a name that looks random is the name of a model, such as of a fine-tuned one."""


def refusals() -> Iterator[tuple[str, dict[str, str]]]:
    """Each refusal, and what people see of it."""
    for door, shape, kind in sample(list(itertools.product(DOORS, SHAPES, CANARIES)), 8):
        if kind == "random" and door in RANDOM_MODELS:
            continue
        value: Any = None
        try:
            value = SHAPES[shape](CANARIES[kind])
            DOORS[door](value)
        except TypeError as error:
            if "unhashable" not in str(error):  # a header name that Python itself refuses
                yield f"{door} / {shape} / {kind}", sinks_of_error(error)
        except Exception as error:
            yield f"{door} / {shape} / {kind}", sinks_of_error(error)
        finally:
            del value


@pytest.mark.sampled
def test_what_is_refused_shows_no_key() -> None:  # R-28
    looked, refused, found = 0, 0, []
    for name, sinks in refusals():
        refused += 1
        looked += len(sinks)
        found += [f"{name}: {sink}" for sink in hits(sinks)]
    print(f"{refused} refusals, {looked} sinks, {len(found)} hits")
    assert refused > (4000 if ALL else 500)
    assert found == []


# --- what a server repeats ------------------------------------------------------------------------

KEY = CANARIES["openai"]
Forms = dict[str, str]


def forms_of(key: str) -> Forms:
    """The ways in which servers repeat a key."""
    return {
        "whole": key,
        "begin": f"{key[:18]}...",
        "middle": f"...{key[6:20]}...",
        "end": f"...{key[-14:]}",
        "url": quote(f"<{key}>", safe=""),
        "url, all": "".join(f"%{ord(letter):02X}" for letter in key),
        "json, all": "".join(f"\\u{ord(letter):04x}" for letter in key),
        "basic": base64.b64encode(f"user:{key}".encode()).decode(),
    }


TRACES = [
    *(KEY[at : at + 12] for at in range(len(KEY) - 11)),
    "".join(f"%{ord(letter):02X}" for letter in KEY[4:16]),
    "".join(f"\\u{ord(letter):04x}" for letter in KEY[4:16]),
    *(part[:12] for part in in_base64(KEY.encode())),
]
"""What none of the sinks may contain."""


def error_body(form: str, status: int = 401) -> bytes:
    return json.dumps(
        {
            "error": {
                "code": status,
                "message": f"bad key {form}",
                "status": f"BAD_{form}",
                "details": [
                    {
                        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                        "reason": form,
                        "metadata": {"consumer": form, form: "x"},
                    }
                ],
            }
        }
    ).encode()


ECHOES: dict[str, Callable[[str], list[Any]]] = {
    "401": lambda form: [whole(error_body(form), 401)],
    "400": lambda form: [whole(error_body(form, 400), 400)],
    "500": lambda form: [whole(error_body(form, 500), 500)],
    "headers of 429": lambda form: [
        whole(error_body("x", 429), 429, x_request_id=form, x_ratelimit_limit=form)
    ],
    "good answer": lambda form: [whole(ANSWER, x_request_id=form, x_ratelimit_limit=form)],
    "dropped event": lambda form: [
        STREAM, event(text("Hel")), event([form]), event(text("lo.", "STOP")), LAST,
    ],
    "html": lambda form: [whole(f"<html>{form}</html>".encode(), 502, "text/html")],
    "200 with html": lambda form: [whole(f"<html>{form}</html>".encode(), 200, "text/html")],
    "error under 200": lambda form: [whole(error_body(form), 200)],
    "error in a stream": lambda form: [
        STREAM, event(text("Hel")), event(json.loads(error_body(form))), LAST,
    ],
    "malformed event": lambda form: [
        STREAM, event(text("Hel")), chunked(f"data: {{{form}\n\n".encode()), LAST,
    ],
    "malformed body": lambda form: [whole(f'{{"candidates": [{form}'.encode())],
    "odd values": lambda form: [whole(json.dumps({"candidates": form}).encode())],
    "redirect": lambda form: [whole(b"", 302, location=f"https://elsewhere.example/?a={form}")],
    "reason": lambda form: [f"HTTP/1.1 401 {form}\r\ncontent-length: 0\r\n\r\n".encode()],
    "malformed status line": lambda form: [f"HTTP/9 {form} x\r\n\r\n".encode(), "close"],
    "malformed header": lambda form: [f"HTTP/1.1 200 OK\r\n{form}\r\n\r\n".encode(), "close"],
    "malformed chunk": lambda form: [STREAM, event(text("Hel")), f"{form}\r\n".encode(), "close"],
    "cut": lambda form: [STREAM, event(text("Hel")), f"5\r\n{form}".encode()[:8], "reset"],
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("echo", ECHOES)
def test_what_a_server_repeats_shows_no_key(
    drive: Drive, echo: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:  # R-28, R-29
    """The body itself stays in `raw`, and what was received in `partial`."""
    monkeypatch.setenv("GEMINI_API_KEY", KEY)  # so that no frame of the test has it
    for name in ("wire", "httpx", "httpcore", "h11", "asyncio", "anyio", "trio"):
        caplog.set_level(logging.DEBUG, name)
    looked, found = 0, []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        forms = forms_of(KEY)
        # Masking is the same for all three; what they raise and log is not.
        others = ("whole", "middle") if ALL else ("whole",)
        for name in sample(list(forms), 6) if drive.name == "sync" else others:
            form = forms[name]
            caplog.clear()
            caught, accounts = answers(drive, ECHOES[echo](form))
            assert bool(caught) is (echo not in ("good answer", "dropped event"))
            sinks = {
                "referrers": "" if name != "whole" else "".join(map(repr, referrers(caught))),
                "log": caplog.text + repr([vars(record) for record in caplog.records]),
                "warnings": repr([str(each.message) for each in warned]),
                "accounts": repr(accounts),
            }
            for number, error in enumerate(caught):
                sinks |= {
                    **{f"{sink} {number}": shown for sink, shown in sinks_of_error(error).items()},
                    f"details {number}": repr(getattr(error, "details", "")),
                    f"request id {number}": repr(error.request_id),
                    f"code {number}": repr(error.code),
                }
            looked += len(sinks)
            found += [
                f"{name}: {sink}: {trace}"
                for sink, shown in sinks.items()
                for trace in TRACES
                if trace in shown
            ]
    print(f"{looked} sinks, {len(found)} hits")
    assert found == []


def answers(drive: Drive, steps: list[Any]) -> tuple[list[WireError], list[Any]]:
    """The errors of a plain and a streamed call, and their accounts."""
    caught: list[WireError] = []
    accounts: list[Any] = []
    with loopback(steps) as server:
        for read in (drive.send, drive.read):
            try:
                result = read(api_key=None, base_url=server.url)
            except WireError as error:
                caught.append(error)
            else:
                answer = getattr(result, "reply", result)
                accounts += [wire.answer_account(answer), wire.notes(answer)]
                caught += [result.error] if getattr(result, "error", None) else []
    return caught, accounts


def referrers(errors: list[WireError]) -> list[Any]:
    """What refers to the errors, without the list itself and the frames."""
    found = gc.get_referrers(*errors)
    return [each for each in found if each is not errors and type(each).__name__ != "frame"]


TOKEN = "fake-token-8f3b1c7d2e9a-4f60"


@joined("where", ["token", "header of the client", "header of the call", "query"])
def test_other_credentials_that_a_server_repeats_are_masked(
    drive: Drive, where: str
) -> None:  # R-29
    """Tokens of a callback, also the one of an earlier attempt, and credentials in headers."""
    begin, end = TOKEN[:16], TOKEN[-14:]
    scripts = {500: f"begin {begin}", 401: f"whole {TOKEN}, end {end}"}

    def script(number: int, request: bytes) -> list[Any]:
        assert TOKEN.encode() in request
        status = 500 if number == 0 else 401
        return [whole({"error": {"code": status, "message": scripts[status]}}, status)]

    def token() -> str:
        return TOKEN

    options: dict[str, Any] = {"api_key": "fake-key"}
    call, provider = CALL, "gemini"
    if where == "token":
        options = {"api_key": None, "token": token, "project": "p", "location": "global"}
        provider = "gemini@vertex"
    elif where == "header of the client":
        options["headers"] = {"x-team-token": TOKEN}
    elif where == "header of the call":
        call = CALL.replace(headers={"cookie": f"theme=dark; session={TOKEN}"})
    else:
        call = CALL.replace(query={"sig": TOKEN})
    with loopback(script) as server, pytest.raises(WireError) as caught:
        drive.session(
            lambda door: door.send(call), provider=provider, base_url=server.url, **options
        )
    assert caught.value.message == "whole ***, end ***"
    assert caught.value.attempts == 2


@joined("library", [httpx, httpx2], ids=["httpx", "httpx2"])
@joined("name", ["ConnectError", "ReadError", "ReadTimeout", "HTTPStatusError"])
def test_the_cause_of_an_error_has_no_request(
    drive: Drive, library: Any, name: str
) -> None:  # R-28, R-36
    """The request of an exception of httpx has the key in its headers. A hook may raise one for a
    status.
    """

    def fail(request: Any) -> Any:
        response = {"response": library.Response(503)} if name == "HTTPStatusError" else {}
        raise getattr(library, name)("no", request=request, **response)

    with pytest.raises(WireError) as caught:
        drive.send(http=library.MockTransport(fail), api_key=KEY, retry=None)
    assert caught.value.status == (503 if name == "HTTPStatusError" else None)
    assert caught.value.retryable
    each: BaseException | None = caught.value
    types = []
    while each is not None:
        types.append(type(each).__name__)
        assert KEY[4:16] not in repr(
            [getattr(held, "headers", held) for held in vars(each).values()]
        )
        each = each.__cause__
    assert types[1:] == [name] * (len(types) - 1) != []


# --- objects --------------------------------------------------------------------------------------


def shown(value: Any) -> dict[str, str]:
    """What people print or store of an object."""
    sinks = {
        "repr": repr(value),
        "str": str(value),
        "format": f"{value}",
        "percent": "%s %r" % (value, value),  # noqa: UP031
        "copy": repr(copy.copy(value)),
        "attributes": repr([(name, getattr(value, name, None)) for name in dir(value)]),
    }
    for name, make in {
        "vars": lambda: repr(vars(value)),
        "vars of vars": lambda: repr([vars(each) for each in vars(value).values()]),
        "asdict": lambda: repr(msgspec.structs.asdict(value)),
        "fields": lambda: repr([getattr(value, name) for name in value.__struct_fields__]),
        "deepcopy": lambda: repr(copy.deepcopy(value)),
        "pickle": lambda: repr(pickle.dumps(value)),
        "json": lambda: json.dumps(value, default=lambda each: repr(vars(each))),
        "json by msgspec": lambda: repr(msgspec.json.encode(value, enc_hook=repr)),
    }.items():
        try:
            sinks[name] = make()
        except Exception as error:  # what cannot be shown so; the refusal shows no key either
            sinks[name] = repr(error)
    return sinks


def test_objects_show_no_key(tmp_path: Path) -> None:  # R-28
    transport = EmulatorTransport(Emulator([{"say": "Hello."}] * 9))
    options: dict[str, Any] = {"api_key": KEY, "http": transport}
    client = Client("gemini", headers={"x-other-token": KEY}, **options)
    vertex = Client(
        "gemini@vertex", token=functools.partial(str, KEY), project="p", location="global"
    )
    chat = Chat("gemini:gemini-3.8-flash", **options)
    call = CALL.replace(headers={"authorization": f"Bearer {KEY}", "x-team": KEY})
    config = load_config({"api_key": KEY, "multi_agent": {"agents": {"a": {"api_key": KEY}}}})
    agent = Agent(chat, "Be brief.")
    result = agent.run("Hi")
    recorded = tmp_path / "x.json"
    with Client("gemini", api_key=KEY, http=Record(transport, recorded)) as recording:
        request = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
        answer = recording.send(gemini.generate_content("gemini-3.8-flash", request))
    assert recorded.stat().st_size > 200
    objects: dict[str, Any] = {
        "client": client,
        "target": client._target,
        "client of vertex": vertex,
        "target of vertex": vertex._target,
        "async client": AsyncClient("gemini", api_key=KEY),
        "preview": client.preview(call),
        "preview of vertex": vertex.preview(CALL),
        "curl": client.preview(call).curl,
        "preview without host": call.preview(),
        "call": call,
        "stream call": STREAM_CALL.replace(headers={"x-api-key": KEY}),
        "description": client.describe(),
        "row": client.row,
        "chat": chat,
        "chats": Chats({"gemini": client}),
        "agent": agent,
        "result": result,
        "run": agent.last_run,
        "state": result.state,
        "saved run": msgspec.json.encode(result.messages),
        "config": config,
        "settings": config.llm,
        "settings with a token": LLMConfig(token=functools.partial(str, KEY)),
        "provider": wire.create_provider("openai", KEY, "gpt-5.4"),
        "answer": answer,
        "account": wire.answer_account(answer),
        "cassette": recorded.read_text("utf-8"),
        "recorder": recording._http,
        "requests of the emulator": transport.emulator.requests,
        "secret": Secret(KEY),
        "mask": client._target.mask,
    }
    looked, found = 0, []
    for name, value in objects.items():
        sinks = shown(value)
        looked += len(sinks)
        found += [f"{name}: {sink}" for sink, text in sinks.items() if KEY[4:16] in text]
    print(f"{looked} sinks, {len(found)} hits")
    assert looked > 400
    assert found == []
    assert transport.emulator.requests


PREVIEWED = {
    "authorization": f"Bearer {KEY}",
    "proxy-authorization": "Basic ZmFrZTpmYWtl",
    "x-goog-api-key": KEY,
    "x-api-key": KEY,
    "api-key": KEY,
    "cookie": f"a={KEY}",
    "x-vault-token": KEY,
    "x-hub-signature-256": KEY,
    "x-team": f"Bearer {TOKEN}",
    "x-other": KEY,
}


@joined("header", PREVIEWED)
@joined("where", ["client", "call"])
def test_previews_hide_headers_that_look_like_credentials(header: str, where: str) -> None:  # R-28
    headers = {header: PREVIEWED[header], "x-plain": "as it is"}
    options, more = ({"headers": headers}, {}) if where == "client" else ({}, headers)
    preview = Client("gemini", **options).preview(CALL.replace(headers=more))
    assert preview.headers[header] == "***"
    assert preview.headers["x-plain"] == "as it is"
    for sink in (str(preview), repr(preview), preview.curl):
        assert PREVIEWED[header] not in sink


@joined(
    "name",
    ["key", "access_token", "sig", "X-Goog-Signature", "X-Amz-Signature", "api-key", "anything"],
)
def test_previews_hide_parameters_that_look_like_credentials(name: str) -> None:  # R-28
    call = CALL.replace(query={name: KEY, "alt": "sse"})
    for preview in (Client("gemini").preview(call), call.preview()):
        assert preview.url.endswith(f"?{name}=***&alt=sse")
        assert KEY not in str(preview) + repr(preview) + preview.curl
    assert KEY in call.target
    assert KEY not in repr(call)


# --- logs and test runners ------------------------------------------------------------------------

PROMPT, REPLY = "canary-prompt-about-tides", "canary-reply-about-tides"


@pytest.mark.parametrize("scene", ["good", "stream", "refused", "malformed", "500"])
def test_prompts_and_answers_are_not_logged_at_info(
    drive: Drive, scene: str, caplog: pytest.LogCaptureFixture
) -> None:  # R-33
    """Servers repeat prompts in errors, and errors quote malformed answers."""
    scripts: dict[str, list[Any]] = {
        "good": [whole(text(REPLY, "STOP"))],
        "stream": [STREAM, event(text(REPLY, "STOP")), LAST],
        "refused": [whole({"error": {"code": 400, "message": f"bad: {PROMPT}"}}, 400)],
        "malformed": [whole(f'{{"candidates": "{REPLY}'.encode())],
        "500": [whole({"error": {"code": 500, "message": f"bad: {PROMPT}"}}, 500)],
    }
    request = gemini.GenerateContentRequest(contents=gemini.contents(PROMPT))
    call, stream = (
        gemini.generate_content("m", request),
        gemini.stream_generate_content("m", request),
    )
    told: list[str] = []
    caplog.set_level(logging.INFO)
    for name in ("wire", "httpx", "httpcore", "asyncio", "anyio", "trio"):
        caplog.set_level(logging.INFO, name)
    with loopback(scripts[scene]) as server:
        for read in (
            lambda: drive.send(call, base_url=server.url),
            lambda: drive.read(stream, base_url=server.url),
        ):
            try:
                read()
            except WireError as error:
                told.append(str(error))
    assert all("tides" in each for each in told)
    assert "tides" not in caplog.text + repr([vars(record) for record in caplog.records])
    assert len(caplog.records) >= 2


def test_a_message_is_logged_at_debug(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "wire")
    body = {"error": {"code": 400, "message": "bad: the tides"}}
    with loopback([whole(body, 400)]) as server, pytest.raises(WireError):
        drive.send(base_url=server.url)
    records = [each for each in caplog.records if each.name in ("wire", "wire.http")]
    *_, first, second, call = [(each.levelname, each.getMessage()) for each in records]
    assert first == ("INFO", "attempt 1 failed: BadRequestError, 400")
    assert second == ("DEBUG", "attempt 1 failed: gemini: 400: bad: the tides")
    assert call[0] == "INFO"
    assert "failed: BadRequestError, status 400" in call[1]
    assert "tides" not in call[1]


FAILING = """
import os, httpx, pytest
from wire import Chat, Client, gemini

CALL = gemini.generate_content("m", gemini.GenerateContentRequest(contents=gemini.contents("Hi")))

def repeats(request):
    key = request.headers["x-goog-api-key"]
    if request.url.path.endswith("fail"):
        raise httpx.ConnectError("no")
    return httpx.Response(401, text=f"bad key {key}", headers={"x-request-id": key})

@pytest.fixture
def client():
    return Client("gemini", http=httpx.MockTransport(repeats), retry=None)

def test_refused_by_the_server(client):
    preview = client.preview(CALL)
    client.send(CALL)

def test_streamed(client):
    with client.stream(gemini.stream_generate_content("m", CALL)) as chunks:
        list(chunks)

def test_misspelt():
    Client("gemini", **{"apikey": os.environ["GEMINI_API_KEY"]})

def test_wrong_option():
    Chat("gemini:m", **{"api_key": os.environ["GEMINI_API_KEY"], "timeouts": "x"})
"""


@pytest.mark.processes
def test_a_failing_test_run_shows_no_key(tmp_path: Path) -> None:  # R-28
    """`pytest -l` prints the variables of all frames."""
    (tmp_path / "test_failing.py").write_text(FAILING, "utf-8")
    ran = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-l", "-vv", "--tb=long", "-p", "no:cacheprovider",
            "-p", "no:randomly", "--showlocals", "--log-level=DEBUG", str(tmp_path),
        ],
        env={**os.environ, "GEMINI_API_KEY": KEY, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert "4 failed" in ran.stdout, ran.stdout + ran.stderr
    assert "apikey: no such option" in ran.stdout
    assert "bad key ***" in ran.stdout
    assert KEY[4:16] not in ran.stdout + ran.stderr
