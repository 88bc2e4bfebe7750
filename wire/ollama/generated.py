"""The server's side of /api/generate: a prompt of a client, and the continuation that it gets.

The model is asked as in a chat: its template is applied to the system text and the prompt in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wire.core.arguments import checked_arguments
from wire.neutral.messages import Message, Reply
from wire.neutral.serving import (
    ReceivedRequest,
    ResponseHead,
    Split,
    decoded_request,
    in_one_piece,
    rendering,
)
from wire.neutral.unread import find_unread, keys
from wire.ollama import replies
from wire.ollama.received import OPTIONS, parts_of, received_of
from wire.ollama.replies import framed
from wire.ollama.types import GenerateRequest

_READ = keys("model prompt system images stream think format", options=OPTIONS)
_READ_OF_OWN = {key: shape for key, shape in _READ.items() if key != "think"}
_REFUSED = {
    "suffix": "text between two texts has no neutral form",
    "template": "a template of the prompt has no neutral form",
    "raw": "a prompt without a template has no neutral form",
    "context": "the tokens of an earlier answer have no neutral form",
    "width": "the gateway draws no pictures here",
    "height": "the gateway draws no pictures here",
    "steps": "the gateway draws no pictures here",
}
_REMEDY = "ask Ollama's own server, or send the conversation to /api/chat"


@checked_arguments()
def parse_request(
    body: bytes, *, provider: str = "", model: str = "", counts: bool = False
) -> ReceivedRequest:
    """Convert the body of a request for the continuation of a text.

    >>> parse_request(b'{"model":"qwen3","prompt":"Once"}').request.messages
    (Message('user', 'Once'),)

    Parameters and errors are those of `wire.ollama.parse_request`.
    """
    sent = decoded_request(body, GenerateRequest)
    given = find_unread(body, _READ_OF_OWN if provider else _READ, own=bool(provider))
    for key, problem in _REFUSED.items():
        for value in given.taken(key):
            if value:
                given.refuse(key, problem, _REMEDY)
    prompt = Message.user(*parts_of(sent.prompt, sent.images, given))
    system = (Message.system(sent.system),) if sent.system else ()
    return received_of(sent, (*system, prompt), given)


def generated(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer of /api/chat as one of /api/generate.

    >>> generated({"model": "m", "created_at": "", "message": {"content": "Hi"}})["response"]
    'Hi'
    """
    message: Mapping[str, Any] = body["message"]
    texts = {"response": message.get("content") or ""}
    if "thinking" in message:
        texts["thinking"] = message["thinking"]
    head = {key: body[key] for key in ("model", "created_at")}
    rest = {key: each for key, each in body.items() if key not in (*head, "message")}
    return {**head, **texts, **rest}


def body_of(
    reply: Reply, received: ReceivedRequest | None = None, head: ResponseHead | None = None
) -> dict[str, Any]:
    """Return a reply as an answer.

    >>> from wire.neutral.messages import Stop
    >>> body_of(Reply(Message.assistant("Hello."), Stop("end")))["response"]
    'Hello.'

    Parameters are those of `wire.ollama.replies.body_of`. Calls of tools have no place in it.
    """
    return generated(replies.body_of(reply, received, head))


def events_of(body: Mapping[str, Any], split: Split = in_one_piece) -> Iterator[dict[str, Any]]:
    """Yield a whole answer as the lines of a stream; `split` returns the pieces of a text."""
    head = {key: body[key] for key in ("model", "created_at") if key in body}
    for key in ("thinking", "response"):
        for piece in split(body.get(key) or ""):
            yield {**head, "response": "", key: piece, "done": False}
    yield {**{key: each for key, each in body.items() if key != "thinking"}, "response": ""}


class ReplyWriter(replies.ReplyWriter):
    """Writes the lines of one reply while it arrives, as `wire.ollama.ReplyWriter`."""

    def _written(self, line: Mapping[str, Any]) -> bytes:
        """Render one line."""
        return framed([generated(line)])


render_reply = rendering(body_of, events_of, framed)
