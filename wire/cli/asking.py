"""`wire ask`, `wire preview` and `wire count`: one prompt, sent, shown or measured."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wire.cli.options import Command, chat_of, decimal, json_option, model_options, whole
from wire.cli.terminal import (
    is_terminal,
    piped_text,
    read_object,
    report,
    write,
    write_json,
)

if TYPE_CHECKING:
    from wire.chat.chat import Chat
    from wire.neutral.messages import Event, Media, Reply

_MEDIA = ("image/", "audio/", "video/", "application/pdf")


def _prompt_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "prompt", nargs="*", metavar="PROMPT", help="the prompt; text of stdin is added to it"
    )
    model_options(command)
    command.add_argument("--system", metavar="TEXT", help="the system prompt")
    command.add_argument(
        "--file",
        metavar="PATH",
        action="append",
        default=[],
        help="a picture, sound, video, PDF or text to send with the prompt; may be repeated",
    )
    command.add_argument(
        "--output", metavar="SCHEMA.json", help="a JSON Schema that the answer must match"
    )
    command.add_argument(
        "--max-tokens", type=whole(1), metavar="N", help="longest answer, in tokens"
    )
    command.add_argument(
        "--temperature", type=decimal, metavar="X", help="0 for the most probable answer"
    )
    command.add_argument("--effort", metavar="LEVEL", help="reasoning: none, low, medium, high")


def _chat(chosen: argparse.Namespace) -> Chat:
    names = ("system", "max_tokens", "temperature", "effort")
    return chat_of(chosen, {name: getattr(chosen, name) for name in names})


def _prompt(chosen: argparse.Namespace) -> list[str | Media]:
    """Return the files, then the prompt of the arguments and of stdin.

    Raises `ConfigurationError` if there is nothing to send.
    """
    from wire.core.errors import ConfigurationError

    text = "\n\n".join(filter(None, (" ".join(chosen.prompt), piped_text())))
    parts: list[str | Media] = [*map(_file, chosen.file), *filter(None, (text,))]
    if not parts:
        raise ConfigurationError("PROMPT: missing; give it as arguments or on stdin")
    return parts


def _file(path: str) -> str | Media:
    from wire.core.errors import ConfigurationError
    from wire.core.files import read_whole
    from wire.neutral.media_types import HEAD_BYTES, media_type_of
    from wire.neutral.messages import Media

    try:
        data = read_whole(path, ConfigurationError)
    except ConfigurationError as problem:
        raise ConfigurationError(f"file: {problem.message}") from None
    media_type = media_type_of(path, data[:HEAD_BYTES])
    if media_type.startswith(_MEDIA):
        return Media(data=data, media_type=media_type, name=Path(path).name)
    try:
        return f"{Path(path).name}:\n{data.decode('utf-8-sig')}"
    except UnicodeDecodeError:
        expected = "text in UTF-8, or the name of a picture, sound, video or PDF"
        raise ConfigurationError(f"file: {path}: expected {expected}") from None


def _schema(chosen: argparse.Namespace) -> dict[str, Any] | None:
    from wire.core.errors import ConfigurationError

    if chosen.output is None:
        return None
    try:
        return read_object(chosen.output)[1]
    except ConfigurationError as problem:
        raise ConfigurationError(f"output: {problem.message}") from None


# --- ask ------------------------------------------------------------------------------------------


def _ask_options(command: argparse.ArgumentParser) -> None:
    _prompt_options(command)
    command.add_argument(
        "--stream",
        action=argparse.BooleanOptionalAction,
        help="print the answer as it arrives (default: on a terminal)",
    )
    json_option(command, "the answer with its usage, or with --stream its events,")


def _ask(chosen: argparse.Namespace) -> int:
    from wire.core.errors import ConfigurationError
    from wire.neutral.reply_json import reply_json

    schema = _schema(chosen)
    if chosen.stream and schema is not None:
        raise ConfigurationError("stream: an answer of --output is printed when it is complete")
    streams = chosen.stream
    if streams is None:
        streams = is_terminal() and schema is None and not chosen.json
    with _chat(chosen) as chat:
        prompt = _prompt(chosen)
        if streams:
            with chat.stream(prompt) as events:
                for event in events:
                    write_event(event, json=chosen.json)
                reply = events.reply()
            if not chosen.json:
                write("")
        else:
            reply = chat.ask(prompt, output=schema)
            if chosen.json:
                write_json(reply_json(reply))
            elif schema is not None:
                write_json(reply.output)
            else:
                write(reply.text)
    if not chosen.json:
        report_notes(reply)
    return 0


def write_event(event: Event, *, json: bool) -> None:
    """Write an event of a stream: its text, or a line of JSON."""
    from wire.neutral.messages import Done, Restart, TextDelta
    from wire.neutral.reply_json import reply_json

    if json:
        kind = type(event).__name__
        names = type(event).__match_args__
        own = {name: getattr(event, name) for name in names}
        fields = reply_json(event.reply) if isinstance(event, Done) else own
        write_json({"event": kind, **fields})
    elif isinstance(event, TextDelta):
        write(event.text, end="")
    elif isinstance(event, Restart):
        write("\n[the host begins the answer anew]\n", end="")


def report_notes(reply: Reply, known: set[str] | None = None) -> None:
    """Report on stderr what was changed or dropped, and an answer that is cut short.

    Notes that are `known` were reported for an earlier answer; the others are added to them.
    """
    known = set() if known is None else known
    for note in map(str, reply.notes):
        if note not in known:
            known.add(note)
            report(f"note: {note}")
    if reply.stop.reason not in ("end", "tool_calls"):
        report(f"note: the answer ended with {reply.stop.raw or reply.stop.reason}")


# --- preview and count ----------------------------------------------------------------------------


def _preview_options(command: argparse.ArgumentParser) -> None:
    _prompt_options(command)
    command.add_argument("--stream", action="store_true", help="the request of a stream")
    command.add_argument(
        "--curl", action="store_true", help="a command line of curl, with the variable of the key"
    )
    json_option(command, "method, URL, headers and body")


def _preview(chosen: argparse.Namespace) -> int:
    with _chat(chosen) as chat:
        build = chat.stream_call if chosen.stream else chat.call
        call = build(_prompt(chosen), output=_schema(chosen))
        preview = chat.client.preview(call)
    if chosen.json:
        import msgspec

        body = msgspec.Raw(preview.body)
        write_json(
            {
                "method": preview.method,
                "url": preview.url,
                "headers": preview.headers,
                "body": body,
            }
        )
    else:
        write(preview.curl if chosen.curl else str(preview))
    for note in call.notes:
        report(f"note: {note}")
    return 0


def _count_options(command: argparse.ArgumentParser) -> None:
    _prompt_options(command)
    command.add_argument(
        "--estimate", action="store_true", help="estimate it here, without a request"
    )
    json_option(command, "the number")


def _count(chosen: argparse.Namespace) -> int:
    from wire.core.errors import ConfigurationError
    from wire.history import estimate_request

    with _chat(chosen) as chat:
        if chosen.estimate:
            tokens, is_estimate = estimate_request(chat.request(_prompt(chosen))), True
        else:
            count = chat.count(_prompt(chosen))
            if not count.exact:
                raise ConfigurationError(
                    f"model: {chat.provider} has no endpoint that counts tokens; use --estimate"
                )
            tokens, is_estimate = count.total, False
    if chosen.json:
        write_json({"tokens": tokens, "estimated": is_estimate})
    else:
        write(str(tokens))
    return 0


COMMANDS = (
    Command("ask", "ask a model once and print its answer", _ask_options, _ask),
    Command("preview", "show the request that `ask` would send", _preview_options, _preview),
    Command("count", "count the tokens of a prompt", _count_options, _count),
)
