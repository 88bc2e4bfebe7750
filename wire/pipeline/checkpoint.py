"""Where a run stands, as a file: written whole after each completed node, or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from wire.core.decoders import convert
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
    return load_checkpoint(read(path), os.fspath(path))


def read(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file. Raises `PipelineError` with its name."""
    try:
        return Path(path).read_bytes()
    except OSError as cause:
        raise PipelineError(
            f"{path}: cannot be read: {cause.strerror or type(cause).__name__}"
        ) from cause


def write_checkpoint(path: str | os.PathLike[str], checkpoint: Checkpoint) -> None:
    """Write a checkpoint's file. Raises as `dump_checkpoint` and `write`."""
    write(path, dump_checkpoint(checkpoint))


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file that its owner alone may read; if anything fails, or ends this process, the old
    file is as it was.

    Raises `PipelineError` with the file's name.
    """
    target = Path(os.path.realpath(path))  # a link stays one
    made = target.with_name(f".{target.name}.{uuid4().hex[:8]}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(made, target)
        except BaseException:
            made.unlink(missing_ok=True)
            raise
    except OSError as cause:
        raise PipelineError(
            f"{path}: cannot be written: {cause.strerror or type(cause).__name__}"
        ) from cause


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
