"""Embeddings, decisions, media and live sessions of any provider, by its wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wire.core.errors import ConfigurationError
from wire.core.provider import Provider
from wire.core.secret import quoted
from wire.wires.contract import WIRES
from wire.wires.providers import PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from wire.core.call import Call
    from wire.core.flow import Flow
    from wire.neutral.decisions import Decisions
    from wire.neutral.embeddings import Embeddings
    from wire.neutral.live import LiveConversation, LiveRequest, WireLive
    from wire.neutral.media import Kind


def embed_flow(
    texts: Any, model: Any, dimensions: int | None, task: str | None, row: Provider
) -> Flow[Embeddings]:
    """Build the flow that embeds texts."""
    from wire.neutral.embeddings import EmbedRequest

    _check(model, "gemini-embedding-001")
    request = EmbedRequest(texts, dimensions, task)
    return WIRES[row.wire].embed_flow(request, model, row)


def decide_call(input: Any, questions: Any, model: Any, row: Provider) -> Call[Decisions]:
    """Build the call that answers questions about an input.

    Raises `ConfigurationError` for a provider without such an endpoint.
    """
    from wire.neutral.decisions import DecideRequest

    _check(model, "gpt-6-luna")
    call = WIRES[row.wire].decide_call(DecideRequest(input, questions), model, row)
    if call is None:
        names = {each.name for each in PROVIDERS.values() if getattr(each.dialect, "decisions", "")}
        having = [name for name in names if name.partition("@")[0] not in names - {name}]
        raise ConfigurationError(
            f"model: {row.name} has no decisions; {', '.join(sorted(having))} have them",
            provider=row.name,
        )
    return call


def media_call(kind: Kind, request: Any, model: Any, row: Provider) -> Any:
    """Build the call that makes images or speech, or writes down a sound.

    `kind` is also the name of the function of the wire. Raises `ConfigurationError` for a provider
    without such an endpoint.
    """
    _check(model, _EXAMPLES[kind])
    needs: Kind = "translation" if getattr(request, "translate", False) else kind
    media = WIRES[row.wire].media_calls
    if media is None or needs not in media.kinds_of(row) or kind not in media.kinds_of(row):
        these = ", ".join(having(needs))
        raise ConfigurationError(
            f"model: {row.name} has no {_TOLD[needs]}; {these} have", provider=row.name
        )
    return getattr(media, f"{kind}_call")(request, model, row)


def having(kind: Kind) -> list[str]:
    """Return the names of the providers that make or read something, without their regions."""
    found = [
        each.name
        for each in PROVIDERS.values()
        if "@" not in each.name
        and (media := WIRES[each.wire].media_calls) is not None
        and kind in media.kinds_of(each)
    ]
    return sorted(found)


_TOLD: dict[Kind, str] = {
    "image": "images",
    "stream_image": "streamed images",
    "speech": "speech",
    "stream_speech": "streamed speech",
    "transcript": "transcripts",
    "stream_transcript": "streamed transcripts",
    "translation": "translated transcripts",
}
_EXAMPLES: dict[Kind, str] = {
    "image": "gpt-image-2",
    "stream_image": "gpt-image-2",
    "speech": "gpt-4o-mini-tts",
    "stream_speech": "gpt-4o-mini-tts",
    "transcript": "gpt-4o-transcribe",
    "stream_transcript": "gpt-4o-transcribe",
}


def _realtime() -> WireLive:
    from wire.openai.realtime import conversation

    return conversation


def _gemini_live() -> WireLive:
    from wire.gemini.live import conversation

    return conversation


_LIVE: dict[str, Callable[[], WireLive]] = {
    "gemini": _gemini_live,
    "openai": _realtime,
    "openai.responses": _realtime,
}
"""Wires whose hosts have live sessions, which speak a wire of their own."""


def live_conversation(request: LiveRequest, model: str, row: Provider) -> LiveConversation:
    """Build the live session of a model. Raises `ConfigurationError` for a provider without."""
    if row.wire not in _LIVE:
        raise ConfigurationError(f"model: {row.name} has no live sessions", provider=row.name)
    return _LIVE[row.wire]().live_conversation(request, model, row)


def _check(model: Any, example: str) -> None:
    if not isinstance(model, str) or not model.strip():
        raise ConfigurationError(f"model: expected a name such as {example}, not {quoted(model)}")
