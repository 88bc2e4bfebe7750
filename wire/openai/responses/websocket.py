"""Responses over WebSocket: the session as a call, and responses that follow each other on one.

The server keeps the last response of a connection in memory, even if it stores none. A request
whose input begins with that response and all before it is therefore sent with
`previous_response_id` and the new items alone.

Source: the SDK for Python of OpenAI, 3.57.0, November 2026; public threads about its use.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.bodies import checked_body, wrong_type
from wire.core.call import SocketCall
from wire.core.errors import RuleError, StreamInvalid, Violation, refuse
from wire.core.framing import shown
from wire.core.lenient import Unreadable, decoded, fields_of, items_of, plain
from wire.core.turns import Turn
from wire.openai.common.error_body import parse_error
from wire.openai.responses.fold import TERMINAL_EVENTS
from wire.openai.responses.parse import WIRE
from wire.openai.responses.rules import Body, check_body
from wire.openai.responses.types import ResponseRequest, ResponseSteer, StreamEvent

_NOT_FOUND = "previous_response_not_found"
_TOO_OLD = "websocket_connection_limit_reached"
"""The code of a connection that is 60 minutes old."""


@checked_arguments()
def socket() -> SocketCall[ResponseRequest | ResponseSteer, StreamEvent]:
    """Build the call that opens a session: requests go out, and events of responses come in.

    >>> socket().path
    '/responses'

    `socket.send(request)` asks for a response; one is made at a time. Its events end with
    `response.completed`, `response.incomplete`, `response.failed` or `error`, none of which ends
    the session. After 60 minutes the server ends it. A request is refused as by `stream_response`,
    and with `background`.
    """
    return SocketCall(
        WIRE, "GET", "/responses", encode=_encoded, parse=_event, read_error=parse_error
    )


def _encoded(event: ResponseRequest | ResponseSteer) -> bytes:
    if isinstance(event, ResponseSteer):
        body, _ = checked_body(event, "input" if isinstance(event.input, list) else "")
        return _typed("response.steer", body)
    if not isinstance(event, ResponseRequest):
        raise wrong_type("event", event, "ResponseRequest or a ResponseSteer")
    if event.background:
        raise RuleError(violations=[Violation("background", "not possible over a socket")])
    request = msgspec.structs.replace(event, stream=None, background=None)
    body, read = checked_body(request, "input")
    refuse(check_body(Body(read), "", ""))
    return _typed("response.create", body)


def _typed(kind: str, body: bytes) -> bytes:
    """Put the type in front of the keys of a body."""
    begin = b'{"type":"%s"' % kind.encode()
    return begin + (b"," if body[1:2] != b"}" else b"") + body[1:]


def _event(message: bytes) -> StreamEvent:
    try:
        return decoded(message, StreamEvent)
    except Unreadable as cause:
        problem = f"not an event of Responses ({cause}): {shown(message)}"
    raise StreamInvalid(problem, raw=message)


# --- responses that follow each other -------------------------------------------------------------


class Asked(NamedTuple):
    """What a request asks about."""

    model: bytes
    items: list[bytes]
    """The items of its input, each as bytes."""
    goes_on: bool
    """Whether it goes on with what the server has stored."""
    fields: dict[str, msgspec.Raw]


class ResponseTurns:
    """The responses of one connection, one after the other; satisfies `wire.core.turns.Turns`.

    A request repeats the conversation, in the same bytes as before. So items are compared as bytes
    first; only those of the server, which come back without some keys, have to be decoded.
    """

    __slots__ = (
        "_asked",
        "_begun",
        "_id",
        "_is_continued",
        "_items",
        "_model",
        "_output",
        "_read",
    )

    def __init__(self) -> None:
        self._read: tuple[bytes, Asked] | None = None
        """A body that was read to choose this connection: it is asked about next."""
        self._id = ""
        """The last response, if it is complete."""
        self._items: list[bytes] = []
        """All items up to its end."""
        self._model = b""
        self._asked: list[bytes] = []
        self._output: dict[int, bytes] = {}
        self._begun = self._is_continued = False

    def read(self, body: bytes) -> Asked:
        """Return what the body of a request asks about."""
        if self._read is not None and self._read[0] is body:
            return self._read[1]
        fields = fields_of(body)
        goes_on = any(
            bytes(fields.get(key, b"null")) not in (b"null", b'""')
            for key in ("previous_response_id", "conversation")
        )
        items = _items(fields.get("input"))
        asked = Asked(bytes(fields.get("model", b"")), items, goes_on, fields)
        self._read = body, asked
        return asked

    def known(self, request: Asked) -> int:
        """Return how many items of the input the connection has already."""
        count = len(self._items)
        if not self._id or request.goes_on or request.model != self._model:
            return 0
        is_longer = len(request.items) > count
        return count if is_longer and all(map(_is_same, self._items, request.items)) else 0

    def begin(self, body: bytes, *, anew: bool = False) -> bytes:
        """Return the message that asks for a response."""
        asked = self.read(body)
        count = 0 if anew else self.known(asked)
        self._read = None
        fields = dict(asked.fields)
        for key in ("stream", "background", "stream_options"):
            fields.pop(key, None)
        if count:
            fields["previous_response_id"] = msgspec.Raw(msgspec.json.encode(self._id))
            fields["input"] = msgspec.Raw(b"[" + b",".join(asked.items[count:]) + b"]")
        self._model, self._asked = asked.model, [] if asked.goes_on else asked.items
        self._is_continued = count > 0
        self._begun, self._output, self._id = False, {}, ""
        return msgspec.json.encode({"type": "response.create", **fields})

    def take(self, message: bytes) -> Turn:
        """Read one event as the bytes that HTTP would send."""
        try:
            event = fields_of(message)
        except RecursionError:  # the client refuses such a message before it comes here
            event = {}
        kind = str(plain(bytes(event.get("type", b"null"))))
        if kind == "error":
            return self._refused(plain(message), message)
        if kind == "response.created":
            self._begun = True
        elif event and not self._begun:
            return Turn()  # a remainder of the response before
        if kind == "response.output_item.done":
            at = plain(bytes(event.get("output_index", b"null")))
            if isinstance(at, int):
                self._output[at] = bytes(event.get("item", b"null"))
        is_last = kind in TERMINAL_EVENTS or kind == "response.failed"
        if kind == "response.completed":
            self._complete(fields_of(event.get("response", b"null")))
        # What is no object is for the reader of the answer, who tells what is wrong.
        return Turn(_framed(message), is_last)

    def _complete(self, response: dict[str, msgspec.Raw]) -> None:
        id = plain(bytes(response.get("id", b"null")))
        if isinstance(id, str) and self._asked:
            self._id = id
            self._items = [*self._asked, *(self._output[at] for at in sorted(self._output))]

    def _refused(self, event: dict[str, Any], message: bytes) -> Turn:
        error = event.get("error")
        code = error.get("code") if isinstance(error, dict) else event.get("code")
        if self._begun:
            return Turn(_framed(message), is_last=True, keeps=False)
        if code == _TOO_OLD:
            return Turn(_framed(message), is_last=True, again=True, keeps=False)
        again = code == _NOT_FOUND and self._is_continued
        status = event.get("status")
        if isinstance(status, int) and 400 <= status < 600:
            return Turn(message, is_last=True, status=status, again=again)
        return Turn(_framed(message), is_last=True, again=again)


def _framed(message: bytes) -> bytes:
    # Outside of texts, line ends of JSON are blanks; in texts there are none.
    return b"data: " + message.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n\n"


def _items(given: msgspec.Raw | None) -> list[bytes]:
    """Return the items of an input, each as bytes."""
    value = bytes(given or b"")
    if value[:1] == b'"':
        return [b'{"role":"user","content":%s}' % value]
    return [bytes(each) for each in items_of(value)]


def _is_same(item: bytes, other: bytes) -> bool:
    """Return whether two items are the same, apart from what the server adds to its own."""
    return item == other or _bare(item) == _bare(other)


_OF_THE_SERVER = ("id", "status")
"""Keys that a client may leave out when it sends an item back."""


def _bare(item: bytes) -> Any:
    value = plain(item)
    if isinstance(value, dict):
        value = {key: each for key, each in value.items() if key not in _OF_THE_SERVER}
        value = {key: each for key, each in value.items() if each is not None}
    return json.dumps(value, sort_keys=True)
