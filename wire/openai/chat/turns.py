"""Turns of a conversation as the `messages` of a request that a host accepts.

`messages(...)` sends a received message back with the bytes in which it came, where the host
accepts that. Otherwise it removes what the host would refuse: reasoning under a key that the host
does not read, keys of other hosts, ids of another form. One message answers each call, in the order
of the calls (O2). `wire.notes` of the list reports what was changed, added or removed.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.bodies import texts_only
from wire.core.decoders import decoder
from wire.core.errors import HistoryError, RuleError, Violation
from wire.core.facts import facts_of
from wire.core.json_values import checked
from wire.core.lenient import decoded, portable
from wire.core.memory import Note, Noted, encode, raw_of
from wire.neutral.ids import LegalIds, made_id
from wire.openai.chat.tool_calls import present
from wire.openai.chat.types import ChatCompletion, Choice, ContentPart, Message, ToolCall
from wire.openai.common.arguments import as_object
from wire.openai.common.dialect import PLAIN, Dialect

Turn: TypeAlias = "str | Message | Choice | ChatCompletion | Sequence[Turn]"

RawFields: TypeAlias = dict[str, msgspec.Raw]


@checked_arguments()
def messages(*turns: Turn, system: str | None = None, dialect: Dialect = PLAIN) -> Noted[Message]:
    """Build the messages of a request from turns: user texts, messages, received responses, or
    lists of these.

    >>> [
    ...     message.role
    ...     for message in messages(
    ...         "Hi", Message(role="assistant", content="Hello."), "And now?", system="Be brief."
    ...     )
    ... ]
    ['system', 'user', 'assistant', 'user']

    `dialect` is that of the provider that gets the request (`client.dialect`). Without one, only
    the keys that every host accepts are sent back of a received message. A call without a result
    gets the result `{"error":"no result"}`; a result without a call becomes a user message.

    Raises `HistoryError` if the last turn has calls without results, `RuleError` for a value that
    is not a turn.
    """
    flat = [Message(role="system", content=system)] if system else []
    flat += _flat(turns, "turns")
    return arranged(flat, dialect)


def arranged(flat: Sequence[Message], dialect: Dialect) -> Noted[Message]:
    """Arrange messages that have a role and are valid as JSON, as `messages` does."""
    if not flat:
        raise HistoryError(
            violations=[Violation("messages", "a conversation needs at least one turn", "O1")]
        )
    notes: list[Note] = []
    ids = LegalIds(dialect.call_ids)
    rendered: list[Message] = []
    position = 0
    while position < len(flat):
        message = flat[position]
        position += 1
        path = f"messages[{len(rendered)}]"
        if message.role == "tool":
            rendered.append(_as_user_text(message, path, notes))
            continue
        if message.role != "assistant" or _is_own_text(message):
            rendered.append(message)
            continue
        results = []
        while position < len(flat) and flat[position].role == "tool":
            results.append(flat[position])
            position += 1
        pairs, unclaimed = _paired(message, results)
        # At the end the caller can still run the tool, so there a missing result is an error.
        # Before the end it is too late: without a placeholder hosts refuse every request (O2).
        if pairs and position == len(flat) and any(result is None for _, result in pairs):
            unanswered = next(
                _function_name(call)
                for (call, (_, result)) in zip(message.tool_calls or (), pairs, strict=True)
                if result is None
            )
            raise HistoryError(
                violations=[Violation(path, f"its call of {unanswered} has no result", "O2")]
            )
        sent = _assistant_message(message, [ids.legal(id) for id, _ in pairs], dialect, path, notes)
        if sent is None:
            notes.append(Note(path, "left out: a message with neither content nor calls"))
        else:
            rendered.append(sent)
        for id, result in pairs:
            if result is None:
                notes.append(
                    Note(f"messages[{len(rendered)}]", f"added: the call {id} had no result")
                )
                result = Message(role="tool", content='{"error":"no result"}')
            rendered.append(
                result
                if result.tool_call_id == ids.legal(id)
                else msgspec.structs.replace(result, tool_call_id=ids.legal(id))
            )
        rendered += [
            _as_user_text(each, f"messages[{len(rendered) + n}]", notes)
            for n, each in enumerate(unclaimed)
        ]
    return Noted(rendered, notes)


# --- turns and pairs ------------------------------------------------------------------------------


def _flat(turn: Any, path: str) -> Iterator[Message]:
    if isinstance(turn, str):
        yield Message(role="user", content=turn)
    elif isinstance(turn, Message):
        if turn.role is None:
            raise RuleError(violations=[Violation(f"{path}.role", "a message needs a role")])
        # Checked here, because `_assistant_message` encodes it, and msgspec encodes NaN as null.
        yield turn if needs_no_check(turn) else checked(turn, path)
    elif isinstance(turn, Choice):
        if turn.message is None:
            raise RuleError(violations=[Violation(path, "this choice has no message")])
        yield (
            turn.message
            if turn.message.role is not None
            else msgspec.structs.replace(turn.message, role="assistant")
        )
    elif isinstance(turn, ChatCompletion):
        if not turn.choices:
            raise RuleError(violations=[Violation(path, "this response has no choices")])
        yield from _flat(turn.choices[0], path)
    elif isinstance(turn, (list, tuple)):
        for index, each in enumerate(turn):
            yield from _flat(each, f"{path}[{index}]")
    else:
        raise RuleError(
            violations=[
                Violation(
                    path, f"expected a text, a Message or a response, not {type(turn).__name__}"
                )
            ]
        )


def needs_no_check(message: object) -> bool:
    """Return whether the message was received, or has texts only: then JSON can encode it.

    Long histories mostly consist of such messages, and walking through their values would be slow.
    """
    if type(message) is not Message:
        return False
    return raw_of(message) is not None or _has_texts_only(message)


_has_texts_only = texts_only(Message, "role", "content", "name", "tool_call_id")


def _is_own_text(message: Message) -> bool:
    """Return whether the message has only a text and was not received: no host refuses it then."""
    return bool(message.content) and raw_of(message) is None and _has_texts_only(message)


def _paired(
    message: Message, results: Sequence[Message]
) -> tuple[list[tuple[str, Message | None]], list[Message]]:
    """Return the id and the result of each call, and the results without a call.

    A call without an id takes the next result whose id no other call has.
    """
    ids = [present(call.id) for call in message.tool_calls or ()]
    # Lists, because some hosts give several calls one id: their results are taken in order.
    by_id: dict[str, list[Message]] = {id: [] for id in ids if id is not None}
    unclaimed: list[Message] = []
    for result in results:
        by_id.get(result.tool_call_id or "", unclaimed).append(result)
    pairs: list[tuple[str, Message | None]] = []
    for position, id in enumerate(ids):
        candidates = unclaimed if id is None else by_id[id]
        own_result = candidates.pop(0) if candidates else None
        new_id = made_id(encode(message), position) if id is None else id
        given_id = own_result and present(own_result.tool_call_id)
        pairs.append((id or given_id or new_id, own_result))
    return pairs, [*(result for results in by_id.values() for result in results), *unclaimed]


def _as_user_text(message: Message, path: str, notes: list[Note]) -> Message:
    notes.append(
        Note(
            path,
            f"the result {message.tool_call_id} answers no call and was sent as a user message",
        )
    )
    return Message(role="user", content=message.content)


def _function_name(call: ToolCall) -> str | None:
    fields = call.function or call.custom
    return fields.name if fields is not None else None


# --- assistant messages ---------------------------------------------------------------------------

_REASONING_SLOTS = ("reasoning_content", "reasoning", "reasoning_text", "reasoning_details")
_MESSAGE_KEYS = ("role", "content", "tool_calls", "function_call", "prefix", "partial")
_CALL_KEYS = ("id", "type", "function", "custom")
_EMPTY_VALUES = (b"null", b'""', b"[]", b"{}")
"""Values without content. They are removed without a note."""


@functools.cache
def _single_host_keys() -> frozenset[str]:
    """Return the keys that a single host adds.

    No other host gets them. A host with a `verbatim` dialect accepts its own messages unchanged,
    but not the keys of other hosts.
    """
    return frozenset(
        key
        for struct in (Message, ToolCall)
        for key, facts in facts_of(struct).items()
        if len(facts.hosts) == 1
    )


def _assistant_message(
    message: Message, ids: Sequence[str], dialect: Dialect, path: str, notes: list[Note]
) -> Message | None:
    """Return an assistant message as the host takes it back; `None` if nothing of it is left."""
    source = encode(message)
    before: RawFields = decoder(RawFields).decode(source)
    after = dict(before)
    # Only received keys are removed. What the caller wrote is sent as written, and the server
    # judges it.
    received = raw_of(message) is not None
    if received:
        allowed = (*_MESSAGE_KEYS, *_REASONING_SLOTS, *dialect.takes, "refusal")
        for key in [key for key in after if key in _single_host_keys() or not dialect.verbatim]:
            if key not in allowed:
                if key == "audio" and _speaks_only(message):
                    after["content"] = _raw(message.audio and message.audio.transcript)
                    notes.append(Note(f"{path}.audio", "sent as its transcript"))
                    del after[key]
                else:
                    _withhold(after, key, path, notes)
    _set_reasoning(message, after, dialect, path, notes)
    if "audio" in after and message.audio is not None and message.audio.id is not None:
        # A request contains only the id of earlier speech, not its data.
        after["audio"] = _raw({"id": message.audio.id})
    _set_content(message, after, dialect, path, notes)
    if message.tool_calls:
        # Raw pieces instead of structs: a call that does not change keeps its bytes.
        calls = [
            _call(call, id, dialect, received, f"{path}.tool_calls[{index}]", notes)
            for index, (call, id) in enumerate(zip(message.tool_calls, ids, strict=True))
        ]
        if calls != decoder(list[msgspec.Raw]).decode(before["tool_calls"]):
            after["tool_calls"] = _raw(calls)
    elif after.get("tool_calls") == msgspec.Raw(b"[]") and not dialect.verbatim:
        del after["tool_calls"]  # Together refuses the empty list (O7)
    if not message.tool_calls and not any(
        _has_value(after, key) for key in ("content", "function_call", "refusal", "audio", "images")
    ):
        return None
    if after == before:
        return message  # With its bytes: encoding it anew could change spacing and order of keys.
    return decoded(msgspec.json.encode(after), Message)


def _speaks_only(message: Message) -> bool:
    """Return whether the transcript of its speech is all the text that the message has."""
    return not message.content and message.audio is not None and bool(message.audio.transcript)


def _raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def _has_value(fields: RawFields, key: str) -> bool:
    return key in fields and bytes(fields[key]) not in _EMPTY_VALUES


def _withhold(fields: RawFields, key: str, path: str, notes: list[Note]) -> None:
    if _has_value(fields, key):
        notes.append(Note(f"{path}.{key}", "withheld: this host is not known to accept it"))
    del fields[key]


def _set_reasoning(
    message: Message, fields: RawFields, dialect: Dialect, path: str, notes: list[Note]
) -> None:
    """Keep the best reasoning slot that the host reads, and withhold the others.

    A slot is a key with reasoning; hosts use different ones, and some send the same text under two
    (Q6). The second one of such a pair is removed without a note, since no text is lost. A host
    that requires its slot beside calls refuses the history without it (O14), so it gets the text of
    another slot, or `""`.
    """
    kept_slot = next((slot for slot in dialect.reasoning_slots if _has_value(fields, slot)), None)
    text = next((text for slot in _REASONING_SLOTS[:3] if (text := getattr(message, slot))), None)
    for slot in _REASONING_SLOTS:
        if slot in fields and slot != kept_slot:
            is_duplicate = kept_slot is not None and getattr(message, slot) in (text, None)
            if is_duplicate or (
                dialect.reasoning_required and message.tool_calls and kept_slot is None
            ):
                del fields[slot]
            else:
                _withhold(fields, slot, path, notes)
    if kept_slot is None and dialect.reasoning_required and message.tool_calls:
        slot = dialect.reasoning_slots[0]
        fields[slot] = _raw(text or "")
        notes.append(
            Note(
                f"{path}.{slot}",
                "added: this host refuses calls without it"
                + ("" if text is None else ", from another slot"),
            )
        )


def _set_content(
    message: Message, fields: RawFields, dialect: Dialect, path: str, notes: list[Note]
) -> None:
    parts = message.content if isinstance(message.content, list) else []
    if (
        any(part.thinking is not None for part in parts)
        and "content" not in dialect.reasoning_slots
    ):
        notes.append(
            Note(f"{path}.content", "reasoning withheld: this host is not known to accept it")
        )
        fields["content"] = _raw("".join(part.text or "" for part in parts))
    if not dialect.verbatim and not dialect.refusals and "refusal" in fields:
        if message.refusal:
            fields["content"] = _raw(_with_text(message.content, message.refusal))
            notes.append(Note(f"{path}.refusal", "sent as content"))
        del fields["refusal"]
    if (
        message.tool_calls
        and not _has_value(fields, "content")
        and (not dialect.verbatim or dialect.no_text != "omit")
    ):
        fields.pop("content", None)
        if dialect.no_text != "omit":
            fields["content"] = msgspec.Raw(b"null" if dialect.no_text == "null" else b'""')


def _with_text(content: str | list[ContentPart] | None, text: str) -> str | list[ContentPart]:
    """Return the content of a message, with one more paragraph."""
    if isinstance(content, list):
        return [*content, ContentPart(type="text", text=text)]
    return f"{content}\n\n{text}" if content else text


def _call(
    call: ToolCall, id: str, dialect: Dialect, received: bool, path: str, notes: list[Note]
) -> msgspec.Raw:
    source = encode(call)
    before: RawFields = decoder(RawFields).decode(source)
    after = dict(before)
    if call.id != id:
        after["id"] = _raw(id)
        if present(call.id) is not None:
            notes.append(
                Note(
                    f"{path}.id",
                    f"changed from {call.id} to {id}: this host refuses the original id",
                )
            )
    if received or raw_of(call) is not None:
        for key in [key for key in after if key in _single_host_keys() or not dialect.verbatim]:
            if key == "index":
                del after[key]
            elif key not in (*_CALL_KEYS, *dialect.takes):
                _withhold(after, key, path, notes)
    if "type" not in after and call.function is not None:
        after["type"] = _raw("function")
    if call.function is not None:
        arguments = _arguments(
            call.function.arguments, dialect, f"{path}.function.arguments", notes
        )
        if arguments != call.function.arguments:
            function: RawFields = decoder(RawFields).decode(before["function"])
            after["function"] = _raw({**function, "arguments": arguments})
    return msgspec.Raw(source) if after == before else _raw(after)


def _arguments(arguments: Any, dialect: Dialect, path: str, notes: list[Note]) -> str:
    """Return the arguments as text, as OpenAI's reference requires; some hosts send an object."""
    text = (
        arguments
        if isinstance(arguments, str)
        else ""
        if arguments is None
        else msgspec.json.encode(portable(arguments)).decode()
    )
    if dialect.invalid_arguments == "wrapped":
        return as_object(text, path, notes)
    if text.strip() in ("", "null") and not dialect.verbatim:
        # Hosts that parse the history refuse the empty text, even for a call without arguments.
        return "{}"
    return text
