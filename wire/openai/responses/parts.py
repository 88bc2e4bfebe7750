"""Writes neutral messages as items.

Items that this model sent are sent back in their order, with the bytes in which they came, and
nothing is put between them. Only keys are taken out that a server refuses to get back: the id of an
item that it did not store, the status, and keys without a value. Results come directly after the
items of their turn. Parts that the wire cannot express are left out with a note, or refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.errors import HistoryError, LimitError, Violation
from wire.core.lenient import Unreadable, decoded, fields_of, items_of
from wire.core.memory import Note, WireStruct, encode, freeze, remember
from wire.core.provider import Provider
from wire.neutral.ids import LegalIds, ReplyIds, ToolNames, safe_names
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
    origin_of,
    own_text,
    source_of,
)
from wire.neutral.pairing import Answers
from wire.neutral.rendering import transcript_note
from wire.neutral.request import TEXT_PARAMETER
from wire.openai.common.arguments import as_object, custom_input
from wire.openai.responses.dialect import Dialect
from wire.openai.responses.fold import keep_bytes
from wire.openai.responses.media import media_part
from wire.openai.responses.parse import CALLS, WIRE, parse_reply, parts_of
from wire.openai.responses.types import ContentPart, Item, Response

if TYPE_CHECKING:  # few requests have breakpoints
    from wire.openai.common.caching import Breakpoints

W = TypeVar("W", bound=WireStruct)

SentMessage: TypeAlias = tuple[str, Message]
"""Path of a message in the neutral request, and the message."""

_TOOL_NAMES = ToolNames(
    legal=re.compile(r"[A-Za-z0-9_-]{1,64}"),
    most=64,
    kept=60,
    note="calls of {name} are sent as {safe}: the wire refuses the original name",
)


def instructions_of(
    system: str, conversation: Sequence[SentMessage]
) -> tuple[str, list[SentMessage]]:
    """Return the instructions, and the rest of the conversation.

    Instructions are one text before the conversation. So they are the system text, or the first
    message if that is the only one with instructions; any other such message stays at its place.
    """
    rest = list(conversation)
    systems = [path for path, message in rest if message.instructs]
    if (
        not system.strip()
        and len(systems) == 1
        and rest[0][1].instructs
        and not rest[0][1].cache  # only parts of a message can have a breakpoint
    ):
        texts = [part.text for part in rest[0][1].parts if isinstance(part, Text)]
        if len(texts) == len(rest[0][1].parts) and "".join(texts).strip():
            return "\n\n".join(texts), rest[1:]
    return (system if system.strip() else ""), rest


def input_items(
    conversation: Sequence[SentMessage],
    answers: Mapping[str, Answers],
    tools: Iterable[str],
    accepted: Accepted,
    dialect: Dialect,
    notes: list[Note],
    breakpoints: Breakpoints[Item] | None = None,
) -> list[Item]:
    """Render the items of a conversation that `wire.history.check` accepts.

    `answers` are the results of the calls, by the path of the message with the calls. `tools` are
    the tool names in use, which a renamed call must not get. `breakpoints` are `None` if no message
    gets one. Raises `HistoryError` or `RuleError` that names the part which the wire cannot
    express.
    """
    calls = (
        (path, part.name)
        for path, message in conversation
        for part in message.parts
        if isinstance(part, ToolCall)
    )
    writer = _Writer(dialect, accepted, safe_names(calls, tools, _TOOL_NAMES, notes), notes)
    items: list[Item] = []
    for path, message in conversation:
        role, text = message.role, own_text(message)
        if role == "user" and text is not None:
            items.append(Item(type="message", role=role, content=text))
        elif role == "assistant" and text and dialect.ids != "messages":
            part = ContentPart(type="output_text", text=text)
            items.append(Item(type="message", role=role, content=[part]))
        elif role == "assistant":
            own = writer.assistant(message, path)
            items += own if breakpoints is None else breakpoints.marked(path, own)
            results = list(writer.results(answers[path])) if path in answers else []
            if breakpoints is not None and results:
                # The results of one message may stand between those of others: its last one counts.
                of_turn = enumerate(answers[path].results)
                for each, at in {each.path.partition(".")[0]: at for at, each in of_turn}.items():
                    results[at : at + 1] = breakpoints.marked(each, results[at : at + 1])
            items += results
        elif role != "tool":
            sent = writer.message(message, path)
            items += sent if breakpoints is None else breakpoints.marked(path, sent)
    if not items:
        problem = "no part of it can be sent to this model"
        raise HistoryError(violations=[Violation("messages", problem)])
    return items


class Accepted(msgspec.Struct, frozen=True):
    """The features of items that the host and the model accept."""

    refusals: bool = True
    custom_tools: frozenset[str] | None = frozenset()
    """Names of the custom tools of the request; `None` if the host has no custom tools."""


class _Writer:
    """Writes the messages of one conversation, and notes what it changes."""

    def __init__(
        self,
        dialect: Dialect,
        accepted: Accepted,
        names: Mapping[str, str],
        notes: list[Note],
    ) -> None:
        self._dialect, self._names, self._notes = dialect, names, notes
        self._accepted = accepted
        self._ids = LegalIds(dialect.call_ids)
        self._used_ids: set[str] = set()
        # Of the current turn: id of a call -> its id as sent, and its kind.
        self._sent: dict[str, tuple[str, str]] = {}

    def _note(self, path: str, message: str) -> None:
        self._notes.append(Note(path, message))

    # --- user and system

    def message(self, message: Message, path: str) -> Iterator[Item]:
        """Yield a message of the user, or one with instructions; yield nothing if it is empty."""
        content: list[ContentPart] = []
        for index, part in enumerate(message.parts):
            part_path = f"{path}.parts[{index}]"
            if isinstance(part, Text):
                if part.signature:
                    self._note(part_path, _NO_SIGNATURE)
                content.append(ContentPart(type="input_text", text=part.text))
            elif isinstance(part, Media):
                content.append(self._media(part, part_path))
            elif isinstance(part, Other) and (own := self._source(part, part_path, _read_part)):
                content.append(own)
            else:
                self._withhold(part, part_path)
        role: str = message.role
        if message.instructs:
            role = "developer" if self._dialect.developer_role else "system"
            if not "".join(part.text or "" for part in content).strip():
                self._note(path, "left out: an empty system message")
                return
        if len(content) == 1 and content[0].type == "input_text":
            yield Item(type="message", role=role, content=content[0].text)
        elif content:
            yield Item(type="message", role=role, content=content)

    def _media(self, media: Media, path: str) -> ContentPart:
        for name in ("start", "end", "fps"):
            if getattr(media, name) not in ("", None):
                self._note(f"{path}.{name}", "left out: the wire has no field for it")
        part = media_part(media, path)
        if media.name and part.type == "input_image":
            self._note(f"{path}.name", "left out: images have no name on this wire")
        return part

    # --- assistant

    def assistant(self, message: Message, path: str) -> list[Item]:
        """Render the items of a message of the model."""
        self._sent = {}
        received = self._received(message, path)
        items = (
            [item for source, parts in received for item in self._received_item(source, parts)]
            if received is not None
            else self._rebuilt(message, path)
        )
        if self._dialect.adjacent_results:
            items = self._with_calls_last(items, path)
        return items

    def _received(
        self, message: Message, path: str
    ) -> list[tuple[Item, list[tuple[Part, str]]]] | None:
        """Return the items that the message was received as, each with its parts and their paths.

        The result is `None` if the message came from elsewhere or was changed.
        """
        origin = message.origin
        if origin is None or origin.wire != WIRE:
            return None
        try:
            items = source_of(origin, _read_message).output or []
        except (Unreadable, LimitError):
            if origin.raw:
                self._note(path, "rebuilt: the bytes that it was received with are not valid")
            return None
        parts = [(part, f"{path}.parts[{index}]") for index, part in enumerate(message.parts)]
        received: list[tuple[Item, list[tuple[Part, str]]]] = []
        for item in items:
            own = parts_of(item, ReplyIds(b""))
            taken, parts = parts[: len(own)], parts[len(own) :]
            if [type(part) for part, _ in own] != [type(part) for part, _ in taken]:
                parts = [*parts, *taken]
                break
            received.append((item, taken))
        if parts or len(received) != len(items):
            self._note(path, "rebuilt: it differs from the bytes that it was received with")
            return None
        return received

    def _rebuilt(self, message: Message, path: str) -> list[Item]:
        items: list[Item] = []
        texts: list[ContentPart] = []
        for index, part in enumerate(message.parts):
            part_path = f"{path}.parts[{index}]"
            if isinstance(part, ServerToolResult) and origin_of(part) is not None:
                continue  # sent with its call, whose item has it
            source = self._source(part, part_path, _read_item)
            if source is None and isinstance(part, Text):
                texts += self._output_text(part, part_path)
                continue
            items += self._own_message(texts)
            texts = []
            items += (
                self._part(part, part_path)
                if source is None
                else self._received_item(source, [(part, part_path)])
            )
        return [*items, *self._own_message(texts)]

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

    def _received_item(self, item: Item, parts: Sequence[tuple[Part, str]]) -> list[Item]:
        """Return a received item as this host takes it back, with the parts that it became."""
        path = parts[0][1] if parts else "messages"
        if not self._accepted.refusals and item.type in ("message", None):
            texts = [(part, each) for part, each in parts if isinstance(part, Text)]
            if any(part.refusal for part, _ in texts):
                # A server may fail on the refusal that it sent itself.
                content = [text for part, each in texts for text in self._output_text(part, each)]
                return self._own_message(content)
        if item.type == "reasoning" and not self._readable(item, path):
            return []
        changed: dict[str, str] = {}
        for part, part_path in parts:
            if isinstance(part, ToolCall):
                changed = {
                    "call_id": self._call_id(part, part_path),
                    "name": self._names.get(part.name, part.name),
                }
                if isinstance(item.arguments, str):
                    changed["arguments"] = self._arguments(item.arguments, part_path)
        changed = {key: value for key, value in changed.items() if getattr(item, key) != value}
        return [_sendable(item, changed, keeps_id=self._keeps_id(item))]

    def _readable(self, item: Item, path: str) -> bool:
        """Return whether the host can read this reasoning when it comes back."""
        wanted = self._dialect.reasoning
        if wanted != "content" and item.encrypted_content:
            return True
        if wanted != "encrypted" and item.content:
            return True
        # The server would look up its id, and it did not store the item.
        self._note(path, "left out: reasoning that the host cannot read when it comes back")
        return False

    def _keeps_id(self, item: Item) -> bool:
        wanted = self._dialect.ids
        return wanted == "all" or (wanted == "messages" and item.type == "message")

    def _with_calls_last(self, items: Sequence[Item], path: str) -> list[Item]:
        first = next((at for at, item in enumerate(items) if item.type in CALLS), len(items))
        late = [item for item in items[first:] if item.type not in CALLS]
        if not late:
            return list(items)
        self._note(path, "moved before the calls: the host takes nothing between them and results")
        calls = [item for item in items[first:] if item.type in CALLS]
        return [*items[:first], *late, *calls]

    # --- parts that were not received on this wire

    def _output_text(self, part: Text, path: str) -> list[ContentPart]:
        if part.signature:
            self._note(path, _NO_SIGNATURE)
        if part.extra:
            self._note(path, f"withheld: {', '.join(part.extra)}, which received texts alone have")
        if not part.text:
            self._note(path, "left out: an empty text")
            return []
        if part.refusal and self._accepted.refusals:
            return [ContentPart(type="refusal", refusal=part.text)]
        if part.refusal:
            self._note(path, "sent as a text: this host has no refusals")
        return [ContentPart(type="output_text", text=part.text)]

    def _own_message(self, texts: Sequence[ContentPart]) -> list[Item]:
        if not texts:
            return []
        item = Item(type="message", role="assistant", content=list(texts))
        if self._dialect.ids == "messages":
            # The host's validator requires both in a message of the assistant.
            item = msgspec.structs.replace(
                item, id=f"msg_{ReplyIds(encode(item)).own(None)[5:]}", status="completed"
            )
        return [item]

    def _part(self, part: Part, path: str) -> list[Item]:
        if isinstance(part, Media) and part.transcript:
            self._notes.append(transcript_note(path))
            return self._own_message([ContentPart(type="output_text", text=part.transcript)])
        if not isinstance(part, ToolCall):
            self._withhold(part, path)
            return []
        if part.extra or part.signature:
            self._note(path, f"withheld: data of the call of {part.name} that the wire has not")
        id, name = self._call_id(part, path), self._names.get(part.name, part.name)
        tools = self._accepted.custom_tools
        custom = custom_input(part, tools or ())
        if custom is not None and tools is not None:
            self._sent[part.id] = id, "custom"  # the result gets the form of the call
            return [Item(type="custom_tool_call", call_id=id, name=name, input=custom)]
        self._sent[part.id] = id, "function"
        arguments = part.arguments if custom is None else {TEXT_PARAMETER: custom}
        if arguments is None:
            text = self._arguments(part.text or "{}", path)
        else:
            text = msgspec.json.encode(arguments).decode()  # checked with its request
        return [Item(type="function_call", call_id=id, name=name, arguments=text)]

    def _arguments(self, text: str, path: str) -> str:
        wrapped = self._dialect.invalid_arguments == "wrapped"
        return as_object(text, f"{path}.arguments", self._notes) if wrapped else text

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
        self._sent[call.id] = sent, call.kind
        return sent

    # --- results

    def results(self, answers: Answers) -> Iterator[Item]:
        """Yield the results of a turn, in the order of their calls."""
        if answers.moved:
            self._note(answers.moved, "the results were sorted into the order of their calls")
        for each in answers.results:
            id, kind = self._sent[each.result.id]
            output = self._output(each.result, each.path)
            name = "custom_tool_call_output" if kind == "custom" else "function_call_output"
            yield Item(type=name, call_id=id, output=output)

    def _output(self, result: ToolResult, path: str) -> str | list[ContentPart]:
        content = result.answer if result.error else result.content
        # Its values were checked with the request.
        text = content if isinstance(content, str) else msgspec.json.encode(content).decode()
        if not result.media:
            return text
        media = [
            self._media(each, f"{path}.media[{index}]") for index, each in enumerate(result.media)
        ]
        return [*([ContentPart(type="input_text", text=text)] if text.strip() else []), *media]

    def _withhold(self, part: Part, path: str) -> None:
        """Note a part that the wire cannot express."""
        if isinstance(part, Other):
            self._note(path, f"withheld: only its own vendor accepts {part.kind}")
        elif isinstance(part, ServerToolCall | ServerToolResult):
            self._note(path, f"withheld: the server of a vendor ran {part.name}")
        elif isinstance(part, Thought):
            self._note(path, "withheld: a thought that did not come from this model")
        else:
            kind = (part.media_type or "media") if isinstance(part, Media) else "this part"
            self._note(path, f"withheld: the wire has no field for {kind} of the assistant")


_NO_SIGNATURE = "withheld: the signature, which the wire has no field for"


def _sendable(item: Item, changed: Mapping[str, str], *, keeps_id: bool) -> Item:
    """Return a received item without the keys that a server refuses. Other items keep their bytes.

    Servers refuse keys without a value that they sent themselves.
    """
    # A host that wants the id of a message wants its status, too. OpenAI's reference requires both
    # of a generated image.
    dropped: tuple[str, ...] = ("id", "status")
    if item.type == "image_generation_call" or (keeps_id and item.type == "message"):
        dropped = ()
    elif keeps_id:
        dropped = ("status",)
    fields = {
        key: value
        for key, value in fields_of(encode(item)).items()
        if key not in dropped and bytes(value) != b"null"
    }
    fields |= {key: msgspec.Raw(msgspec.json.encode(value)) for key, value in changed.items()}
    values: dict[str, Any] = {**dict.fromkeys(dropped), **changed}
    return remember(msgspec.structs.replace(item, **values), msgspec.json.encode(fields))


def _read_message(raw: bytes) -> Response:
    """Read the received message of a saved conversation, with items that remember their bytes."""
    return keep_bytes(decoded(raw, Response), raw)


def _read_part(raw: bytes) -> ContentPart:
    return decoded(raw, ContentPart)


def _read_item(raw: bytes) -> Item:
    return remember(freeze(decoded(raw, Item)), raw)


@checked_arguments()
def parse_message(
    raw: bytes, provider: Provider | str = "openai@responses", *, part: bool = False
) -> tuple[Message, ...]:
    """Parse the bytes of a message that `parse_reply` made and that was saved; return each message
    that they can mean.

    With `part`, they are the bytes of one part. There is more than one reading if it depends on
    settings of the client that are not saved. Raises `Unreadable` for bytes that no host sent, and
    `LimitError`.
    """
    if not part:
        return (parse_reply(_read_message(raw)).message,)
    message = parse_reply(Response(output=[_read_item(raw)])).message
    # The result of a server's tool is in the item of its call, and has no bytes of its own.
    return (msgspec.structs.replace(message, parts=message.parts[:1]),)


def without_reasoning(body: bytes) -> tuple[bytes, int]:
    """Remove reasoning and the ids of items from the body of a request.

    The second value is the number of removed items of reasoning. All else keeps its bytes.
    """
    fields = fields_of(msgspec.Raw(body))
    items = [fields_of(item) for item in items_of(fields.get("input"))]
    kept = [item for item in items if bytes(item.get("type", b"")) != b'"reasoning"']
    for item in kept:
        if bytes(item.get("role", b"")) in (b"", b'"assistant"'):
            item.pop("id", None)
    fields["input"] = kept
    return msgspec.json.encode(fields), len(items) - len(kept)
