"""The models that the server has, and what it says of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from wire.ollama.rules import ModelFacts


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model on the disk of the server."""

    family: str
    size: str
    window: int
    capabilities: tuple[str, ...]

    @property
    def facts(self) -> ModelFacts:
        """What `check` takes of it."""
        return ModelFacts(capabilities=frozenset(self.capabilities), context_window=self.window)


_CALLS = ("completion", "tools")
SHIPPED = {
    "qwen3:8b": LocalModel("qwen3", "8.2B", 40_960, (*_CALLS, "thinking")),
    "qwen3:latest": LocalModel("qwen3", "8.2B", 40_960, (*_CALLS, "thinking")),
    "qwen3-vl:8b": LocalModel("qwen3vl", "8.8B", 262_144, (*_CALLS, "vision", "thinking")),
    "gpt-oss:20b": LocalModel("gptoss", "20.9B", 131_072, (*_CALLS, "thinking")),
    "llama3.2:3b": LocalModel("llama", "3.2B", 131_072, _CALLS),
    "gemma3:4b": LocalModel("gemma3", "4.3B", 131_072, ("completion", "vision")),
    "gemma3:270m": LocalModel("gemma3", "268M", 32_768, ("completion",)),
    "gemma3:latest": LocalModel("gemma3", "4.3B", 131_072, ("completion", "vision")),
    "qwen2.5-coder:1.5b": LocalModel("qwen2", "1.5B", 32_768, (*_CALLS, "insert")),
    "nomic-embed-text:latest": LocalModel("nomic-bert", "137M", 2048, ("embedding",)),
}
"""The models that a new server has."""
PULLED = LocalModel("qwen3", "8.2B", 40_960, (*_CALLS, "vision", "thinking", "insert"))
"""What a model is that is pulled, or that a lenient server is asked for."""


def full_name(name: str) -> str:
    """Return a name with its tag.

    >>> full_name("qwen3"), full_name("qwen3:8b")
    ('qwen3:latest', 'qwen3:8b')
    """
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def digest_of(name: str) -> str:
    """Return the digest of a model."""
    return hashlib.sha256(name.encode()).hexdigest()


def details(model: LocalModel) -> dict[str, Any]:
    """Return what kind of a model it is."""
    return {
        "parent_model": "",
        "format": "gguf",
        "family": model.family,
        "families": [model.family],
        "parameter_size": model.size,
        "quantization_level": "Q4_K_M",
    }


def listed(name: str, model: LocalModel) -> dict[str, Any]:
    """Describe a model in a list."""
    return {
        "name": name,
        "model": name,
        "modified_at": "2026-01-01T00:00:00Z",
        "size": 5_000_000_000,
        "digest": digest_of(name),
        "details": details(model),
    }


def shown(model: LocalModel) -> dict[str, Any]:
    """Describe a model as /api/show does."""
    return {
        "license": "",
        "modelfile": "",
        "template": "{{ .Prompt }}",
        "details": details(model),
        "model_info": {
            "general.architecture": model.family,
            f"{model.family}.context_length": model.window,
        },
        "capabilities": list(model.capabilities),
        "modified_at": "2026-01-01T00:00:00Z",
    }
