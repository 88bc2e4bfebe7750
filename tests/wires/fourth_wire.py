"""The smallest wire: one request field, answers of one text, streams of one JSON object a line.

The module satisfies `wire.wires.Wire`. Tests put it into the table of wires, and ask it through the
clients and chats as they are.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from tests.wires import fourth_batching
from wire import history
from wire.core.bodies import checked_body
from wire.core.call import Call, StreamCall
from wire.core.flow import Flow
from wire.core.lenient import decoded
from wire.core.memory import Note, WireStruct, encode, with_notes
from wire.core.provider import Provider, ProviderNames
from wire.errors import (
    APIError,
    ConfigurationError,
    StreamIncomplete,
    Violation,
    WireError,
    class_of_status,
    refuse,
)
from wire.neutral.batches import WireBatches
from wire.neutral.decisions import DecideRequest, Decisions
from wire.neutral.embeddings import Embeddings, EmbedRequest
from wire.neutral.messages import Done, Event, Message, Reply, Stop, TextDelta
from wire.neutral.models import ListedModel, ModelPage
from wire.neutral.rendering import ReplyReader, wire_call
from wire.neutral.request import Request, TokenCount
from wire.neutral.serving import ReceivedRequest, ResponseHead

AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])


class Question(WireStruct, frozen=True, kw_only=True):
    """A request."""

    model: str
    text: str
    stream: bool | None = None


class Answer(WireStruct, frozen=True, kw_only=True):
    """A whole answer, or a piece of one."""

    text: str = ""
    end: bool | None = None


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """What a host does differently."""

    refuses_capitals: bool = False


ROWS = tuple(
    Provider(
        name,
        wire="fourth",
        base_url=f"https://{name.replace('@', '-')}.example",
        prefix="/v1",
        key_variable="FOURTH_API_KEY",
        key_header="x-key",
        dialect=dialect,
    )
    for name, dialect in (
        ("fourth", Dialect(refuses_capitals=True)),
        ("fourth@loud", Dialect()),
    )
)
endpoint_paths = re.compile(r"(/v1)?/answers/*$")
batching: WireBatches | None = fourth_batching
media_calls = None
provider_row = ProviderNames("fourth", ROWS, Dialect()).row


def check(
    request: Question, model: str = "", provider: Provider | str = "fourth", *, date: str = ""
) -> list[Violation]:
    """Every rule that the request breaks."""
    found = []
    if not request.text:
        found.append(Violation("text", "expected a question", "F1"))
    if provider_row(provider).dialect.refuses_capitals and request.text.isupper():
        found.append(Violation("text", "no need to shout", "F2"))
    if len(request.text) > 20:
        found.append(Violation("text", "a long question", "F3", severity="warning"))
    return found


# --- the raw door ---------------------------------------------------------------------------------


def ask(question: Question, *, checked: bool = True) -> Call[Answer]:
    """One question, one whole answer."""
    body, host_rules = _body(question, checked)
    return Call(
        "fourth",
        "POST",
        "/answers",
        body,
        parse=functools.partial(decoded, kind=Answer),
        read_error=parse_error,
        host_rules=host_rules,
    )


def stream_answer(question: Question, *, checked: bool = True) -> StreamCall[Answer, Answer]:
    """One question, the answer in pieces."""
    body, host_rules = _body(msgspec.structs.replace(question, stream=True), checked)
    return StreamCall(
        "fourth",
        "POST",
        "/answers",
        body,
        reader=LineReader,
        fold=fold,
        read_error=parse_error,
        host_rules=host_rules,
    )


def _body(question: Question, checked: bool) -> tuple[bytes, Callable[[Any, Provider], Any] | None]:
    body, read = checked_body(question)
    if not checked:
        return body, None
    refuse(check(read, provider=""))
    return body, functools.partial(_judged, read)


def _judged(question: Question, call: AnyCall, provider: Provider) -> AnyCall:
    refuse(check(question, provider=provider))
    return call


class LineReader:
    """Bytes in, an answer for each line out."""

    def __init__(self, limit: int) -> None:
        self.error: WireError | None = None
        self.done = self.finished = False
        self.notes: list[Note] = []
        self._rest = b""

    def feed(self, data: bytes) -> list[Answer]:
        """Answers whose line `data` completes."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        pieces = [decoded(line, Answer) for line in lines]
        self.done = self.finished = any(piece.end for piece in pieces)
        return pieces

    def close(self) -> list[Answer]:
        """Nothing: a line that was cut off is no answer."""
        self.error = None if self.finished else StreamIncomplete("no end came")
        return []


def fold(pieces: Sequence[msgspec.Raw]) -> Answer:
    """The whole answer that the pieces are."""
    return Answer(text="".join(decoded(bytes(piece), Answer).text for piece in pieces), end=True)


def parse_error(status: int, headers: Mapping[str, str], body: bytes) -> APIError:
    """The typed error for an error answer."""
    return class_of_status(status)(body.decode("utf-8", "replace"), status=status)


# --- the neutral door -----------------------------------------------------------------------------


def call(request: Request, model: str, provider: Provider | str = "fourth") -> Call[Reply]:
    """The request as a call with one whole reply."""
    raw = _wire_call(ask, request, model, provider)
    return ReplyReader(parse_reply, EventReader, raw.notes).whole_call(raw)


def stream_call(
    request: Request, model: str, provider: Provider | str = "fourth"
) -> StreamCall[Event, Reply]:
    """The request as a call whose stream hands out events."""
    raw = _wire_call(stream_answer, request, model, provider)
    return ReplyReader(parse_reply, EventReader, raw.notes).event_call(raw)


def _wire_call(
    make: Callable[..., AnyCall], request: Request, model: str, provider: Provider | str
) -> AnyCall:
    row = provider_row(provider)
    messages, found, _ = history.sendable(request.messages, row.name, model)
    built = Question(model=model, text="\n".join(each.text for each in messages.values()))
    return wire_call(
        with_notes(built, found),
        request.options,
        row,
        functools.partial(make, checked=False),
        lambda question, row: check(question, model, row),
    )


def parse_reply(answer: Answer, /, *, error: WireError | None = None) -> Reply:
    """A whole answer as a neutral reply."""
    return Reply(Message.assistant(answer.text), Stop(reason="end"))


def parse_request(
    body: bytes, *, provider: str = "", model: str = "", counts: bool = False
) -> ReceivedRequest:
    """The text of a client as its message."""
    asked = decoded(body, Question)
    return ReceivedRequest(
        request=Request(messages=(Message.user(asked.text),)), stream=bool(asked.stream)
    )


def render_reply(
    reply: Reply,
    received: ReceivedRequest | None = None,
    head: ResponseHead | None = None,
    *,
    stream: bool = False,
) -> bytes:
    """The text of a reply, whole and as its only piece."""
    return encode(Answer(text=reply.text, end=True)) + (b"\n" if stream else b"")


def render_error(status: int, message: str, code: str = "") -> dict[str, Any]:
    """The text of an error."""
    return {"error": message}


class ReplyWriter:
    """One line of JSON for each piece."""

    def __init__(self, received: ReceivedRequest, head: ResponseHead) -> None:
        pass

    def begin(self) -> bytes:
        """Nothing."""
        return b""

    def feed(self, event: Event) -> bytes:
        """A line for a piece of text, and for the end."""
        piece = Answer(end=True) if isinstance(event, Done) else None
        piece = Answer(text=event.text) if isinstance(event, TextDelta) else piece
        return b"" if piece is None else encode(piece) + b"\n"


def count_call(
    request: Request, model: str, provider: Provider | str = "fourth"
) -> Call[TokenCount] | None:
    """It has no endpoint that counts."""
    return None


def embed_flow(
    request: EmbedRequest, model: str, provider: Provider | str = "fourth"
) -> Flow[Embeddings]:
    """It has no embeddings."""
    raise ConfigurationError("model: fourth has no embeddings")


def decide_call(
    request: DecideRequest, model: str, provider: Provider | str = "fourth"
) -> Call[Decisions] | None:
    """It has no decisions."""
    return None


def models_call(cursor: str = "", provider: Provider | str = "fourth") -> Call[ModelPage]:
    """The body of each page is the name of its only model, which is the cursor of the next one."""
    return Call("fourth", "GET", f"/models/{cursor}", parse=_page, read_error=parse_error)


def _page(body: bytes) -> ModelPage:
    return ModelPage((ListedModel(id=body.decode()),), body.decode())


def parse_message(
    raw: bytes, provider: Provider | str = "fourth", *, part: bool = False
) -> tuple[Message, ...]:
    return (parse_reply(decoded(raw, Answer)).message,)


class EventReader:
    """Pieces of one answer in, neutral events out."""

    def feed(self, piece: Answer) -> list[Event]:
        """The text of a piece."""
        return [TextDelta(piece.text)] if piece.text else []

    def close(self, reply: Reply) -> list[Event]:
        """The whole reply."""
        return [Done(reply)]
