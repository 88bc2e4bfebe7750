"""Credentials in fields of bodies: which fields they are, and that only the request has them.

Each wire has a request with all its fields of this kind, and values that look like no key.
"""

from __future__ import annotations

import importlib
import json
import logging
import pkgutil
import re
import tracemalloc
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import msgspec
import pytest
import yaml

from tests.http.test_canary import sinks_of_error
from tests.inventories import REFERENCES
from tests.joined import joined
from tests.telemetry import Telemetry
from wire import Client, Message, Reply, Stop, WireError, anthropic, gemini, openai
from wire.anthropic import types as anthropic_types
from wire.bulk.output_files import Header, header_line, refuse_other_run
from wire.bulk.results import Result, outcome_of
from wire.bulk.rows import Row
from wire.cli import main
from wire.core.call import Call
from wire.core.credentials import known_credential, secret_name
from wire.core.memory import WireStruct
from wire.core.secret_fields import (
    SECRET_FIELDS,
    body_secrets,
    field_spans,
    masked_body,
    masked_value,
)
from wire.errors import CassetteError, ConfigurationError
from wire.gemini import types as gemini_types
from wire.neutral.messages import with_answer
from wire.neutral.request import Request
from wire.openai.responses import types as responses_types
from wire.testing import Cache, Cassette, Snapshots, stable
from wire.testing.cassette.checks.scan import scan
from wire.testing.cassette.convert.conversion import convert
from wire.testing.cassette.format.bodies import body_bytes
from wire.testing.cassette.format.file import load
from wire.testing.cassette.views.conversation import conversation
from wire.testing.cassette.views.page import page
from wire.testing.emulator.received import received

TYPES = (
    "wire.anthropic",
    "wire.gemini",
    "wire.openai.chat",
    "wire.openai.common",
    "wire.openai.responses",
)

HUSH = "quiet.seal.of.the.harbour"
"""A token that has no form of one. No output but the request may have it."""
OTHER = "another.seal.of.the.shore"
NEWER = "walrus-below-the-pier"

# --- the table ------------------------------------------------------------------------------------

NO_CREDENTIALS = {
    # opaque, and of use to the account only that they were given to
    "signature",
    "thought_signature",
    "fallback_credit_token",
    "turn_token",
    "google_maps_widget_context_token",
    # shortened by the vendor
    "truncated_secret",
    # of attributes, of rows, of the keyboard, of a cache
    "key",
    "keys",
    "prompt_cache_key",
    "keyterms",
    # pieces of text, and how many there are
    "token",
    "tokens",
    "token_ids",
    "part_tokens",
    "role_tokens",
    "system_instructions_tokens",
    "return_token_budget",
    "target_tokens",
    "trigger_tokens",
}
"""Names of fields that look like those of credentials."""


NO_CREDENTIALS_OF_CONTRACTS = {
    "auth": "a word of the inventory itself",
    "header": "where a parameter stands",
    "hold_key": "an action on the keyboard",
    "keypress": "an action on the keyboard",
    "domain_secrets": "the holder of the field `value`",
    "signing_secrets": "a list of those that the vendor shortened",
    "widget_context_token": "names a widget, and grants nothing",
}
"""Names in the vendors' inventories, with the reason for which they are none."""
COUNTED = re.compile("tokens|token_?(?:limit|id|details)", re.IGNORECASE)
"""How many tokens there are, and which."""


def structs() -> Iterator[type[WireStruct]]:
    """The structs of all wires."""
    for name in TYPES:
        package = importlib.import_module(f"{name}.types")
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    todo = [WireStruct]
    for each in todo:
        todo += [sub for sub in each.__subclasses__() if sub.__module__.startswith("wire.")]
    assert len(todo) > 300
    yield from todo


def holds_text(hint: Any) -> bool:
    """Whether a field can hold a text. A struct has fields of its own."""
    return hint in (str, Any) or any(map(holds_text, typing.get_args(hint)))


def looks_like_one(name: str) -> bool:
    return secret_name(name) or "header" in name


def test_each_field_named_like_a_credential_is_declared() -> None:
    declared = {(each.struct, each.key) for each in SECRET_FIELDS}
    unknown = {
        (struct.__name__, name)
        for struct in structs()
        for name, hint in typing.get_type_hints(struct).items()
        if name in struct.__struct_fields__ and looks_like_one(name) and holds_text(hint)
    } - declared
    assert {name for _, name in unknown} == NO_CREDENTIALS, unknown


def names_in(value: Any) -> Iterator[str]:
    """The keys and the words of an inventory that may be names of fields; no types, no paths."""
    words = [value] if isinstance(value, str) else [*value] if isinstance(value, dict) else []
    yield from (word for word in words if re.fullmatch("[a-z][A-Za-z0-9_]*", word))
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from names_in(inner)


def test_each_name_of_the_contracts_that_looks_like_a_credential_is_declared_or_plain() -> None:
    contracts = sorted(REFERENCES.glob("*.fields.json")) + sorted(REFERENCES.glob("*.delta.json"))
    if not contracts:
        pytest.skip("the vendors' inventories are not beside this checkout")
    names = {
        re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()
        for path in contracts
        for name in names_in(json.loads(path.read_bytes()))
        if looks_like_one(name) and not COUNTED.search(name)
    }
    assert len(names) > 15
    declared = {each.key for each in SECRET_FIELDS}
    plain = NO_CREDENTIALS | NO_CREDENTIALS_OF_CONTRACTS.keys()
    assert names - declared - plain == set()
    assert names >= NO_CREDENTIALS_OF_CONTRACTS.keys()


def test_each_declared_struct_is_where_the_table_says() -> None:
    """The holder of a field is the key of each field, in any struct, that has its struct; a body
    has none.
    """
    holders: dict[tuple[str, str], set[str]] = {
        (each.struct, each.key): set() for each in SECRET_FIELDS if each.struct
    }
    for struct in structs():
        hints = typing.get_type_hints(struct)
        for name in struct.__struct_fields__:
            for inner in inside(hints[name]):
                for of, key in holders:
                    if inner.__name__ == of and key in inner.__struct_fields__:
                        holders[of, key].add(name)
    told: dict[tuple[str, str], set[str]] = {key: set() for key in holders}
    for each in SECRET_FIELDS:
        if each.struct and each.holder:
            told[each.struct, each.key].add(each.holder)
    assert holders == told


def inside(hint: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    for each in typing.get_args(hint):
        yield from inside(each)


# --- requests with credentials --------------------------------------------------------------------


class Asked(NamedTuple):
    """A call of one wire, how many credentials it has, and the struct that prints some."""

    provider: str
    call: Call[Any]
    count: int
    struct: Any


def asked(wire: str, hush: str = HUSH) -> Asked:
    if wire == "anthropic":
        server = anthropic_types.McpServer(
            type="url", name="tide", url="https://mcp.example", authorization_token=hush
        )
        request: Any = anthropic.MessageRequest(
            model="claude-opus-4-5",
            max_tokens=9,
            messages=[anthropic_types.Message(role="user", content="When?")],
            mcp_servers=[server],
        )
        return Asked(wire, anthropic.create_message(request), 1, request)
    if wire == "openai":
        secret = responses_types.DomainSecret(domain="a.example", name="KEY", value=hush)
        container = responses_types.Environment(
            type="auto", network_policy=responses_types.NetworkPolicy(domain_secrets=[secret])
        )
        tools = [
            responses_types.Tool(
                type="mcp", server_label="tide", authorization=hush, headers={"X-Team": hush}
            ),
            responses_types.Tool(type="code_interpreter", container=container),
        ]
        request = responses_types.ResponseRequest(model="gpt-5.4", input="When?", tools=tools)
        return Asked(wire, openai.responses.create_response(request), 3, request)
    transport = gemini_types.StreamableHttpTransport(
        url="https://mcp.example", headers={"Authorization": f"Bearer {hush}", "X-Team": hush}
    )
    tool = gemini_types.Tool(
        google_maps=gemini_types.GoogleMaps(auth_config={"apiKeyConfig": {"apiKeyString": hush}}),
        mcp_servers=[gemini_types.McpServer(name="tide", streamable_http_transport=transport)],
    )
    request = gemini.GenerateContentRequest(contents=gemini.contents("When?"), tools=[tool])
    return Asked(wire, gemini.generate_content("gemini-3.8-flash", request), 3, request)


WIRES = ("anthropic", "openai", "gemini")
EXTRA: dict[str, dict[str, Any]] = {
    "anthropic": {"mcp_servers": [{"name": "new", "authorization_token": HUSH, "odd": 1}]},
    "openai": {"tools": [{"type": "mcp", "headers": {"X-Team": HUSH}, "odd": {"a": []}}]},
    "gemini": {"tools": [{"exa_ai_search": {"api_key": HUSH}, "odd": 1}]},
}
"""The same keys in a shape that no struct has."""


class Server:
    """A transport that keeps the bodies it gets and repeats their fields, with new tokens."""

    def __init__(self) -> None:
        self.bodies = list[bytes]()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(request.read())
        fields = json.loads(self.bodies[-1].replace(HUSH.encode(), NEWER.encode()))
        return httpx.Response(
            200, json={key: fields[key] for key in ("tools", "mcp_servers") if key in fields}
        )


def client(of: Asked, transport: Any, **options: Any) -> Client:
    name = "openai@responses" if of.provider == "openai" else of.provider
    return Client(name, api_key="fake-key-4711-81a2", http=transport, **options)


def send(of: Asked, transport: Any, call: Any = None, **options: Any) -> None:
    """Send a call; that the wire cannot read the response does not matter."""
    with client(of, transport, **options) as sending:
        try:
            sending.send(of.call if call is None else call)
        except WireError as error:
            if isinstance(error, CassetteError):
                raise


# --- outputs --------------------------------------------------------------------------------------


@joined("wire", WIRES)
def test_the_request_itself_is_unchanged(wire: str) -> None:
    server, of = Server(), asked(wire)
    send(of, httpx.MockTransport(server))
    assert server.bodies == [of.call.body]
    assert of.call.body.decode().count(HUSH) == of.count


@joined("wire", WIRES)
def test_what_prints_a_struct_a_call_or_a_preview_has_no_credential(wire: str) -> None:
    of = asked(wire)
    rich = [of.call.__rich_repr__(), of.struct.__rich_repr__()]
    with client(of, httpx.MockTransport(Server())) as sending:
        for call in (of.call, of.call.replace(body_extra=EXTRA[wire])):
            shown = sending.preview(call)
            outputs = [str(shown), shown.curl, shown.body.decode(), str(call.preview()), repr(call)]
            outputs += [call.preview().curl, repr(of.struct), *map(repr, rich)]
            for output in outputs:
                assert HUSH not in output
                assert "***" in output
    for tool in of.struct.tools or ():
        assert HUSH not in repr(tool)


def test_a_struct_of_the_caller_that_is_one_of_a_wire_prints_no_credential() -> None:
    class Mine(anthropic_types.McpServer, frozen=True, kw_only=True):
        """Has a field more."""

        odd: int = 0

    mine = Mine(authorization_token=HUSH, odd=1)
    assert repr(mine).endswith("Mine(authorization_token='***', odd=1)")
    assert mine.authorization_token == HUSH


@joined("wire", WIRES)
def test_an_error_has_no_credential_though_the_server_repeats_it(wire: str) -> None:
    of = asked(wire, "tok-4711-81a2-77f0-9c31")
    echo = {"error": {"message": "refused: tok-4711-81a2-77f0-9c31", "type": "odd", "code": 400}}
    transport = httpx.MockTransport(lambda request: httpx.Response(400, json=echo))
    with client(of, transport) as sending, pytest.raises(WireError, match="refused") as raised:
        sending.send(of.call)
    error = raised.value
    assert error.preview is not None
    assert "***" in error.preview.body.decode()
    for name, output in sinks_of_error(error).items():
        ours = [line for line in output.split("\n") if not line.startswith(__file__)]
        assert "tok-4711-81a2" not in "\n".join(ours), name


@joined("wire", WIRES)
def test_logs_and_spans_have_no_credential(wire: str, caplog: pytest.LogCaptureFixture) -> None:
    of, telemetry = asked(wire), Telemetry()
    with caplog.at_level(logging.DEBUG, "wire.http"):
        send(of, httpx.MockTransport(Server()), around=telemetry.tracing(content=True))
    records = "\n".join(map(str, (each.getMessage() for each in caplog.records)))
    assert records.count("***") > of.count
    assert "***" in telemetry.text
    for output in (records, telemetry.text):
        assert HUSH not in output
        assert NEWER not in output


@joined("wire", WIRES)
def test_a_cassette_has_no_credential_and_replays_with_another(wire: str, tmp_path: Path) -> None:
    path, of = tmp_path / "a.cassette.json", asked(wire)
    send(of, Cassette(path, "rewrite", inner=httpx.MockTransport(Server())))
    text = path.read_text("utf-8")
    assert HUSH not in text
    assert NEWER not in text
    [recorded] = load(text.encode(), str(path)).interactions
    assert recorded.request.redacted
    assert text.count('"[redacted]"') >= of.count
    for call in (of.call, asked(wire, OTHER).call):
        send(of, Cassette(path, "none"), call)
    assert main(["cassette", "check", str(path)]) == 0
    extra = of.call.replace(body_extra=EXTRA[wire])
    send(of, Cassette(path, "rewrite", inner=httpx.MockTransport(Server())), extra)
    assert HUSH not in path.read_text("utf-8")


def test_a_difference_to_a_recorded_request_shows_no_credential(tmp_path: Path) -> None:
    path, of = tmp_path / "a.cassette.json", asked("anthropic")
    send(of, Cassette(path, "rewrite", inner=httpx.MockTransport(Server())))
    body = of.call.replace(body_extra={"odd": HUSH}).body
    url = "https://api.anthropic.com/v1/messages"
    # Not by a client of this library, which would mask the error too.
    with (
        httpx.Client(transport=Cassette(path, "none")) as http,
        pytest.raises(CassetteError, match=r'odd: recorded nothing, sent "\*\*\*"'),
    ):
        http.post(url, content=body, headers={"content-type": "application/json"})


def older(tmp_path: Path, wire: str) -> Path:
    """A cassette as earlier releases wrote it."""
    path, of = tmp_path / "old.cassette.json", asked(wire)
    send(of, Cassette(path, "rewrite", inner=httpx.MockTransport(Server())))
    file = json.loads(path.read_text("utf-8").replace("[redacted]", HUSH))
    [interaction] = file["interactions"]
    for part in ("request", "response"):
        interaction[part].pop("redacted", None)
    path.write_text(json.dumps(file, indent=2), "utf-8")
    return path


@joined("wire", WIRES)
def test_a_cassette_of_an_earlier_release_is_reported_and_shown_without(
    wire: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, of = older(tmp_path, wire), asked(wire)
    data = path.read_bytes()
    assert HUSH in data.decode()
    assert main(["cassette", "scan", str(path)]) == 1
    told = capsys.readouterr().out
    assert told.count("credential in a body") >= of.count
    assert HUSH not in told
    send(of, Cassette(path, "none"), asked(wire, OTHER).call)
    loaded = load(data, str(path)).interactions
    snapshots = Snapshots(path)
    shown = [msgspec.json.encode(conversation(loaded)).decode(), page(loaded, "old")]
    shown += [str(snapshots.requests), convert(data, "old", "har").text]
    shown += [convert(data, "old", "vcr").text]
    for output in shown:
        assert HUSH not in output
    assert HUSH.encode() in of.call.body


def test_a_recording_that_goes_on_masks_what_it_has(tmp_path: Path) -> None:
    path, of = older(tmp_path, "anthropic"), asked("anthropic")
    more = of.call.replace(body_extra={"odd": 1})
    send(of, Cassette(path, "new", inner=httpx.MockTransport(Server())), more)
    text = path.read_text("utf-8")
    assert len(load(text.encode(), str(path)).interactions) == 2
    assert HUSH not in text


@joined("wire", WIRES)
def test_a_cached_response_is_found_with_another_token(wire: str, tmp_path: Path) -> None:
    server, of = Server(), asked(wire)
    for call in (of.call, asked(wire, OTHER).call):
        send(of, Cache(tmp_path / wire, inner=httpx.MockTransport(server)), call)
    assert len(server.bodies) == 1
    [entry] = (tmp_path / wire).iterdir()
    assert HUSH not in entry.read_text("utf-8")


def test_a_response_that_repeats_a_token_elsewhere_is_not_recorded(tmp_path: Path) -> None:
    token = "tok-4711-81a2-77f0-9c31"
    of = asked("anthropic", token)
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json={"odd": token}))
    with pytest.raises(CassetteError, match="a credential in the request's body"):
        send(of, Cassette(tmp_path / "a.cassette.json", "rewrite", inner=transport))
    assert list(tmp_path.iterdir()) == []


@joined("layout", ["har", "vcr", "quoted", "literal"])
def test_recordings_of_other_tools_are_scanned_and_converted(layout: str) -> None:
    body, url = asked("openai").call.body.decode(), "https://api.openai.com/v1/responses"
    if layout == "har":
        answer = {"status": 200, "headers": [], "content": {"mimeType": "text/plain", "text": ""}}
        sent = {"method": "POST", "url": url, "headers": [], "postData": {"text": body}}
        sent["postData"] = {"mimeType": "application/json", "text": body}
        text = json.dumps({"log": {"version": "1.2", "entries": [
            {"request": sent, "response": answer}]}})  # fmt: skip
    else:
        request = {"method": "POST", "uri": url, "headers": {}, "body": body}
        response = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": ""}}
        file = {"interactions": [{"request": request, "response": response}], "version": 1}
        style = {"vcr": None, "quoted": '"', "literal": "|"}[layout]
        text = yaml.safe_dump(file, default_style=style)
    assert {hit.kind for hit in scan(text)} == {"credential in a body"}
    converted = convert(text.encode(), "x")
    assert HUSH not in converted.text
    assert "credentials in fields of bodies are replaced by [redacted]" in " ".join(converted.notes)


def test_files_of_bulk_runs_have_no_credential() -> None:
    options = {name: EXTRA[name] for name in ("anthropic", "openai")}
    settings = {"max_tokens": 5, "options": options}
    header = Header(models=["openai:gpt-5.4"], settings=settings)
    line = header_line(header)
    assert HUSH not in line.decode()
    assert json.loads(line)["settings"]["options"]["anthropic"]["mcp_servers"][0]["name"] == "new"
    again = json.loads(line.decode().replace("***", OTHER))["settings"]
    # A run goes on with another token, and over a file of an earlier release.
    refuse_other_run("x", line, Header(models=header.models, settings=again))
    refuse_other_run("x", json.dumps({**json.loads(line), "settings": settings}).encode(), header)
    with pytest.raises(ConfigurationError, match="max_tokens was 5, and is 6"):
        refuse_other_run("x", line, Header(models=header.models, settings={"max_tokens": 6}))
    row = Row(1, "1", json.dumps({"body": EXTRA["openai"]}).encode())
    failed = outcome_of(row, Result(id="1", row=1, error=WireError("no capacity")))
    assert HUSH not in failed.line.decode()
    assert json.loads(failed.line)["line"]["body"]["tools"][0]["headers"] == {"X-Team": "***"}


def test_the_emulator_lists_requests_without_credentials() -> None:
    request = received(1, "POST", "/v1/messages?key=fake", {}, asked("anthropic").call.body)
    assert HUSH not in json.dumps(request.report())
    assert request.report()["body"]["mcp_servers"][0]["authorization_token"] == "***"
    assert repr(request) == f"Received(1, POST /v1/messages?key=***, {len(request.body)} bytes)"


def test_replies_and_snapshots_that_repeat_a_request_have_no_credential() -> None:
    answer = asked("openai").struct
    reply = with_answer(Reply(Message.assistant("At 05:12."), Stop("end")), answer)
    line = outcome_of(Row(1, "1", b"{}"), Result(id="1", row=1, reply=reply)).line
    assert json.loads(line)["response"]["tools"][0]["authorization"] == "***"
    for output in (line.decode(), str(stable(answer))):
        assert HUSH not in output
    assert stable(answer)["tools"][0]["headers"] == {"X-Team": "***"}


@joined("token", ["ek_68f0a1b2c3d4e5f60718", "auth_tokens/68f0a1b2c3d4e5f60718"])
def test_ephemeral_tokens_are_known_by_their_form(token: str) -> None:
    assert known_credential(f"the token {token}")
    assert not known_credential(f"week_{token[3:]}")


def test_a_neutral_request_prints_no_credential_of_its_options() -> None:
    options = {"anthropic": EXTRA["anthropic"], "openai": {"user": "u"}}
    request = Request(messages=(Message.user("When?"),), options=options)
    assert HUSH not in repr(request)
    assert HUSH not in repr(request.__rich_repr__())
    assert "'user': 'u'" in repr(request)
    assert request.options == options


# --- the gate -------------------------------------------------------------------------------------


@joined(
    ("body", "after"),
    [
        (b'{"mcp_servers":[{"authorization_token":"a\\"b"}]}',
         b'{"mcp_servers":[{"authorization_token":"***"}]}'),
        # of every item, at any depth, with white space
        (b'{"a":[{"b":{"mcp_servers":[{"x":[1]},{ "authorization_token" : "a" }]}}]}',
         b'{"a":[{"b":{"mcp_servers":[{"x":[1]},{ "authorization_token" : "***" }]}}]}'),
        (b'{"tools":[{"headers":{"A":"x","B":"","C":null,"D":{"e":1},"A":2}}]}',
         b'{"tools":[{"headers":{"A":"***","B":"","C":null,"D":"***","A":"***"}}]}'),
        (b'{"tools":[{"headers":[["A","x"],"y"],"authorization":7}]}',
         b'{"tools":[{"headers":["***","***"],"authorization":"***"}]}'),
        (b'{"tools":[{"authorization":null,"headers":null}]}', None),
        # another place
        (b'{"authorization":"a","headers":{"A":"x"},"metadata":{"authorization":"b"}}', None),
        (b'{"tools":[{"parameters":{"properties":{"authorization":{"type":"string"}}}}]}', None),
        (b'{"text":"\\"tools\\":[{\\"authorization\\":\\"a\\"}]"}', None),
        # both spellings, and escaped letters
        (b'{"exaAiSearch":{"apiKey":"a"}}', b'{"exaAiSearch":{"apiKey":"***"}}'),
        (b'{"exa_ai_search":{"api_key":"a"}}', b'{"exa_ai_search":{"api_key":"***"}}'),
        (b'{"to\\u006fls":[{"author\\u0069zation":"a"}]}',
         b'{"to\\u006fls":[{"author\\u0069zation":"***"}]}'),
        # events, lines, forms, text around, and bodies that are cut or no UTF-8
        (b'data: {"response":{"tools":[{"authorization":"a"}]}}\n\ndata: [DONE]\n\n',
         b'data: {"response":{"tools":[{"authorization":"***"}]}}\n\ndata: [DONE]\n\n'),
        (b'{"a":1}\n{"body":{"tools":[{"authorization":"a"}]}}\n',
         b'{"a":1}\n{"body":{"tools":[{"authorization":"***"}]}}\n'),
        (b'--b\r\nContent-Disposition: form-data; name="f"\r\n\r\n{"tools":[{"authorization":"a"}]}'
         b"\r\n--b--\r\n",
         b'--b\r\nContent-Disposition: form-data; name="f"\r\n\r\n{"tools":[{"authorization":"***"}'
         b"]}\r\n--b--\r\n"),
        (b'{"tools":[{"authorization":"abc', b'{"tools":[{"authorization":"***"'),
        (b'{"a":"\xff","tools":[{"authorization":"\xfe"}]}',
         b'{"a":"\xff","tools":[{"authorization":"***"}]}'),
        (b"", None),
        (b"\x00\x01{", None),
    ],
)  # fmt: skip
def test_only_values_of_the_fields_change(body: bytes, after: bytes | None) -> None:
    masked = masked_body(body)
    assert masked == (body if after is None else after)
    assert masked_body(masked) == masked
    if after is None:
        assert masked is body or masked == body


def test_values_are_masked_as_their_json_is() -> None:
    for name in WIRES:
        value = json.loads(asked(name).call.body)
        assert masked_value(value) == json.loads(masked_body(asked(name).call.body))
    nested = {"tools": ({"headers": {"A": "x", "B": None}, "authorization": ["y", True]},)}
    assert masked_value(nested) == {
        "tools": ({"headers": {"A": "***", "B": None}, "authorization": ["***", True]},)
    }


def test_a_place_has_its_path() -> None:
    text = 'x {"tools": [1, {"headers": {"A-B": "x"}}]}'
    assert [(path, text[begin:end]) for path, begin, end in field_spans(text)] == [
        (("tools", 1, "headers", "A-B"), '"x"')
    ]


def test_ordinary_headers_are_no_secrets_of_a_response() -> None:
    body = (b'{"tools":[{"headers":{"Accept":"application/json","X-Api-Key":"fake-key-4711"},'
            b'"authorization":"token 4711"}]}')  # fmt: skip
    assert [each.reveal() for each in body_secrets(body)] == ["fake-key-4711", "token 4711"]


def test_a_body_without_the_keys_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wire.core.secret_fields.field_spans", None)
    body = b'{"tools":[{"name":"a"}],"contents":[{"parts":[{"text":"the authorization \\u00e9"}]}]}'
    assert masked_body(body) is body
    assert body_secrets(body) == []


def test_a_deep_or_broken_body_takes_linear_time() -> None:
    # Quadratic, each would take minutes.
    deep = b'{"tools":[{"authorization":"a"}],"x":' + b"[" * 100_000
    assert masked_body(deep) == deep.replace(b'"a"', b'"***"')
    many = b'{"tools":"authorization"}' + b'{"' * 50_000
    assert masked_body(many) == many


def test_the_body_is_not_read_for_a_response(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(body: bytes) -> bytes:
        raise AssertionError("only an output may read the body")

    of = asked("gemini")
    monkeypatch.setattr("wire.core.secret_fields.masked_body", read)
    monkeypatch.setattr("wire.core.secret_fields.may_have_fields", read)
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json={"candidates": []}))
    with client(of, transport) as sending:
        answer: Any = sending.send(of.call)
    assert answer.candidates == []


def test_a_body_in_text_form_is_masked_when_it_is_loaded(tmp_path: Path) -> None:
    lines = ['{"a":1}\n', '{"body":{"tools":[{"authorization":"' + HUSH + '"}]}}\n']
    request = {"method": "POST", "url": "https://api.openai.com/v1/files", "headers": {},
               "body": {"text": lines}}  # fmt: skip
    response = {"status": 200, "headers": {}, "body": {"text": ["ok"]}, "end": "eof"}
    file = {"wire_cassette": 1, "interactions": [{"request": request, "response": response}]}
    [loaded] = load(json.dumps(file).encode(), "x").interactions
    assert body_bytes(loaded.request.body) == "".join(lines).replace(HUSH, "***").encode()


def test_a_text_of_brackets_takes_no_memory_for_each() -> None:
    """166,000 open brackets took 28 MB, 157 times the text."""
    field = '{"tools": [{"headers": {"A-B": "x"}}], "deep": '
    text = field + "[" * 300_000 + field
    tracemalloc.start()
    found = [text[begin:end] for _, begin, end in field_spans(text)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == ['"x"', '"x"']
    assert peak < 10 * len(text)
