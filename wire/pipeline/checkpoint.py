"""Checkpoints: the state of a run as a file, written after each completed node."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import msgspec

from wire.core.decoders import convert
from wire.core.errors import PipelineError, RuleError
from wire.core.files import read_whole, write_whole
from wire.core.json_values import MAX_FILE_DEPTH, checked, json_of_file


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The last completed node, and the context after it (P-85). It holds no key (P-88)."""

    last_node_id: str
    data: dict[str, Any]
    pipeline: str = ""
    """The name of the pipeline."""
    visits: dict[str, int] = {}
    """How often each node was run, for the limit on loops."""


def dump_checkpoint(checkpoint: Checkpoint) -> bytes:
    """Write a checkpoint as the bytes of a file; `load_checkpoint` is the inverse.

    Raises `PipelineError`, which names the key, for a value that JSON cannot express.
    """
    _written(checkpoint.data, "context")
    return _written(msgspec.structs.asdict(checkpoint), "checkpoint")


def load_checkpoint(source: bytes | str, name: str = "checkpoint") -> Checkpoint:
    """Read a checkpoint from the bytes or text of its file.

    >>> load_checkpoint('{"last_node_id": "ask", "data": {"seed": "a poem"}}').data
    {'seed': 'a poem'}

    Raises `PipelineError` with `name` and the reason.
    """
    value = json_of_file(source, name, PipelineError)
    try:
        checkpoint: Checkpoint = convert(value, Checkpoint)
        return checkpoint
    except msgspec.ValidationError as problem:
        raise PipelineError(f"{name}: not a checkpoint: {problem}") from None


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint from a file. Raises `PipelineError` with the name of the file."""
    return load_checkpoint(read_whole(path, PipelineError), os.fsdecode(path))


def write_checkpoint(path: str | os.PathLike[str], checkpoint: Checkpoint) -> None:
    """Write a checkpoint's file completely or not at all.

    Raises as `dump_checkpoint`, and `PipelineError` with the file's name.
    """
    write_whole(path, dump_checkpoint(checkpoint), PipelineError)


def context_json(values: Mapping[str, Any]) -> bytes:
    """Write a context as indented JSON.

    Raises `PipelineError` for a value that JSON cannot express.
    """
    return _written(dict(values), "context")


def _written(value: dict[str, Any], what: str) -> bytes:
    try:
        checked(value, plain=True, max_depth=MAX_FILE_DEPTH)
        return json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n"
    except RuleError as problem:
        raise PipelineError(f"{what}: {problem.message}") from None
    except RecursionError:  # the caller's own stack is deep already
        raise PipelineError(f"{what}: nested too deeply") from None
