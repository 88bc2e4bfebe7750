"""The server's side of embeddings: the request of a client, and the response that it gets."""

from __future__ import annotations

from typing import Any

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.call import Call
from wire.core.decoders import decoder
from wire.core.errors import RuleError, Violation
from wire.gemini.decode import decode
from wire.gemini.embeddings import batch_embed_contents, embed_content
from wire.gemini.neutral_calls import TASK_TYPES
from wire.gemini.received import camel
from wire.gemini.types import BatchEmbedContentsRequest, EmbedContentConfig, EmbedContentRequest
from wire.neutral.embeddings import Embeddings, EmbedRequest, ReceivedEmbed
from wire.neutral.serving import encoded
from wire.neutral.unread import NO_FORM, Unread, find_unread, keys

_OPTIONS = "outputDimensionality taskType"
_ITEM = keys(
    f"model {_OPTIONS}",
    content=keys("role", parts=keys("text")),
    embedContentConfig=keys(_OPTIONS),
)
_TASKS = {"TASK_TYPE_UNSPECIFIED": None, **{word: task for task, word in TASK_TYPES.items()}}


@checked_arguments()
def parse_embed_request(body: bytes, *, single: bool = False) -> ReceivedEmbed:
    """Convert the body of batchEmbedContents, or with `single` that of embedContent.

    >>> body = b'{"content":{"parts":[{"text":"Hi"}]},"taskType":"CLASSIFICATION"}'
    >>> parse_embed_request(body, single=True).request
    EmbedRequest(texts=('Hi',), task='classification')

    Raises `RuleError` with the JSON path of a value of a wrong type.
    """
    if single:
        items = [decode(body, EmbedContentRequest)]
    else:
        items = decode(body, BatchEmbedContentsRequest).requests or []
    given = find_unread(body, _ITEM if single else keys("model", requests=_ITEM), camel)
    if not items:
        given.refuse("requests", "expected at least one request")
    paths = [""] if single else [f"requests[{index}]." for index in range(len(items))]
    read = [
        (_text(path, item, given), *_options(path, item, given))
        for path, item in zip(paths, items, strict=True)
    ]
    for index, (_, *options) in enumerate(read):
        if options != list(read[0][1:]):
            problem = "expected the task and the dimensions of requests[0]"
            given.refuse(f"requests[{index}]", problem, "send it alone")
    request = None
    if not given.refused:
        request = EmbedRequest(tuple(text for text, *_ in read), *read[0][1:])
    return ReceivedEmbed(request=request, unread=given, single=single)


def _text(path: str, item: EmbedContentRequest, given: Unread) -> str:
    """Return the text of an item; the server makes one vector of all its parts."""
    parts = (item.content.parts if item.content is not None else None) or []
    for index, part in enumerate(parts):
        if part.text is None:
            at = f"{path}content.parts[{index}]"
            given.refuse(at, "expected a text: only models of this API embed other parts")
    texts = [part.text for part in parts if part.text]
    if not texts:
        given.refuse(f"{path}content", "expected a text that is not empty")
    if len(texts) > 1:
        given.tell(f"{path}content.parts", "sent as one text, with line breaks between the parts")
    return "\n".join(texts)


def _options(path: str, item: EmbedContentRequest, given: Unread) -> tuple[int | None, str | None]:
    config = item.embed_content_config or EmbedContentConfig()
    size = config.output_dimensionality
    size = item.output_dimensionality if size is None else size
    word = str(config.task_type or item.task_type or "")
    if size is not None and size < 1:
        given.refuse(f"{path}outputDimensionality", f"expected a whole number from 1, not {size}")
    if word and word not in _TASKS:
        given.tell(f"{path}taskType", NO_FORM)
    return size, _TASKS.get(word)


def own_embed_call(body: bytes, model: str, *, single: bool = False) -> Call[Any]:
    """Return the call of a model of the client's own API, with everything that the client sent."""
    call: Call[Any] = embed_content(model, "") if single else batch_embed_contents(model, [])
    try:
        sent: dict[str, Any] = decoder(dict[str, Any]).decode(body)
    # In the value of a key that has no neutral form, which nothing has read yet.
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise RuleError(violations=[Violation("body", f"expected JSON: {cause}")]) from None
    requests = [] if single else sent["requests"]
    named = [sent, *(requests if isinstance(requests, list) else [requests])]
    for each in named:  # the server requires the model of the path in each
        each["model"] = call.path[1:].partition(":")[0]
    return msgspec.structs.replace(call, body=encoded(sent))


@checked_arguments()
def render_embeddings(
    answer: Embeddings, received: ReceivedEmbed, *, model: str, tokens: int
) -> bytes:
    """Write vectors as the response that the client gets."""
    vectors = [{"values": each} for each in answer]
    made = {"embedding": vectors[0]} if received.single else {"embeddings": vectors}
    return encoded({**made, "usageMetadata": {"promptTokenCount": tokens}})
