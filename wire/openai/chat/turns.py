"""Turns of a conversation as the `messages` that a host takes: what it said goes back as its
dialect wants it.

`messages(...)` keeps what came in the bytes it came in where the host takes that, and otherwise
takes out what the host would refuse: reasoning in a slot that it does not read, keys of other
hosts, ids of another form. Each call is answered by one message, in the order of the calls (O2).
What it had to change, add or drop stands in `wire.notes(result)`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from wire.core.decoders import decoder
from wire.core.facts import facts_of
from wire.core.json_values import checked, json_text
from wire.core.lenient import decoded
from wire.core.memory import RAW, Note, Noted, encode
from wire.errors import HistoryError, RuleError, Violation
from wire.neutral import messages as chat
from wire.neutral.ids import LegalIds, made_id
from wire.openai.chat.tool_calls import arguments_of, present
from wire.openai.chat.types import ChatCompletion, Choice, Message, ToolCall
from wire.openai.common.dialect import PLAIN, Dialect

Turn: TypeAlias = "str | Message | Choice | ChatCompletion | Sequence[Turn]"

Object: TypeAlias = dict[str, msgspec.Raw]


def messages(*turns: Turn, system: str | None = None, dialect: Dialect = PLAIN) -> Noted[Message]:
    """Messages of a request out of turns: texts of the user, messages, answers as received, lists
    of these.

    >>> [
    ...     message.role
    ...     for message in messages(
    ...         "Hi", Message(role="assistant", content="Hello."), "And now?", system="Be brief."
    ...     )
    ... ]
    ['system', 'user', 'assistant', 'user']

    `dialect` is that of the provider that will be asked (`client.dialect`); without one, nothing
    goes back of a received message but what every host takes. A call without a result gets one that
    says so, a result without a call becomes text of the user.

    Raises `HistoryError` for calls at the end that wait for their results, `RuleError` for what is
    no turn.
    """
    found: list[Note] = []
    flat = [Message(role="system", content=system)] if system else []
    flat += _flat(turns, "turns")
    if not flat:
        raise HistoryError(
            violations=[Violation("messages", "a conversation needs at least one turn", "O1")]
        )
    ids = LegalIds(dialect.call_ids)
    result: list[Message] = []
    place = 0
    while place < len(flat):
        message = flat[place]
        place += 1
        path = f"messages[{len(result)}]"
        if message.role == "tool":
            result.append(_orphan(message, path, found))
            continue
        if message.role != "assistant":
            result.append(message)
            continue
        answers = []
        while place < len(flat) and flat[place].role == "tool":
            answers.append(flat[place])
            place += 1
        pairs, orphans = _paired(message, answers)
        if pairs and place == len(flat) and any(answer is None for _, answer in pairs):
            waiting = next(
                _name(call)
                for (call, (_, answer)) in zip(message.tool_calls or (), pairs, strict=True)
                if answer is None
            )
            raise HistoryError(
                violations=[Violation(path, f"its call of {waiting} has no result", "O2")]
            )
        sent = _sent(message, [ids.legal(id) for id, _ in pairs], dialect, path, found)
        if sent is None:
            found.append(Note(path, "left out: a message with neither content nor calls"))
        else:
            result.append(sent)
        for id, answer in pairs:
            here = f"messages[{len(result)}]"
            if answer is None:
                found.append(Note(here, f"added: the call {id} had no result"))
                answer = Message(role="tool", content='{"error":"no result"}')
            result.append(
                answer
                if answer.tool_call_id == ids.legal(id)
                else msgspec.structs.replace(answer, tool_call_id=ids.legal(id))
            )
        result += [
            _orphan(orphan, f"messages[{len(result) + n}]", found)
            for n, orphan in enumerate(orphans)
        ]
    return Noted(result, found)


def tool_message(
    call: ToolCall | chat.ToolCall, result: Any = None, *, error: str | None = None
) -> Message:
    """The answer to one call: a text as it is, anything else as JSON, an error as `{"error":
    text}`.

    >>> tool_message(ToolCall(id="call_1"), {"sky": "hellgrün"})
    Message(role='tool', content='{"sky":"hellgrün"}', tool_call_id='call_1')

    Raises `RuleError` for what is no call, and for a result that JSON cannot say.
    """
    if not isinstance(call, ToolCall | chat.ToolCall):
        raise RuleError(
            violations=[
                Violation("tool_message", f"a ToolCall is wanted, not {type(call).__name__}")
            ]
        )
    result = {"error": error} if error is not None else result
    text = json_text(result, "tool_message.content")
    content = result if isinstance(result, str) else text
    return Message(role="tool", content=content, tool_call_id=present(call.id))


# --- order ----------------------------------------------------------------------------------------


def _flat(turn: Any, path: str) -> Iterator[Message]:
    if isinstance(turn, str):
        yield Message(role="user", content=turn)
    elif isinstance(turn, Message):
        if turn.role is None:
            raise RuleError(violations=[Violation(f"{path}.role", "a message needs one")])
        # `_sent` encodes it, which would turn NaN into null.
        yield turn if is_sound(turn) else checked(turn, path)
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
            raise RuleError(violations=[Violation(path, "this answer has no choices")])
        yield from _flat(turn.choices[0], path)
    elif isinstance(turn, (list, tuple)):
        for index, each in enumerate(turn):
            yield from _flat(each, f"{path}[{index}]")
    else:
        raise RuleError(
            violations=[
                Violation(
                    path, f"a text, a Message or an answer is wanted, not {type(turn).__name__}"
                )
            ]
        )


def is_sound(message: object) -> bool:
    """Nothing in it but what came from the wire, or texts."""
    if type(message) is not Message:
        return False
    if RAW in message.__dict__:
        return True
    texts = message.role, message.content, message.tool_call_id
    known = Message(role=message.role, content=message.content, tool_call_id=message.tool_call_id)
    return all(type(text) is str or text is None for text in texts) and message == known


def _paired(
    message: Message, answers: Sequence[Message]
) -> tuple[list[tuple[str, Message | None]], list[Message]]:
    """Each call's id and its answer, and the answers that are left.

    A call without an id takes the next answer that no other claims.
    """
    given = [present(call.id) for call in message.tool_calls or ()]
    claimed: dict[str, list[Message]] = {id: [] for id in given if id is not None}
    left: list[Message] = []
    for answer in answers:
        claimed.get(answer.tool_call_id or "", left).append(answer)
    pairs: list[tuple[str, Message | None]] = []
    for position, id in enumerate(given):
        waiting = left if id is None else claimed[id]
        own = waiting.pop(0) if waiting else None
        made = made_id(encode(message), position) if id is None else id
        pairs.append((id or (own and present(own.tool_call_id)) or made, own))
    return pairs, [*(answer for answers in claimed.values() for answer in answers), *left]


def _orphan(message: Message, path: str, found: list[Note]) -> Message:
    found.append(
        Note(path, f"the result {message.tool_call_id} answers no call and was turned into text")
    )
    return Message(role="user", content=message.content)


def _name(call: ToolCall) -> str | None:
    said = call.function or call.custom
    return said.name if said is not None else None


# --- what goes back of a message ------------------------------------------------------------------

_SLOTS = ("reasoning_content", "reasoning", "reasoning_text", "reasoning_details")
_CORE = ("role", "content", "tool_calls", "function_call", "prefix")
_CALL_CORE = ("id", "type", "function", "custom")
_SILENT = (b"null", b'""', b"[]", b"{}")
"""Values that say nothing, and are left out without a word."""


@functools.cache
def _of_one_host() -> frozenset[str]:
    """Keys that one host alone adds: no other host takes them, not even one that takes its own
    messages verbatim.
    """
    return frozenset(
        key
        for struct in (Message, ToolCall)
        for key, facts in facts_of(struct).items()
        if len(facts.hosts) == 1
    )


def _sent(
    message: Message, ids: Sequence[str], dialect: Dialect, path: str, found: list[Note]
) -> Message | None:
    """A message of the assistant as the dialect takes it back, `None` if nothing of it is left."""
    source = encode(message)
    before: Object = decoder(Object).decode(source)
    after = dict(before)
    received = RAW in vars(message)
    if received:
        allowed = (*_CORE, *_SLOTS, *dialect.takes, "refusal")
        for key in [key for key in after if key in _of_one_host() or not dialect.verbatim]:
            if key not in allowed:
                _withhold(after, key, path, found)
    _reason(message, after, dialect, path, found)
    if "audio" in after and message.audio is not None and message.audio.id is not None:
        after["audio"] = _raw({"id": message.audio.id})
    _content(message, after, dialect, path, found)
    if message.tool_calls:
        # As an array of pieces, so that those which stay keep their bytes.
        calls = [
            _call(call, id, dialect, received, f"{path}.tool_calls[{at}]", found)
            for at, (call, id) in enumerate(zip(message.tool_calls, ids, strict=True))
        ]
        if calls != decoder(list[msgspec.Raw]).decode(before["tool_calls"]):
            after["tool_calls"] = _raw(calls)
    elif after.get("tool_calls") == msgspec.Raw(b"[]") and not dialect.verbatim:
        del after["tool_calls"]  # refused by some (dialects: Together)
    if not message.tool_calls and not any(
        _speaks(after, key) for key in ("content", "function_call", "refusal", "audio")
    ):
        return None
    if after == before:
        return message
    return decoded(msgspec.json.encode(after), Message)


def _raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def _speaks(said: Object, key: str) -> bool:
    return key in said and bytes(said[key]) not in _SILENT


def _withhold(said: Object, key: str, path: str, found: list[Note]) -> None:
    if _speaks(said, key):
        found.append(Note(f"{path}.{key}", "withheld: this host is not known to take it back"))
    del said[key]


def _reason(message: Message, said: Object, dialect: Dialect, path: str, found: list[Note]) -> None:
    """The best slot that the host reads goes back, the others are withheld (Q6 says which slots
    there are).
    """
    kept = next((slot for slot in dialect.reasoning_slots if _speaks(said, slot)), None)
    text = next((text for slot in _SLOTS[:3] if (text := getattr(message, slot))), None)
    for slot in _SLOTS:
        if slot in said and slot != kept:
            twin = kept is not None and getattr(message, slot) in (text, None)
            if twin or (dialect.reasoning_required and message.tool_calls and kept is None):
                del said[slot]
            else:
                _withhold(said, slot, path, found)
    if kept is None and dialect.reasoning_required and message.tool_calls:
        slot = dialect.reasoning_slots[0]
        said[slot] = _raw(text or "")
        found.append(
            Note(
                f"{path}.{slot}",
                "added: this host refuses calls without it"
                + ("" if text is None else ", from another slot"),
            )
        )


def _content(
    message: Message, said: Object, dialect: Dialect, path: str, found: list[Note]
) -> None:
    parts = message.content if isinstance(message.content, list) else []
    if (
        any(part.thinking is not None for part in parts)
        and "content" not in dialect.reasoning_slots
    ):
        found.append(
            Note(f"{path}.content", "reasoning withheld: this host is not known to take it back")
        )
        said["content"] = _raw("".join(part.text or "" for part in parts))
    if not dialect.verbatim and "refusal" in said:
        if message.refusal and not _speaks(said, "content"):
            said["content"] = _raw(message.refusal)
            found.append(Note(f"{path}.refusal", "sent as content"))
        del said["refusal"]
    if (
        message.tool_calls
        and not _speaks(said, "content")
        and (not dialect.verbatim or dialect.no_text != "omit")
    ):
        said.pop("content", None)
        if dialect.no_text != "omit":
            said["content"] = msgspec.Raw(b"null" if dialect.no_text == "null" else b'""')


def _call(
    call: ToolCall, id: str, dialect: Dialect, received: bool, path: str, found: list[Note]
) -> msgspec.Raw:
    source = encode(call)
    before: Object = decoder(Object).decode(source)
    after = dict(before)
    if call.id != id:
        after["id"] = _raw(id)
        if present(call.id) is not None:
            found.append(Note(f"{path}.id", f"{call.id} became {id}, as this host takes it"))
    if received or RAW in vars(call):
        for key in [key for key in after if key in _of_one_host() or not dialect.verbatim]:
            if key == "index":
                del after[key]
            elif key not in (*_CALL_CORE, *dialect.takes):
                _withhold(after, key, path, found)
    if "type" not in after and call.function is not None:
        after["type"] = _raw("function")
    if call.function is not None:
        arguments = _arguments(
            call.function.arguments, dialect, f"{path}.function.arguments", found
        )
        if arguments != call.function.arguments:
            function: Object = decoder(Object).decode(before["function"])
            after["function"] = _raw({**function, "arguments": arguments})
    return msgspec.Raw(source) if after == before else _raw(after)


def _arguments(arguments: Any, dialect: Dialect, path: str, found: list[Note]) -> str:
    """Arguments as the text that the reference asks for."""
    text = (
        arguments
        if isinstance(arguments, str)
        else ""
        if arguments is None
        else msgspec.json.encode(arguments).decode()
    )
    if text.strip() in ("", "null") and (
        not dialect.verbatim or dialect.invalid_arguments == "wrapped"
    ):
        return "{}"  # hosts that parse the history expect JSON even of a call without arguments
    if dialect.invalid_arguments == "wrapped" and arguments_of(text) is None:
        found.append(Note(path, "wrapped: this host refuses arguments that are no JSON object"))
        return msgspec.json.encode({"invalid_json": text}).decode()
    return text
