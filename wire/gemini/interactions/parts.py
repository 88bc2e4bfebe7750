"""Writes neutral messages as steps.

Steps that this model made are sent back in their order, with the bytes in which they came: the
server refuses a thought that was changed or moved. Results come directly after the steps of their
turn. Since Gemini 3 a thought precedes the calls of a turn: a turn that came from elsewhere gets
the thought that the server takes in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.errors import HistoryError, LimitError, Violation
from wire.core.lenient import Unreadable, decoded
from wire.core.memory import Note, WireStruct, freeze, remember
from wire.core.provider import Provider
from wire.gemini.families import family
from wire.gemini.interactions.fold import keep_bytes
from wire.gemini.interactions.media import media_content
from wire.gemini.interactions.parse import WIRE, parse_reply, parts_of
from wire.gemini.interactions.rules import SKIP
from wire.gemini.interactions.types import Content, Interaction, Step
from wire.neutral.ids import CallIds, LegalIds, ReplyIds, ToolNames, safe_names
from wire.neutral.messages import (
    Media,
    Message,
    Other,
    Part,
    ServerToolCall,
    ServerToolResult,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    own_text,
    source_of,
)
from wire.neutral.pairing import Answers
from wire.neutral.rendering import transcript_note

W = TypeVar("W", bound=WireStruct)

SentMessage: TypeAlias = tuple[str, Message]
"""Path of a message in the neutral request, and the message."""

_TOOL_NAMES = ToolNames(
    legal=re.compile(r"[A-Za-z0-9_.:-]{1,128}"),
    most=128,
    kept=120,
    note="calls of {name} are sent as {safe}: the wire refuses the original name",
)


def system_text(system: str, conversation: Sequence[SentMessage], notes: list[Note]) -> str:
    """Return the system instruction: `system`, then the texts of all system messages.

    It stands before the conversation; each moved message gets a note.
    """
    texts = [system] if system.strip() else []
    has_begun = False
    for path, message in conversation:
        has_begun = has_begun or not message.instructs
        if not message.instructs:
            continue
        own = [part.text for part in message.parts if isinstance(part, Text) and part.text.strip()]
        texts += own
        if not own:
            notes.append(Note(path, "left out: an empty system message"))
        elif has_begun:
            words = "moved to the top: system texts stand before the conversation"
            notes.append(Note(path, words))
    return "\n\n".join(texts)


def input_steps(
    conversation: Sequence[SentMessage],
    answers: Mapping[str, Answers],
    tools: Iterable[str],
    model: str,
    notes: list[Note],
) -> list[Step]:
    """Render the steps of a conversation that `wire.history.check` accepts.

    `answers` are the results of the calls, by the path of the message with the calls. `tools` are
    the tool names in use, which a renamed call must not get. Raises `HistoryError` or `RuleError`
    that names the part which the wire cannot express.
    """
    calls = (
        (path, part.name)
        for path, message in conversation
        for part in message.parts
        if isinstance(part, ToolCall)
    )
    of = family(model)
    writer = _Writer(
        safe_names(calls, tools, _TOOL_NAMES, notes),
        notes,
        needs_thoughts=of.name == "gemini" and not of.before(3),
    )
    steps: list[Step] = []
    for path, message in conversation:
        role, text = message.role, own_text(message)
        if role == "user":
            steps += writer.user(message, path, text)
        elif role == "assistant":
            steps += writer.assistant(message, path, text)
            if path in answers:
                steps += writer.results(answers[path])
    if not steps:
        problem = "no part of it can be sent to this model"
        raise HistoryError(violations=[Violation("messages", problem)])
    return steps


class _Writer:
    """Writes the messages of one conversation, and notes what it changes."""

    def __init__(
        self, names: Mapping[str, str], notes: list[Note], *, needs_thoughts: bool
    ) -> None:
        self._names, self._notes, self._needs_thoughts = names, notes, needs_thoughts
        self._ids = LegalIds(CallIds(most=128, letters="[a-zA-Z0-9_.:-]"))
        self._used_ids: set[str] = set()
        self._sent: dict[str, tuple[str, str]] = {}  # of this turn: id -> id and name as sent
        self._has_thought = False  # since the last step of the user

    def _note(self, path: str, message: str) -> None:
        self._notes.append(Note(path, message))

    # --- user

    def user(self, message: Message, path: str, text: str | None) -> Iterator[Step]:
        """Yield a message of the user; yield nothing if it is empty."""
        self._has_thought = False
        if text is not None:
            yield Step(type="user_input", content=[Content(type="text", text=text)])
            return
        content: list[Content] = []
        for index, part in enumerate(message.parts):
            at = f"{path}.parts[{index}]"
            if isinstance(part, Text):
                if part.signature:
                    self._note(at, "withheld: the signature, which the wire has no field for")
                content.append(Content(type="text", text=part.text))
            elif isinstance(part, Media):
                content.append(media_content(part, at, self._notes))
            elif isinstance(part, Other) and (own := self._source(part, at, _read_content)):
                content.append(own)
            else:
                self._withhold(part, at)
        if content:
            yield Step(type="user_input", content=content)

    # --- assistant

    def assistant(self, message: Message, path: str, text: str | None) -> list[Step]:
        """Render the steps of a message of the model."""
        if text is not None:
            content = [Content(type="text", text=text)]
            return [Step(type="model_output", content=content)] if text else []
        self._sent = {}
        received = self._received(message, path)
        if received is not None:
            steps = [self._received_step(step, parts) for step, parts in received]
        else:
            steps = self._rebuilt(message, path)
        return self._with_thought(steps, path)

    def _with_thought(self, steps: list[Step], path: str) -> list[Step]:
        """Return the steps with a thought before their calls, which later models demand (I9)."""
        for step in steps:
            self._has_thought = self._has_thought or step.type == "thought"
            if step.type == "function_call" and not self._has_thought and self._needs_thoughts:
                words = "added: a thought before the calls, which the server does not verify (I9)"
                self._note(path, words)
                self._has_thought = True
                return [Step(type="thought", signature=SKIP), *steps]
        return steps

    def _received(
        self, message: Message, path: str
    ) -> list[tuple[Step, list[tuple[Part, str]]]] | None:
        """Return the steps that the message was received as, each with its parts and their paths.

        The result is `None` if the message came from elsewhere or was changed.
        """
        origin = message.origin
        if origin is None or origin.wire != WIRE:
            return None
        try:
            steps = source_of(origin, _read_message).steps or []
        except (Unreadable, LimitError):
            if origin.raw:
                self._note(path, "rebuilt: the bytes that it was received with are not valid")
            return None
        parts = [(part, f"{path}.parts[{index}]") for index, part in enumerate(message.parts)]
        received: list[tuple[Step, list[tuple[Part, str]]]] = []
        for step in steps:
            own = parts_of(step, ReplyIds(b""))
            taken, parts = parts[: len(own)], parts[len(own) :]
            if [type(part) for part, _ in own] != [type(part) for part, _ in taken]:
                parts = [*parts, *taken]
                break
            received.append((step, taken))
        if parts or len(received) != len(steps):
            self._note(path, "rebuilt: it differs from the bytes that it was received with")
            return None
        return received

    def _rebuilt(self, message: Message, path: str) -> list[Step]:
        steps: list[Step] = []
        content: list[Content] = []
        for index, part in enumerate(message.parts):
            at = f"{path}.parts[{index}]"
            source = self._source(part, at, _read_step)
            if source is not None and source.type == "model_output" and source.content:
                content += source.content
                continue
            if source is None and isinstance(part, Text | Media):
                content += self._output(part, at)
                continue
            steps += _output_step(content)
            content = []
            if source is not None:
                steps.append(self._received_step(source, [(part, at)]))
            elif isinstance(part, ToolCall):
                steps.append(self._call(part, at))
            else:
                self._withhold(part, at)
        return [*steps, *_output_step(content)]

    def _source(self, part: Part, path: str, read: Callable[[bytes], W]) -> W | None:
        """Return the struct that a part was received as; `None` if it came from elsewhere."""
        if part.origin is None or part.origin.wire != WIRE:
            return None
        try:
            return source_of(part.origin, read)
        except (Unreadable, LimitError):
            if part.origin.raw:
                self._note(path, "rebuilt: the bytes that it was received with are not valid")
            return None

    def _received_step(self, step: Step, parts: Sequence[tuple[Part, str]]) -> Step:
        """Return a received step with its own bytes, unless its id or name has to be another.

        Changing a field drops the bytes of a step.
        """
        for part, path in parts:
            if not isinstance(part, ToolCall):
                continue
            changed: dict[str, Any] = {
                "id": self._call_id(part, path),
                "name": self._names.get(part.name, part.name),
            }
            if part.arguments is None:
                changed["arguments"] = self._arguments(part, path)
            changed = {key: each for key, each in changed.items() if getattr(step, key) != each}
            if changed:
                return msgspec.structs.replace(step, **changed)
        return step

    # --- parts that were not received on this wire

    def _output(self, part: Text | Media, path: str) -> list[Content]:
        if isinstance(part, Media):
            if part.transcript.strip():
                self._notes.append(transcript_note(path))
                return [Content(type="text", text=part.transcript)]
            return [media_content(part, path, self._notes)]
        if part.signature:
            self._note(path, "withheld: the signature, which the wire has no field for")
        if part.extra:
            self._note(path, f"withheld: {', '.join(part.extra)}, which received texts alone have")
        if not part.text:
            self._note(path, "left out: an empty text")
            return []
        return [Content(type="text", text=part.text)]

    def _call(self, call: ToolCall, path: str) -> Step:
        if call.extra or call.signature:
            words = f"withheld: data of the call of {call.name} that the wire has no field for"
            self._note(path, words)
        return Step(
            type="function_call",
            id=self._call_id(call, path),
            name=self._names.get(call.name, call.name),
            arguments=self._arguments(call, path),
        )

    def _arguments(self, call: ToolCall, path: str) -> dict[str, Any]:
        if call.arguments is None:
            words = f"wrapped: the arguments of the call of {call.name} are not a JSON object"
            self._note(path, words)
            return {"invalid_json": call.text}
        return dict(call.arguments)

    def _call_id(self, call: ToolCall, path: str) -> str:
        """Return the id that a call is sent with: legal, and unique in the conversation."""
        # Other vendors repeat ids in later turns. A repeated id gets a key of its own, so that
        # `LegalIds` makes a new id; `_sent` gives the results of this turn the same one.
        key, occurrence = call.id, 1
        while key in self._used_ids:
            occurrence += 1
            key = f"{call.id} {occurrence}"
        self._used_ids.add(key)
        sent = self._ids.legal(key)
        if sent != call.id:
            why = "an earlier call has it" if occurrence > 1 else "the wire refuses it"
            self._note(
                path, f"the id {call.id!r} of the call and its result was changed to {sent}: {why}"
            )
        self._sent[call.id] = sent, self._names.get(call.name, call.name)
        return sent

    # --- results

    def results(self, answers: Answers) -> Iterator[Step]:
        """Yield the results of a turn, in the order of their calls."""
        if answers.moved:
            self._note(answers.moved, "the results were sorted into the order of their calls")
        for each in answers.results:
            id, name = self._sent[each.result.id]
            yield Step(
                type="function_result",
                call_id=id,
                name=name,
                result=self._result(each.result, each.path),
                is_error=True if each.result.error else None,
            )

    def _result(self, result: ToolResult, path: str) -> Any:
        content = result.content
        if result.media:
            text = content if isinstance(content, str) else None
            if text is None:
                text = msgspec.json.encode(content).decode()  # checked with its request
            made = [
                media_content(each, f"{path}.media[{index}]", self._notes)
                for index, each in enumerate(result.media)
            ]
            return [*([Content(type="text", text=text)] if text.strip() else []), *made]
        if isinstance(content, str):
            return content
        return dict(content) if isinstance(content, Mapping) else result.answer

    def _withhold(self, part: Part, path: str) -> None:
        """Note a part that the wire cannot express."""
        if isinstance(part, Other):
            self._note(path, f"withheld: only its own vendor accepts {part.kind}")
        elif isinstance(part, ServerToolCall | ServerToolResult):
            self._note(path, f"withheld: the server of a vendor ran {part.name}")
        elif isinstance(part, Thought):
            self._note(path, "withheld: a thought that did not come from this model")
        else:
            self._note(path, "withheld: the wire has no field for this part")


def _output_step(content: list[Content]) -> list[Step]:
    return [Step(type="model_output", content=content)] if content else []


def _read_message(raw: bytes) -> Interaction:
    """Read the received message of a saved conversation, with steps that remember their bytes."""
    return keep_bytes(decoded(raw, Interaction), raw)


def _read_content(raw: bytes) -> Content:
    return decoded(raw, Content)


def _read_step(raw: bytes) -> Step:
    return remember(freeze(decoded(raw, Step)), raw)


@checked_arguments()
def parse_message(
    raw: bytes, provider: Provider | str = "gemini@interactions", *, part: bool = False
) -> tuple[Message, ...]:
    """Parse the bytes of a message that `parse_reply` made and that was saved; return each message
    that they can mean.

    With `part`, they are the bytes of one part. There is more than one reading if it depends on
    settings of the client that are not saved. Raises `Unreadable` for bytes that no host sent, and
    `LimitError`.
    """
    if not part:
        return (parse_reply(_read_message(raw)).message,)
    return (parse_reply(Interaction(steps=[_read_step(raw)])).message,)
