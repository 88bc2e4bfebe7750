"""`wire probe`: ten small calls that find out what a host of chat completions accepts."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from wire.cli.options import Command, host_options, json_option
from wire.cli.terminal import write, write_json

if TYPE_CHECKING:
    from wire.http.client import Client

Outcome = Literal["yes", "no", "refused"]

_MAX_TOKENS = 256
_USER = {"role": "user", "content": "Answer with one word: which color has the sky?"}
_TIDE = {
    "type": "function",
    "function": {
        "name": "get_tide",
        "description": "When the tide is high in a port.",
        "parameters": {
            "type": "object",
            "properties": {"port": {"type": "string", "enum": ["Brest", "Calais"]}},
            "required": ["port"],
        },
    },
}
_SCHEMA = {
    "type": "object",
    "properties": {"color": {"type": "string"}},
    "required": ["color"],
    "additionalProperties": False,
}


def _user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


class Probe(NamedTuple):
    """One call: what it finds out, the fields of its request, and how its answer is judged."""

    name: str
    fields: Mapping[str, Any]
    shows: Callable[[Any], bool]
    """Whether an answer shows that the host did it; a host may ignore a field."""
    path: str = ""
    """The field, as `Dialect.refuses` names it, if a refusal belongs into the row."""
    streams: bool = False


def _has_text(answer: Any) -> bool:
    return bool(answer.choices)


def _text(answer: Any) -> str:
    return next((each.message.text or "" for each in answer.choices or () if each.message), "")


def _calls(answer: Any) -> int:
    return sum(len(each.message.tool_calls or ()) for each in answer.choices if each.message)


def _fits(answer: Any) -> bool:
    try:
        value = json.loads(_text(answer))
    except ValueError:
        return False
    return isinstance(value, dict) and isinstance(value.get("color"), str)


PROBES = (
    Probe("answer", {}, _has_text),
    Probe("stream", {}, _has_text, streams=True),
    Probe(
        "usage in streams",
        {"stream_options": {"include_usage": True}},
        lambda answer: answer.usage is not None,
        "stream_options",
        streams=True,
    ),
    Probe(
        "system role",
        {"messages": [{"role": "system", "content": "Be brief."}, _USER]},
        _has_text,
        "messages[].role=system",
    ),
    Probe(
        "developer role",
        {"messages": [{"role": "developer", "content": "Be brief."}, _USER]},
        _has_text,
    ),
    Probe(
        "stop",
        {"messages": _user("Repeat exactly: red green blue"), "stop": ["green"]},
        lambda answer: "green" not in _text(answer),
        "stop",
    ),
    Probe("max_tokens", {"max_tokens": _MAX_TOKENS}, _has_text, "max_tokens"),
    Probe(
        "tools",
        {"messages": _user("When is high tide in Brest?"), "tools": [_TIDE]},
        lambda answer: _calls(answer) > 0,
        "tools[].function",
    ),
    Probe(
        "parallel calls",
        {"messages": _user("When is high tide in Brest and in Calais?"), "tools": [_TIDE]},
        lambda answer: _calls(answer) > 1,
    ),
    Probe(
        "structured output",
        {
            "messages": _user("The color of the sky as JSON."),
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "sky", "schema": _SCHEMA, "strict": True},
            },
        },
        _fits,
        "response_format=json_schema",
    ),
)


class Finding(NamedTuple):
    """The result of one call."""

    name: str
    outcome: Outcome
    words: str = ""
    """The host's words, or what was expected of its answer."""


def _options(command: argparse.ArgumentParser) -> None:
    host_options(command)
    command.add_argument(
        "--model", metavar="NAME", help="the model to ask (default: the first that the host lists)"
    )
    command.add_argument(
        "--name",
        metavar="NAME",
        default="",
        help="name of the row; the key is read from NAME_API_KEY (default: the name of the host)",
    )
    json_option(command, "the findings and the row")


def _probe(chosen: argparse.Namespace) -> int:
    from wire.core.errors import ConfigurationError
    from wire.http.client import Client

    if not (chosen.base_url or chosen.name):
        raise ConfigurationError("base_url: missing; such as http://127.0.0.1:8080/v1")
    name = chosen.name or default_name(chosen.base_url)
    url = chosen.base_url or None
    # An error is what a probe looks for, so no call is repeated.
    with Client(name, base_url=url, timeouts=chosen.timeout, retry=None) as client:
        described = client.describe()
        place = {
            each: (described[each], described[f"{each}_source"])
            for each in client.row.options
            if each in described
        }
        if client.wire != "openai":
            raise ConfigurationError(f"name: {name} speaks {client.wire}; probe asks chat hosts")
        model = chosen.model or first_model(client)
        findings: list[Finding] = []
        slots: list[str] = []
        if place and not chosen.json:
            write(f"{'base URL':<22} {described['base_url']}")
            for option, (value, source) in place.items():
                write(f"{option:<22} {value} ({source})")
        for probe in PROBES:
            findings.append(ask(client, model, probe, slots))
            if not chosen.json:
                if probe is PROBES[0]:
                    _write_credentials(client)
                found = findings[-1]
                write(f"{found.name:<22} {found.outcome:<8} {found.words}".rstrip())
        row, described = row_of(client, findings, slots), client.describe()
    if chosen.json:
        found_all = [each._asdict() for each in findings]
        host = {"base_url": described["base_url"], "options": place, "key": described["key"]}
        names = ("credentials", "credentials_looked_at")
        host |= {name: described[name] for name in names if name in described}
        write_json({"host": host, "model": model, "findings": found_all, "row": row})
    else:
        write(f"\n{row}")
    return 0


def _write_credentials(client: Client) -> None:
    """Say which source had credentials, and where it was looked before; they are known now."""
    described = client.describe()
    if "credentials" in described:
        write(f"{'credentials':<22} {described['credentials']}")
    for name, told in described.get("credentials_looked_at", {}).items():
        write(f"{'':<22} {name}: {told}")


def default_name(base_url: str) -> str:
    """Return the name of a row for a URL.

    >>> default_name("https://llm.example/v1"), default_name("http://127.0.0.1:8080/v1")
    ('llm.example', 'local')
    """
    from wire.core.hosts import origin_of

    try:
        origin = origin_of(base_url)
    except ValueError:
        return "local"  # the client refuses the URL
    named = origin.host[-1:].isalpha() and ":" not in origin.host and not origin.is_loopback
    return origin.host if named else "local"


def first_model(client: Client) -> str:
    """Return the first model of the host's list.

    Raises `ConfigurationError` if it has none.
    """
    from wire.core.errors import ConfigurationError, NotFoundError

    try:
        first = next(client.models(), None)
    except NotFoundError:
        first = None
    if first is None:
        raise ConfigurationError("model: missing; the host lists no models")
    return first.id or "unnamed"


def ask(client: Client, model: str, probe: Probe, slots: list[str]) -> Finding:
    """Make the call of a probe. Keys of reasoning in its answer are added to `slots`.

    Raises the error of a host that does not answer, or that takes no key: no call would succeed.
    """
    import msgspec

    from wire.core.errors import APIError, AuthError, RateLimitError, StreamError
    from wire.wires.bodies import raw_call

    body = {"model": model, "messages": [_USER], **probe.fields}
    data = msgspec.json.encode(body)
    call: Any = raw_call(client.row, model, data, body, stream=probe.streams)
    try:
        if probe.streams:
            with client.stream(call) as chunks:
                answer = chunks.result()
        else:
            answer = client.send(call)
    except (AuthError, RateLimitError):
        raise
    except (APIError, StreamError) as error:
        if probe is PROBES[0]:
            raise
        return Finding(probe.name, "refused", error.message)
    for choice in answer.choices or ():
        for key in ("reasoning_content", "reasoning"):
            present = choice.message is not None and getattr(choice.message, key, None)
            if present and key not in slots:
                slots.append(key)
    done = probe.shows(answer)
    return Finding(probe.name, "yes" if done else "no", "" if done else "answered without it")


def row_of(client: Client, findings: list[Finding], slots: list[str]) -> str:
    """Write the row of a host as Python, for `wire.openai.chat_host`."""
    outcome = {each.name: each for each in findings}
    dialect: list[str] = []
    refusals = [
        f"Refusal({_literal(probe.path)}, {_literal(outcome[probe.name].words)}"
        + (", ignored=True" if outcome[probe.name].outcome == "no" else "")
        + "),"
        for probe in PROBES
        # A model that does not call a tool has not ignored it.
        if probe.path
        and (
            outcome[probe.name].outcome == "refused"
            or (outcome[probe.name].outcome == "no" and not probe.path.startswith("tools"))
        )
    ]
    if refusals:
        dialect.append("refuses=(\n" + "".join(f"            {each}\n" for each in refusals))
        dialect[-1] += "        ),"
    if outcome["developer role"].outcome == "yes":
        dialect.append("developer_role=True,")
    if slots:
        dialect.append(f"reasoning_slots=({' '.join(f'{_literal(slot)},' for slot in slots)}),")
    inner = "".join(f"        {each}\n" for each in dialect)
    row, url = client.row, client.describe()["base_url"]
    return (
        "chat_host(\n"
        + "".join(f"    {_literal(each)},\n" for each in (row.name, url, row.key_variable))
        + (f"    Dialect(\n{inner}    ),\n" if inner else "")
        + ("" if row.key_required else "    key_required=False,\n")
        + ")"
    )


def _literal(text: str) -> str:
    """Write a text as Python, in double quotes."""
    return json.dumps(text, ensure_ascii=False)


COMMANDS = (
    Command(
        "probe",
        "find out with ten small calls what a host of chat completions accepts",
        _options,
        _probe,
    ),
)
