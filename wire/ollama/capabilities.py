"""What a server says of a model, as facts that `check` takes."""

from __future__ import annotations

from wire.core.arguments import checked_arguments
from wire.ollama.rules import ModelFacts
from wire.ollama.types import ShowResponse


@checked_arguments()
def model_facts(shown: ShowResponse) -> ModelFacts:
    """Return the capabilities and the context window of a model.

    >>> info = {"general.architecture": "qwen3", "qwen3.context_length": 40960}
    >>> shown = ShowResponse(capabilities=["completion", "tools"], model_info=info)
    >>> model_facts(shown).context_window
    40960

    The server loads a model with a window of `options.num_ctx` tokens, or with a default by its
    memory: that may be much less.
    """
    known = None if shown.capabilities is None else frozenset(shown.capabilities)
    info = shown.model_info or {}
    window = info.get(f"{info.get('general.architecture')}.context_length")
    if window is None and shown.details is not None:
        window = shown.details.context_length
    return ModelFacts(capabilities=known, context_window=window if type(window) is int else None)
