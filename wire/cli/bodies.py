"""`wire check` and `wire send`: a request in a file, of a vendor's shape or neutral."""

from __future__ import annotations

import argparse
import datetime
from typing import TYPE_CHECKING, Any

from wire.cli.options import Command, client_of, client_options, json_option, model_options
from wire.cli.options import model_of as model_given
from wire.cli.terminal import read_object, report, write, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wire.core.errors import Violation
    from wire.core.provider import Provider
    from wire.neutral.request import Request


def _file_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="a request as JSON; - is stdin")
    model_options(command)


# --- check ----------------------------------------------------------------------------------------


def _check_options(command: argparse.ArgumentParser) -> None:
    _file_argument(command)
    command.add_argument(
        "--warnings-too", action="store_true", help="exit with 1 for warnings as for errors"
    )
    json_option(command, "the violations")


def _check(chosen: argparse.Namespace) -> int:
    from wire.core.errors import ConfigurationError
    from wire.http.target import target

    provider, model = model_given(chosen)
    data, body = read_object(chosen.file)
    # As a client: with the row's options, and without a key.
    options: Any = client_options(chosen)
    row = row_of_body(target(provider, options).provider, body, model)
    try:
        found = violations(data, body, row, model, str(datetime.date.today()))
    except ConfigurationError as problem:
        raise ConfigurationError(f"{chosen.file}: {problem.message}") from None
    failed = any(each.severity == "error" or chosen.warnings_too for each in found)
    if chosen.json:
        fields = ("severity", "path", "message", "rule", "remedy")
        shown = [{name: getattr(each, name) for name in fields} for each in found]
        write_json({"file": chosen.file, "model": f"{provider}:{model}", "violations": shown})
    elif found:
        for each in found:
            write(f"{each.severity}: {each}")
    else:
        write(f"{chosen.file}: no violation for {provider}:{model}")
    return int(failed)


def row_of_body(row: Provider, body: Mapping[str, Any], model: str) -> Provider:
    """Return the row for the wire of a body.

    Clients of OpenAI's API send bodies of both wires.
    """
    from wire.wires.providers import PROVIDERS, row_of_model

    if is_neutral(body):
        return row_of_model(row, model)
    wire = "openai" if "messages" in body else "openai.responses" if "input" in body else row.wire
    if row.api != "openai" or wire == row.wire:
        return row
    others = (each for each in PROVIDERS.values() if (each.family, each.wire) == (row.family, wire))
    other = next(others, None)
    return row if other is None else row.with_wire(other)


def violations(
    data: bytes, body: Mapping[str, Any], row: Provider, model: str, date: str = ""
) -> list[Violation]:
    """Check a body of its wire, or a neutral request, against the rules of a provider.

    `date` is the day on which it is sent, for the end of its model.
    """
    from wire import anthropic
    from wire.core.bodies import decoded_body
    from wire.core.errors import RuleError
    from wire.wires.contract import WIRES

    wire: Any = WIRES[row.wire]
    # A client too applies the rules of the version that it sends.
    version = {"version": row.version} if row.wire == "anthropic" else {}
    unknown: list[Violation] = []
    request: Any = data
    try:
        if is_neutral(body):
            request = wire.render_request(neutral(body), model, row)
        elif row.wire == "anthropic":  # whose `check` reports neither wrong types nor unknown keys
            request, unknown = decoded_body({**body, "model": model}, anthropic.MessageRequest)
            if request is None:
                return unknown
        return [*wire.check(request, model, row, **version, date=date), *unknown]
    except RuleError as error:
        return list(error.violations)


# --- neutral requests -----------------------------------------------------------------------------


def is_neutral(body: Mapping[str, Any]) -> bool:
    """Return whether a body has the messages of `wire.sessions`, which consist of parts."""
    messages = body.get("messages")
    return isinstance(messages, list) and any(
        isinstance(each, dict) and "parts" in each for each in messages
    )


def neutral(body: Mapping[str, Any]) -> Request:
    """Parse a JSON object, the fields of `wire.Request` or a session file, as a neutral request.

    Raises `ConfigurationError` with the JSON path of what cannot be read, and `RuleError`.
    """
    from wire.core.arguments import suggestion
    from wire.core.errors import ConfigurationError
    from wire.neutral.request import Output, Request, Tool
    from wire.sessions import deserialize_message

    fields = dict(body)
    for name in ("format", "version", "metadata", "notes"):  # of a session file
        fields.pop(name, None)
    for name in fields:
        if name not in Request.__struct_fields__:
            known = Request.__struct_fields__
            remedy = suggestion(name, known) or f"there are {', '.join(known)}"
            raise ConfigurationError(f"{name}: no field of a neutral request; {remedy}")
    messages = []
    for index, message in enumerate(fields.pop("messages")):
        try:
            messages.append(deserialize_message(message))
        except ConfigurationError as problem:
            words = problem.message.removeprefix("message")
            raise ConfigurationError(f"messages[{index}]{words}") from None
    for name, kind in (("tools", Tool), ("output", Output)):
        if name in fields:
            fields[name] = _made(name, kind, fields[name])
    for name in ("stop", "tool_choice"):
        if isinstance(fields.get(name), list):
            fields[name] = tuple(fields[name])
    return Request(messages=tuple(messages), **fields)


def _made(name: str, kind: Any, value: Any) -> Any:
    from wire.core.errors import ConfigurationError

    items = value if isinstance(value, list) else [value]
    made = []
    for item in items:
        try:
            made.append(kind(**item))
        except TypeError:
            known = ", ".join(kind.__struct_fields__)
            raise ConfigurationError(f"{name}: expected an object with {known}") from None
    return tuple(made) if isinstance(value, list) else made[0]


# --- send -----------------------------------------------------------------------------------------


def _send_options(command: argparse.ArgumentParser) -> None:
    _file_argument(command)
    command.add_argument("--stream", action="store_true", help="print each chunk as a line")
    command.add_argument(
        "--unchecked", action="store_true", help="send it even if it breaks a rule"
    )
    json_option(command, "the response, which is JSON anyway,")


def _send(chosen: argparse.Namespace) -> int:
    from wire.core.call import StreamCall
    from wire.core.errors import ConfigurationError, refuse
    from wire.core.memory import encode
    from wire.wires.bodies import raw_call

    provider, model = model_given(chosen)
    data, body = read_object(chosen.file)
    if is_neutral(body):
        raise ConfigurationError(
            f"{chosen.file}: a neutral request; send takes the body of the vendor's API. "
            "`wire check` checks a neutral request, `wire chat --session` continues a session"
        )
    with client_of(chosen, provider) as client:
        row = row_of_body(client.row, body, model)
        found = [] if chosen.unchecked else violations(data, body, row, model)
        refuse(found)
        for each in found:
            report(f"warning: {each}")
        call = raw_call(row, model, data, body, stream=chosen.stream)
        if isinstance(call, StreamCall):
            with client.stream(call) as chunks:
                for chunk in chunks:
                    write_json(chunk.raw or encode(chunk))
        else:
            answer = client.send(call)
            write_json(answer.raw or encode(answer))
    return 0


COMMANDS = (
    Command(
        "check",
        "check a request against the rules of a provider, without sending it",
        _check_options,
        _check,
    ),
    Command(
        "send",
        "send the body of a vendor's API and print the response as JSON",
        _send_options,
        _send,
    ),
)
