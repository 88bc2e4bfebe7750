"""The file of requests of a batch, for all families of OpenAI's endpoints.

It is not called `batch_lines.py`: once it is imported, a module of that name would hide the
function `batch_lines` of the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wire.core.arguments import checked_arguments
from wire.core.bodies import wrong_type
from wire.core.call import Call
from wire.core.errors import RuleError, Violation, violations_below
from wire.core.json_lines import join_lines
from wire.openai.chat.endpoints import chat_completions
from wire.openai.chat.types import ChatCompletionRequest, EmbeddingRequest
from wire.openai.common.batches import input_line
from wire.openai.common.endpoints import embeddings
from wire.openai.responses.endpoints import create_response
from wire.openai.responses.types import ResponseRequest


@checked_arguments()
def batch_lines(
    requests: Mapping[str, ChatCompletionRequest | ResponseRequest | EmbeddingRequest],
) -> bytes:
    """Build the file of requests for `create_batch`, with one JSON line for each request.

    Upload it with `upload_file(..., purpose="batch")`. The keys come back as `custom_id` of the
    results.

    >>> from wire.openai import ChatCompletionRequest, Message
    >>> request = ChatCompletionRequest(model="m", messages=[Message(role="user", content="Hi")])
    >>> batch_lines({"a": request}).split(b'"body":')[0]
    b'{"custom_id":"a","method":"POST","url":"/v1/chat/completions",'

    Raises `RuleError` as the calls of the requests do; its paths begin with `requests[KEY]`. The
    server takes requests of one endpoint and one model, up to 50,000.
    """
    if not isinstance(requests, Mapping):
        raise wrong_type("requests", requests, "mapping of ids to requests")
    if not requests:
        raise RuleError(violations=[Violation("requests", "expected at least one request")])
    lines: dict[str, tuple[str, bytes]] = {}
    for key, request in requests.items():
        path = f"requests[{key!r}]"
        try:
            url, body = _url_and_body(request)
        except RuleError as error:
            raise RuleError(violations=violations_below(path, error)) from None
        lines[key] = url, body
    urls = sorted({url for url, _ in lines.values()})
    if len(urls) > 1:
        problem = f"a batch has one endpoint, not {' and '.join(urls)}"
        raise RuleError(violations=[Violation("requests", problem)])
    return join_lines(input_line(key, url, body) for key, (url, body) in lines.items())


def _url_and_body(request: Any) -> tuple[str, bytes]:
    """Return the endpoint of a request, and its checked JSON."""
    call: Call[Any]
    if isinstance(request, ChatCompletionRequest):
        call = chat_completions(request)
    elif isinstance(request, ResponseRequest):
        call = create_response(request)
    elif isinstance(request, EmbeddingRequest):
        call = embeddings(request)
    else:
        kinds = "ChatCompletionRequest, ResponseRequest or EmbeddingRequest"
        raise wrong_type("", request, kinds)
    return f"/v1{call.path}", call.body
