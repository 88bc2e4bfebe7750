"""Where a run stands, as a file: written whole after each completed node, or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import msgspec

from wire.core.decoders import convert
from wire.core.files import read_whole, write_whole
from wire.errors import PipelineError


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The last completed node, and what the run knows after it; keys and headers are in neither
    (P-85, P-88).
    """

    last_node_id: str
    data: dict[str, Any]
    pipeline: str = ""
    """The name of the pipeline."""
    visits: dict[str, int] = {}
    """How often each node was run, for the guard against circles."""


def dump_checkpoint(checkpoint: Checkpoint) -> bytes:
    """The bytes of a checkpoint's file; `load_checkpoint` makes the same of them.

    Raises `PipelineError`, which names the key, for a value that JSON cannot say.
    """
    for key, value in checkpoint.data.items():
        _json(value, f"context: {key}")
    return _json(msgspec.structs.asdict(checkpoint), "checkpoint")


def load_checkpoint(source: bytes | str, name: str = "checkpoint") -> Checkpoint:
    """The checkpoint that the bytes or text of a file are.

    >>> load_checkpoint('{"last_node_id": "ask", "data": {"seed": "a poem"}}').data
    {'seed': 'a poem'}

    Raises `PipelineError` with `name` and what is wrong.
    """
    try:
        found = json.loads(source.decode("utf-8-sig") if isinstance(source, bytes) else source)
        checkpoint: Checkpoint = convert(found, Checkpoint)
        return checkpoint
    except UnicodeDecodeError as problem:
        raise PipelineError(f"{name}: byte {problem.start} is not UTF-8") from None
    except RecursionError:
        raise PipelineError(f"{name}: nested too deeply") from None
    except msgspec.ValidationError as problem:
        raise PipelineError(f"{name}: no checkpoint: {problem}") from None
    except ValueError as problem:
        raise PipelineError(f"{name}: no JSON: {problem}") from None


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """The checkpoint that a file holds. Raises `PipelineError` with the file's name."""
    return load_checkpoint(read_whole(path, PipelineError), os.fspath(path))


def write_checkpoint(path: str | os.PathLike[str], checkpoint: Checkpoint) -> None:
    """Write a checkpoint's file completely or not at all.

    Raises as `dump_checkpoint`, and `PipelineError` with the file's name.
    """
    write_whole(path, dump_checkpoint(checkpoint), PipelineError)


def context_json(values: Mapping[str, Any]) -> bytes:
    """A context as a file to be read by people and programs.

    Raises `PipelineError` for what JSON cannot say.
    """
    return _json(dict(values), "context")


def _json(value: Any, what: str) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as problem:
        raise PipelineError(f"{what}: JSON cannot say this: {problem}") from None
