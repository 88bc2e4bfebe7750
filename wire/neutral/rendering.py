"""Converts a wire's own call to a neutral one, for all wires.

A wire renders the request as its own struct. This module merges the request's `options` into it,
applies the wire's rules, and makes the call return replies and events.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar, cast

import msgspec

from wire.catalogue.abilities import longest_output
from wire.core.bodies import merged_options, unknown_keys, with_options
from wire.core.call import Call, StreamCall, TextSource
from wire.core.decoders import decoder
from wire.core.errors import (
    ConfigurationError,
    RuleError,
    Violation,
    WireError,
    convert_partial,
    refuse,
)
from wire.core.json_values import json_text
from wire.core.memory import Note, WireStruct, key_path, notes
from wire.core.provider import Provider
from wire.neutral.messages import Event, Message, Reply, Text, checked, with_answer
from wire.neutral.request import JSON_WORDS, Output, Request, Tool, cuts

A = TypeVar("A", bound=WireStruct)
Built = TypeVar("Built", bound=WireStruct)
AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])

SCHEMA_WORDS = "Answer with JSON that fits this schema: "
"""Precedes the schema in the system text, if the host or the model accepts no schema."""


def schema_words(output: Output) -> str:
    """Return the text that asks for an output, where the host accepts no schema or no JSON mode."""
    return (
        SCHEMA_WORDS + json_text(output.described, "output.schema") if output.schema else JSON_WORDS
    )


def says_json(request: Request) -> bool:
    """Return whether a text of the request has the word JSON, which OpenAI's mode demands."""
    parts = (part for message in request.messages for part in message.parts)
    texts = (request.system, *(part.text for part in parts if isinstance(part, Text)))
    return any("json" in text.lower() for text in texts)


def closed_objects(schema: Mapping[str, Any], path: str, notes: list[Note]) -> dict[str, Any]:
    """Copy a schema; each object without a rule for further properties then refuses them.

    >>> closed_objects({"type": "object", "properties": {}}, "tools[0].parameters", [])
    {'type': 'object', 'properties': {}, 'additionalProperties': False}

    Strict mode requires it. Each change is added to `notes`.
    """
    copy = dict(schema)
    is_object = copy.get("type") == "object" or "properties" in copy
    if is_object and "additionalProperties" not in copy:
        copy["additionalProperties"] = False
        notes.append(Note(path, "added additionalProperties: false, which strict mode requires"))
    for key in ("properties", "$defs", "definitions"):
        inner = copy.get(key)
        if isinstance(inner, Mapping):
            copy[key] = {
                name: _closed_inner(each, f"{path}.{key}.{name}", notes)
                for name, each in inner.items()
            }
    if "items" in copy:
        copy["items"] = _closed_inner(copy["items"], f"{path}.items", notes)
    for key in ("anyOf", "allOf", "oneOf"):
        inner = copy.get(key)
        if isinstance(inner, (list, tuple)):
            copy[key] = [
                _closed_inner(each, f"{path}.{key}[{index}]", notes)
                for index, each in enumerate(inner)
            ]
    return copy


def _closed_inner(schema: Any, path: str, notes: list[Note]) -> Any:
    return closed_objects(schema, path, notes) if isinstance(schema, Mapping) else schema


def sent_functions(
    request: Request,
    model: str,
    notes: list[Note],
    search: str | None = None,
    models: str | None = None,
) -> tuple[list[tuple[str, Tool]], frozenset[str]]:
    """Return the functions to send, with their paths, and the names of those to mark as deferred.

    `search` is the name of the host's own tool search, and `models` those that have it.
    """
    functions = [
        (f"tools[{index}]", tool)
        for index, tool in enumerate(request.tools)
        if isinstance(tool, Tool)
    ]
    if not any(tool.deferred for _, tool in functions):
        return functions, frozenset()
    from wire.neutral.deferred import searched  # few requests have deferred tools
    from wire.neutral.server_tools import takes

    has_search = models is not None and takes(models, model)
    return searched(request, functions, notes, search if has_search else None)


def note_custom(tool: Tool, path: str, notes: list[Note]) -> None:
    """Append a note that a custom tool is sent as a function."""
    grammar = "; its grammar is in the description of the parameter, and not enforced"
    words = f"sent as a function with one text as input{grammar if tool.grammar else ''}"
    notes.append(Note(f"{path}.kind", words))


def no_response(path: str) -> Note:
    """Return the note of a tool whose schema of results is not sent."""
    return Note(f"{path}.response", "not sent: the wire has no schema of results")


def transcript_note(path: str) -> Note:
    """Return the note of a sound of the assistant that is sent as text."""
    return Note(path, "sent as its transcript: this wire has no field for sounds of the assistant")


def note_names(messages: Iterable[tuple[str, Message]], notes: list[Note]) -> None:
    """Append a note for each message, with its path, whose name cannot be sent."""
    notes += [
        Note(f"{path}.name", f"not sent: {message.name!r}; write it in the text")
        for path, message in messages
        if message.name
    ]


Check = Callable[[Any, Provider], list[Violation]]
"""A wire's `check` with the model bound: request struct and provider to violations."""


def wire_call(
    built: Built,
    options: Mapping[str, Mapping[str, Any]],
    provider: Provider,
    make: Callable[[Built], AnyCall],
    check: Check,
) -> AnyCall:
    """Build the wire's own call for a rendered request, and check it for `provider`.

    `options` are those of the neutral request: name of a provider or a wire to further keys of the
    body. The notes of the call are those of rendering and the warnings of `check`. Raises
    `ConfigurationError` for an option that the host does not take, `RuleError` for a request that
    the provider refuses, with its preview, which has no host. If the call is sent to another
    provider, it is checked again.
    """
    extra: dict[str, Any] = {}
    request, added = built, list[Note]()
    if options:  # few requests have any
        extra = merged_options(options, provider.option_names, built)
        added = _checked_options(options, extra, built, provider)
        request = with_options(built, extra)
    raw: Any = make(request)
    try:
        # Options are keys of the body, not paths into it.
        body_extra = {key_path("", key): value for key, value in extra.items()}
        raw = raw.replace(body_extra=body_extra) if extra else raw
    except RuleError as error:
        path = f"options.{provider.name}"
        violations = [
            msgspec.structs.replace(each, path=each.path.replace("body_extra", path, 1))
            for each in error.violations
        ]
        raise RuleError(violations=violations, provider=provider.name) from None
    # Rules expect values of the right types, which building the body has checked.
    violations = check(request, provider)
    try:
        refuse(violations, provider=provider.name)
    except RuleError as error:
        error.preview = raw.preview()
        raise
    warnings = (Note(each.path, f"warning: {each.message}") for each in violations)
    call = msgspec.structs.replace(
        raw.judge(provider),
        host_rules=functools.partial(
            _check_other_provider, provider, check, request, "store" not in extra
        ),
        notes=(*notes(built), *added, *warnings),
    )
    return cast(AnyCall, call)


def _checked_options(
    options: Mapping[str, Mapping[str, Any]],
    extra: Mapping[str, Any],
    built: WireStruct,
    provider: Provider,
) -> list[Note]:
    """Return notes of options that nobody reads for sure.

    Raises `ConfigurationError` for a key that the host is known not to take, with its remedy.
    """
    names = provider.option_names
    if options.keys().isdisjoint(names) and any(options.values()):
        others = ", ".join(map(str, options))
        return [Note("options", f"not sent: they are for {others}, not for {names[-1]}")]
    added = []
    for path, known in unknown_keys(extra, type(built)):
        from wire.catalogue.settings import own_keys, where_key_is  # few options are unknown

        own = own_keys(provider.wire, provider.family)
        if path in (own or ()):
            continue
        key, top = path.rpartition(".")[2], path.partition(".")[0]
        at = next(each for each in reversed(names) if top in options.get(each, ()))
        if own is None:
            added.append(Note(f"options.{at}.{path}", "sent, and not a key of the reference"))
            continue
        remedy = where_key_is(key, provider.wire, known, getattr(built, "model", None) or "")
        raise ConfigurationError(
            f"options.{at}.{path}: {provider.name} takes no such key; {remedy}",
            provider=provider.name,
        )
    return added


def _check_other_provider(
    rendered_for: Provider,
    check: Check,
    request: Any,
    is_default: bool,
    call: AnyCall,
    provider: Provider,
) -> AnyCall:
    """Apply the rules of `provider`, unless the call was rendered and checked for it.

    `is_default`: `store: false` was added for the host of `rendered_for`. Others may not know it.
    """
    if provider == rendered_for:
        return call
    if is_default and getattr(request, "store", None) is False:
        from wire.catalogue.settings import setting  # few calls go to another host

        if not setting("store").is_taken(provider.wire, provider.name):
            request = msgspec.structs.replace(request, store=None)
            keys = decoder(dict[str, msgspec.Raw]).decode(call.body)
            del keys["store"]
            call = msgspec.structs.replace(call, body=msgspec.json.encode(keys))
    refuse(check(request, provider), provider=provider.name)
    return call


class ReplyReader(msgspec.Struct, Generic[A], frozen=True):
    """Converts the responses to one call to replies, with the functions of its wire."""

    parse_reply: Callable[..., Reply]
    events: Callable[[], TextSource]
    notes: tuple[Note, ...]
    stops: tuple[str, ...] = ()
    """The request's stop sequences. Replies are cut at them if `cuts(notes)`."""

    def whole_call(self, raw: Call[A]) -> Call[Reply]:
        """Return the same call with a `Reply` as its result."""
        call: Any = raw
        return cast(
            Call[Reply],
            msgspec.structs.replace(call, parse=functools.partial(self._parsed, raw.parse)),
        )

    def event_call(self, raw: StreamCall[Any, A]) -> StreamCall[Event, Reply]:
        """Return the same call with a stream of events and a `Reply` as its result."""
        call, events = cast(Any, raw), self.events
        if self._cuts:
            from wire.neutral.stops import StopEvents  # only few hosts need it

            events = functools.partial(StopEvents, events, self.stops)
        return cast(
            StreamCall[Event, Reply],
            msgspec.structs.replace(call, events=events, convert=self._reply),
        )

    @property
    def _cuts(self) -> bool:
        return bool(self.stops) and cuts(self.notes)

    def _parsed(self, parse: Callable[[bytes], A], body: bytes) -> Reply:
        try:
            answer = parse(body)
        except WireError as error:
            convert_partial(error, self._reply)
            raise
        return checked(self._reply(answer))

    def _reply(self, answer: Any, error: WireError | None = None) -> Reply:
        # Not `checked`: a blocked reply is an error only when its stream has ended.
        reply = self.parse_reply(answer, error=error)
        if self._cuts:
            from wire.neutral.stops import cut  # only few hosts need it

            reply = cut(reply, self.stops)
        return with_answer(
            msgspec.structs.replace(reply, notes=(*self.notes, *reply.notes)), answer
        )


def within_longest(
    max_tokens: int | None, row: Provider, model: str, notes: list[Note], least: int = 1
) -> int | None:
    """Return the number of output tokens to ask for: at most what the model can write, and at least
    what the host takes.

    A change is added to `notes`.
    """
    if max_tokens is not None and max_tokens < least:
        words = f"changed from {max_tokens} to {least}, the least that {row.name} takes"
        notes.append(Note("max_tokens", words))
        return least
    longest = None if max_tokens is None else longest_output(row.family, model, max_tokens)
    if max_tokens is None or longest is None or max_tokens <= longest:
        return max_tokens
    words = f"changed from {max_tokens} to {longest}, the most that {model} can write"
    notes.append(Note("max_tokens", words))
    return longest
