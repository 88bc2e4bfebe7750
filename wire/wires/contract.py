"""The interface of a wire, and the table of wires.

A wire is a vendor's request and response format. Its package satisfies `Wire`. The package imports
its names on first use, so that a client loads only the wire that it speaks. A new wire is a folder
whose package satisfies `Wire`, and one row in `WIRES`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from wire import anthropic, gemini, openai
from wire.openai import responses

if TYPE_CHECKING:  # without neutral requests a client does not load their modules
    from wire.core.call import Call, StreamCall
    from wire.core.errors import APIError, Violation, WireError
    from wire.core.flow import Flow
    from wire.core.provider import Provider
    from wire.neutral.batches import WireBatches
    from wire.neutral.decisions import DecideRequest, Decisions
    from wire.neutral.embeddings import Embeddings, EmbedRequest
    from wire.neutral.media import WireMedia
    from wire.neutral.messages import Event, Message, Reply
    from wire.neutral.models import ModelPage
    from wire.neutral.request import Request, TokenCount
    from wire.neutral.serving import ReceivedRequest, ReplyWriter, ResponseHead


class Wire(Protocol):
    """One wire. A package satisfies this protocol with its public functions."""

    @property
    def ROWS(self) -> Sequence[Provider]:
        """The providers that speak this wire."""
        ...

    @property
    def Dialect(self) -> type[Any]:
        """The class that describes how a host differs from the vendor's reference. Each row has an
        instance of it.
        """
        ...

    @property
    def endpoint_paths(self) -> re.Pattern[str]:
        """Matches the end of a base URL that names an endpoint: calls add that path themselves.

        Its named groups are options of the client that the path contains, such as `version`.
        """
        ...

    @property
    def batching(self) -> WireBatches | None:
        """The module for batches and uploaded files; `None` for a wire that has neither."""
        ...

    @property
    def media_calls(self) -> WireMedia | None:
        """The module for images, speech and transcripts; `None` for a wire that has none."""
        ...

    def call(self, request: Request, model: str, provider: Provider | str = "") -> Call[Reply]:
        """Build the call for one complete reply.

        Raises `HistoryError` for turns out of order, `RuleError` for a request that the model or
        the provider refuses, `SchemaError` for a schema that the wire cannot express.
        """
        ...

    def stream_call(
        self, request: Request, model: str, provider: Provider | str = ""
    ) -> StreamCall[Event, Reply]:
        """Build the call for the same reply as a stream of events. Raises as `call`."""
        ...

    def count_call(
        self, request: Request, model: str, provider: Provider | str = ""
    ) -> Call[TokenCount] | None:
        """Build the call that counts the tokens of the request; `None` without such an endpoint.

        Raises as `call`.
        """
        ...

    def embed_flow(
        self, request: EmbedRequest, model: str, provider: Provider | str = ""
    ) -> Flow[Embeddings]:
        """Build the flow that embeds the texts, in batches that the provider accepts.

        Raises `ConfigurationError` for a provider without embeddings.
        """
        ...

    def decide_call(
        self, request: DecideRequest, model: str, provider: Provider | str = ""
    ) -> Call[Decisions] | None:
        """Build the call that answers closed questions; `None` for a provider without decisions.

        Raises `RuleError` for what the provider does not take.
        """
        ...

    def models_call(self, cursor: str = "", provider: Provider | str = "") -> Call[ModelPage]:
        """Build the call for one page of the models; an empty cursor means the first one."""
        ...

    def parse_reply(self, answer: Any, /, *, error: WireError | None = None) -> Reply:
        """Convert a response of the wire to a neutral reply.

        `error` is the error that ended its stream, if any; the reply is then incomplete.
        """
        ...

    def parse_message(
        self, raw: bytes, provider: Provider | str = "", *, part: bool = False
    ) -> Sequence[Message]:
        """Parse bytes of a saved message to each message that they can mean.

        `parse_reply` made the bytes once. With `part`, they are the bytes of one part. There is
        more than one reading if it depends on settings of the client that are not saved. Raises
        `wire.core.lenient.Unreadable` for bytes that no host sent, and `LimitError`.
        """
        ...

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> APIError:
        """Parse the typed error of a response that is not 2xx. It never raises."""
        ...

    def check(
        self, request: Any, model: str = "", provider: Provider | str = "", *, date: str = ""
    ) -> list[Violation]:
        """Return all rules that a request breaks at that provider; "" is an unknown host.

        The request is a struct, or a body as bytes or as decoded JSON. `date` is the day on which
        it is sent, for the end of its model.
        """
        ...

    # --- the server's side

    def parse_request(
        self, body: bytes, *, provider: str = "", model: str = "", counts: bool = False
    ) -> ReceivedRequest:
        """Convert the body of a client's request, or with `counts` that of a count of its tokens.

        `provider` and `model` are those that the messages of the assistant came from. `refused` of
        the result has what no other model can be asked for. Raises `RuleError` with the JSON path
        of a value of a wrong type.
        """
        ...

    def render_reply(
        self,
        reply: Reply,
        received: ReceivedRequest | None = None,
        head: ResponseHead | None = None,
        *,
        stream: bool = False,
    ) -> bytes:
        """Write a reply as a whole response, or as the stream of its events.

        `received` is the request of a client of another server, which gets the parts that it can
        use; without it, the response has all parts that a host of this wire can send. `head`
        replaces id and model of the reply.
        """
        ...

    def render_error(self, status: int, message: str, code: str = "") -> dict[str, Any]:
        """Return the error object that a client gets, as a body or as an event of a stream."""
        ...

    def ReplyWriter(self, received: ReceivedRequest, head: ResponseHead) -> ReplyWriter:
        """Build the writer of the events of one reply while it arrives."""
        ...


def _converse() -> Wire:
    from wire import converse

    return cast(Wire, converse)


def _ollama() -> Wire:
    from wire import ollama

    return cast(Wire, ollama)


def _interactions() -> Wire:
    from wire.gemini import interactions

    return cast(Wire, interactions)


_LATER = {
    "converse": _converse,
    "gemini.interactions": _interactions,
    "ollama": _ollama,
}
"""Wires that are imported when they are looked up."""


class _Wires(dict[str, Wire]):
    """The table of wires. A look-up of a wire that is there costs what it costs in a dict."""

    def __missing__(self, name: str) -> Wire:
        self[name] = found = _LATER[name]()
        return found

    def __contains__(self, name: object) -> bool:
        return name in _LATER or super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*super().__iter__(), *_LATER)))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401  it is that method

    def keys(self) -> Any:
        return list(self)

    def values(self) -> Any:
        return [self[name] for name in self]

    def items(self) -> Any:
        return [(name, self[name]) for name in self]


WIRES: Mapping[str, Wire] = _Wires(
    {
        "gemini": gemini,
        "openai": openai,
        "openai.responses": responses,
        "anthropic": anthropic,
    }
)
"""Name of a wire, which is the `wire` of a provider's row, to the wire."""


def unlisted(name: str, *, key_required: bool) -> Provider:
    """Build a row for a host that has none, without a base URL.

    The host speaks chat completions, or Responses if it is called `NAME@responses`.

    >>> unlisted("my-host@responses", key_required=True).wire
    'openai.responses'
    """
    family, _, wire = name.partition("@") if isinstance(name, str) else (name, "", "")
    if wire.lower() == "responses":
        return responses.responses_host(openai.unlisted(family, key_required=key_required))
    return openai.unlisted(name, key_required=key_required)
