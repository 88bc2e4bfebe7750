"""Writes neutral messages as messages of this wire.

Messages that this model sent are sent back block by block, with the bytes in which they came. Tool
results and the user text after them become one message: the results first, in the order of their
calls. Adjacent messages of one role are merged, as the server does. Parts that the wire cannot
express are left out with a note, or refused.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from wire.converse.caching import may_precede_point
from wire.converse.families import Family
from wire.converse.fold import keep_bytes
from wire.converse.media import Documents, media_block, result_media
from wire.converse.parse import REDACTED, WIRE, parse_reply
from wire.converse.rules import CALL_ID, TOOL_NAME
from wire.converse.types import (
    CachePointBlock,
    ContentBlock,
    ConverseOutput,
    ConverseResponse,
    ReasoningContentBlock,
    ReasoningTextBlock,
    SystemContentBlock,
    ToolResultBlock,
    ToolResultContentBlock,
    ToolUseBlock,
)
from wire.converse.types import Message as WireMessage
from wire.core.arguments import checked_arguments
from wire.core.errors import HistoryError, LimitError, Violation
from wire.core.lenient import Unreadable, decoded
from wire.core.memory import Note, WireStruct, freeze, remember
from wire.core.provider import Provider
from wire.neutral.ids import CallIds, LegalIds, ToolNames, safe_names
from wire.neutral.messages import (
    Media,
    Message,
    Origin,
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

_FAILED = "The tool failed."
"""The text of a failed result that says nothing, which the server refuses (B13)."""


def system_of(
    system: str,
    conversation: Sequence[SentMessage],
    notes: list[Note],
    marked: Collection[str],
    point: CachePointBlock,
) -> list[SystemContentBlock]:
    """Return the system texts: `system`, then the texts of all system messages.

    They stand before the conversation; each moved message gets a note. `marked` are the paths of
    messages with a cache point.
    """
    blocks = [SystemContentBlock(text=system)] if system.strip() else []
    has_begun = False
    for path, message in conversation:
        has_begun = has_begun or not message.instructs
        if not message.instructs:
            continue
        texts = [part.text for part in message.parts if isinstance(part, Text)]
        texts = [text for text in texts if text.strip()]
        blocks += [SystemContentBlock(text=text) for text in texts]
        if texts and path in marked:
            blocks.append(SystemContentBlock(cache_point=point))
        if not texts:
            notes.append(Note(path, "left out: an empty system message"))
        elif has_begun:
            words = "moved to the top: system texts stand before the conversation"
            notes.append(Note(path, words))
    return blocks


def wire_messages(
    conversation: Sequence[SentMessage],
    answers: Mapping[str, Answers],
    tools: Iterable[str],
    notes: list[Note],
    marked: Collection[str],
    point: CachePointBlock,
    family: Family,
) -> list[WireMessage]:
    """Render the user and assistant messages of a conversation that `wire.history.check` accepts.

    `answers` are the results of the calls, by the path of the message with the calls. `tools` are
    the tool names in use, which a renamed call must not get. `marked` are the paths of messages
    with a cache point. Raises `HistoryError` or `RuleError` that names the part which the wire
    cannot express.
    """
    calls = (
        (path, part.name)
        for path, message in conversation
        for part in message.parts
        if isinstance(part, ToolCall)
    )
    names = safe_names(calls, tools, _TOOL_NAMES, notes)
    writer = _Writer(names, notes, marked, point, family)
    written = filter(operator.itemgetter(1), writer.turns(conversation, answers))
    turns = [
        (role, [block for _, blocks in group for block in blocks])
        for role, group in itertools.groupby(written, operator.itemgetter(0))
    ]
    sent = [each for each in conversation if not each[1].instructs]
    path, last = (sent[-1][0], sent[-1][1].role) if sent else ("messages", "")
    if not turns or (turns[-1][0] == "assistant" and last != "assistant"):
        remedy = "remove it, or write it as text"
        raise _refused(path, "no part of it can be sent to this model", "B5", remedy)
    return [WireMessage(role=role, content=blocks) for role, blocks in turns]


_TOOL_NAMES = ToolNames(
    legal=TOOL_NAME,
    most=64,
    kept=56,
    note="calls of {name} are sent as {safe}: the wire refuses the original name",
)


def _refused(path: str, problem: str, rule: str = "", remedy: str = "") -> HistoryError:
    return HistoryError(violations=[Violation(path, problem, rule, remedy=remedy)])


class _Writer:
    """Writes the messages of one conversation as blocks, and notes what it changes."""

    def __init__(
        self,
        names: Mapping[str, str],
        notes: list[Note],
        marked: Collection[str],
        point: CachePointBlock,
        family: Family,
    ) -> None:
        self._names, self._notes, self._family = names, notes, family
        self._marked, self._point = marked, ContentBlock(cache_point=point)
        self._ids = LegalIds(CallIds(most=64, letters="[a-zA-Z0-9_.:-]"))
        self._used_ids: set[str] = set()
        self._sent_ids: dict[str, str] = {}  # of the current turn: id of a call -> id as sent
        self._documents = Documents(notes)

    def turns(
        self, conversation: Sequence[SentMessage], answers: Mapping[str, Answers]
    ) -> Iterator[tuple[str, list[ContentBlock]]]:
        """Yield the role and the blocks of each message.

        The results of a turn come directly after its calls.
        """
        for path, message in conversation:
            text = own_text(message)
            role = message.role
            if text and not text.isspace() and (role == "user" or role == "assistant"):
                yield role, [ContentBlock(text=text)]
            elif role == "user" or role == "assistant":
                made = self._user if role == "user" else self._assistant
                yield role, self._with_point(made(message, path), path)
                if path in answers:
                    yield "user", self._result_blocks(answers[path])

    def _with_point(self, blocks: list[ContentBlock], path: str) -> list[ContentBlock]:
        """Return the blocks of a message with its cache point."""
        if path not in self._marked:
            return blocks
        at = len(blocks)
        while at and not may_precede_point(blocks[at - 1]):
            at -= 1
        if not at:
            self._notes.append(Note(f"{path}.cache", "left out: no part of it can be marked"))
            return blocks
        return [*blocks[:at], self._point, *blocks[at:]]

    # --- user

    def _user(self, message: Message, path: str) -> list[ContentBlock]:
        blocks: list[ContentBlock] = []
        for index, part in enumerate(message.parts):
            part_path = f"{path}.parts[{index}]"
            if isinstance(part, Text):
                blocks += self._text(part, part_path)
            elif isinstance(part, Media):
                blocks.append(media_block(part, part_path, self._documents))
            elif isinstance(part, Other) and (
                own := self._source(part.origin, _read_block, part_path)
            ):
                blocks.append(own)
            else:
                self._withhold(part, part_path)
        if any(block.document for block in blocks) and not any(block.text for block in blocks):
            words = "added a text before the document, without which the server refuses it (B23)"
            self._notes.append(Note(path, words))
            blocks.insert(0, ContentBlock(text="Document:"))
        return blocks

    def _text(self, part: Text, path: str) -> list[ContentBlock]:
        if part.signature:
            words = "withheld: the signature, which the wire has no field for"
            self._notes.append(Note(path, words))
        if not part.text.strip():
            self._notes.append(Note(path, "left out: a blank text, which the server refuses (B6)"))
            return []
        return [ContentBlock(text=part.text)]

    # --- assistant

    def _assistant(self, message: Message, path: str) -> list[ContentBlock]:
        self._sent_ids = {}
        source = self._source(message.origin, _read_message, path)
        blocks = list(source.content or ()) if source is not None else []
        received = source is not None and _matches(blocks, message.parts)
        if source is not None and not received:
            words = "rebuilt: it differs from the bytes that it was received with"
            self._notes.append(Note(path, words))
        result: list[ContentBlock] = []
        for index, part in enumerate(message.parts):
            at = f"{path}.parts[{index}]"
            own = blocks[index] if received else self._source(part.origin, _read_block, at)
            result += self._part(part, at) if own is None else self._received_part(part, own, at)
        return result

    def _source(self, origin: Origin | None, read: Callable[[bytes], W], path: str) -> W | None:
        """Return the struct that a part or message was received as; `None` if there is none."""
        if origin is not None and origin.wire == WIRE:
            try:
                return source_of(origin, read)
            except (Unreadable, LimitError):
                if origin.raw:
                    words = "rebuilt: the bytes that it was received with are not valid"
                    self._notes.append(Note(path, words))
        return None

    def _received_part(self, part: Part, block: ContentBlock, path: str) -> list[ContentBlock]:
        """Return a received block with its own bytes, unless the server would refuse it.

        Changing a field drops the bytes of the block. So only fields whose value differs are
        replaced, and a legal block is sent back byte for byte.
        """
        if block.text is not None and not block.text.strip():
            self._notes.append(Note(path, "left out: a blank text, which the server refuses (B6)"))
            return []
        if isinstance(part, Thought) and not (part.signature or part.details):
            # It would stand in the text of the next answer (gpt-oss), or is refused (Claude).
            self._notes.append(Note(path, "withheld: a thought without a signature"))
            return []
        call = block.tool_use
        if not isinstance(part, ToolCall) or call is None:
            return [block]
        arguments = self._arguments(part, path)
        changed: dict[str, Any] = {
            "tool_use_id": self._call_id(part, path),
            "name": self._names.get(part.name, part.name),
        }
        if part.arguments is None:
            changed["input"] = arguments
        if call.type == "tool_use":  # a word of answers that no request has
            changed["type"] = None
        changed = {key: value for key, value in changed.items() if getattr(call, key) != value}
        if not changed:
            return [block]
        return [msgspec.structs.replace(block, tool_use=msgspec.structs.replace(call, **changed))]

    def _part(self, part: Part, path: str) -> list[ContentBlock]:
        """Render a part that was not received on this wire."""
        if isinstance(part, Text):
            return self._text(part, path)
        if isinstance(part, ToolCall):
            return [self._call(part, path)]
        if isinstance(part, Thought) and (made := _reasoning(part)) is not None:
            return [ContentBlock(reasoning_content=made)]
        if isinstance(part, Media) and part.transcript.strip():
            self._notes.append(transcript_note(path))
            return [ContentBlock(text=part.transcript)]
        self._withhold(part, path)
        return []

    def _call(self, call: ToolCall, path: str) -> ContentBlock:
        if call.extra or call.signature:
            words = f"withheld: data of the call of {call.name} that the wire has no field for"
            self._notes.append(Note(path, words))
        arguments = self._arguments(call, path)
        name = self._names.get(call.name, call.name)
        block = ToolUseBlock(tool_use_id=self._call_id(call, path), name=name, input=arguments)
        return ContentBlock(tool_use=block)

    def _arguments(self, call: ToolCall, path: str) -> dict[str, Any]:
        if call.arguments is None and call.origin is not None:
            # A received call that was cut off. Refusing it would end the conversation, so the text
            # is sent in an object, and the model sees from the result what went wrong.
            words = f"wrapped: the arguments of the call of {call.name} are not a JSON object"
            self._notes.append(Note(path, words))
            return {"invalid_json": call.text}
        if not isinstance(call.arguments, Mapping):
            remedy = "wire.history.repair(messages), or remove the call and its result"
            problem = f"the arguments of the call of {call.name} are not a JSON object"
            raise _refused(path, problem, "B12", remedy)
        return dict(call.arguments)

    def _call_id(self, call: ToolCall, path: str) -> str:
        """Return the id of a call as sent: legal, and unique in the conversation (B10)."""
        # Other vendors repeat ids in later turns. A repeated id gets a key of its own, so that
        # `LegalIds` makes a new id; `_sent_ids` gives the results of this turn the same one.
        key, occurrence = call.id, 1
        while key in self._used_ids:
            occurrence += 1
            key = f"{call.id} {occurrence}"
        self._used_ids.add(key)
        sent = self._ids.legal(key)
        if sent != call.id:
            why = "an earlier call has it" if CALL_ID.fullmatch(call.id) else "the wire refuses it"
            words = f"the id {call.id!r} of the call and its result was changed to {sent}: {why}"
            self._notes.append(Note(path, words))
        self._sent_ids[call.id] = sent
        return sent

    # --- results

    def _result_blocks(self, answers: Answers) -> list[ContentBlock]:
        """Render the results of a turn, then the media that a result must not contain."""
        if answers.moved:
            words = "the results were sorted into the order of their calls"
            self._notes.append(Note(answers.moved, words))
        blocks: list[ContentBlock] = []
        last = {each.path.partition(".")[0]: at for at, each in enumerate(answers.results)}
        for at, each in enumerate(answers.results):
            blocks.append(self._result(each.result, each.path))
            message = each.path.partition(".")[0]
            if message in self._marked and last[message] == at:
                blocks.append(self._point)
        return blocks

    def _result(self, result: ToolResult, path: str) -> ContentBlock:
        content: list[ToolResultContentBlock] = []
        if isinstance(result.content, Mapping):
            content.append(ToolResultContentBlock(json=dict(result.content)))
        elif isinstance(result.content, str):
            text = result.content or (_FAILED if result.error and not result.media else "")
            if text or not result.media:
                content.append(ToolResultContentBlock(text=text))
        else:
            text = msgspec.json.encode(result.content).decode()
            content.append(ToolResultContentBlock(text=text))
        content += [
            result_media(media, f"{path}.media[{index}]", self._documents)
            for index, media in enumerate(result.media)
        ]
        status = "error" if result.error else None
        if status and self._family.no_status:
            self._notes.append(Note(f"{path}.error", "not sent: this model refuses it (B13)"))
            status = None
        block = ToolResultBlock(
            tool_use_id=self._sent_ids[result.id], content=content, status=status
        )
        return ContentBlock(tool_result=block)

    def _withhold(self, part: Part, path: str) -> None:
        """Note a part that the wire cannot express."""
        if isinstance(part, Other):
            self._notes.append(Note(path, f"withheld: only its own vendor accepts {part.kind}"))
        elif isinstance(part, ServerToolCall | ServerToolResult):
            self._notes.append(Note(path, f"withheld: the server of a vendor ran {part.name}"))
        elif isinstance(part, Media):
            kind = part.media_type or "media"
            words = f"withheld: the wire has no field for {kind} of the assistant"
            self._notes.append(Note(path, words))
        else:
            self._notes.append(Note(path, "withheld: a thought without a signature"))


def _reasoning(thought: Thought) -> ReasoningContentBlock | None:
    """Return a thought that the model can verify; `None` for another."""
    if thought.signature:
        text = ReasoningTextBlock(text=thought.text, signature=thought.signature)
        return ReasoningContentBlock(reasoning_text=text)
    data = thought.details[0].get("data") if thought.details else None
    if thought.slot == REDACTED and isinstance(data, str):
        return ReasoningContentBlock(redacted_content=data)
    return None


def _matches(blocks: Sequence[ContentBlock], parts: Sequence[Part]) -> bool:
    """Return whether the blocks correspond to these parts.

    They may not: a saved conversation can have been edited by hand.
    """
    return len(blocks) == len(parts) and all(
        isinstance(part, ToolCall)
        == (block.tool_use is not None and block.tool_use.type in (None, "tool_use"))
        for part, block in zip(parts, blocks, strict=True)
    )


def _read_message(raw: bytes) -> WireMessage:
    """Read the received message of a saved conversation, with blocks that remember their bytes."""
    decoded(raw, WireMessage)
    answer = b'{"output":{"message":%s}}' % raw
    read = keep_bytes(decoded(answer, ConverseResponse), answer)
    return WireMessage(role="assistant", content=read.content)


def _read_block(raw: bytes) -> ContentBlock:
    return remember(freeze(decoded(raw, ContentBlock)), raw)


@checked_arguments()
def parse_message(
    raw: bytes, provider: Provider | str = "bedrock", *, part: bool = False
) -> tuple[Message, ...]:
    """Parse the bytes of a message that `parse_reply` made and that was saved; return each message
    that they can mean.

    With `part`, they are the bytes of one part. There is more than one reading if it depends on
    settings of the client that are not saved. Raises `Unreadable` for bytes that no host sent, and
    `LimitError`.
    """
    content = [_read_block(raw)] if part else _read_message(raw).content
    output = ConverseOutput(message=WireMessage(role="assistant", content=content))
    return (parse_reply(ConverseResponse(output=output)).message,)
