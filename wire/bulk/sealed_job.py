"""A `Job` as bytes that go to other machines, with its keys.

`Secret`s lose their text in a pickle. Here it stays, since the servers want it. The bytes are
compressed, so that a log of what a scheduler receives shows no key.
"""

from __future__ import annotations

import io
import pickle
import zlib
from typing import Any

import cloudpickle  # pyright: ignore[reportMissingImports]
import msgspec

from wire.bulk.job import Job
from wire.core.errors import ConfigurationError
from wire.core.secret import Secret, type_name


class SealedJob(msgspec.Struct, frozen=True):
    """A job as bytes."""

    data: bytes
    has_key: bool
    """Whether a key is in the bytes: an API key, or a header that is a credential."""


class _Pickler(cloudpickle.Pickler):
    """Pickles secrets with their texts, and functions and types of a script by value."""

    has_secret = False

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Secret):
            self.has_secret = True
            return Secret.unchecked, (obj._reveal(),)
        return super().reducer_override(obj)


def _pickled(value: Any) -> tuple[bytes, bool]:
    file = io.BytesIO()
    pickler = _Pickler(file, protocol=pickle.HIGHEST_PROTOCOL)
    pickler.dump(value)
    return file.getvalue(), pickler.has_secret


def sealed_job(job: Job) -> SealedJob:
    """Serialise a job to bytes.

    Raises `ConfigurationError` that names the option which cannot be sent.
    """
    parts = {"output": job.output, "http": job.http, **job.options}
    for name, value in parts.items():
        try:
            _pickled(value)
        except Exception as cause:  # of the user's object
            problem = f"a {type_name(value)} cannot be sent to the workers: {type(cause).__name__}"
            raise ConfigurationError(f"{name}: {problem}") from None
    fields = {name: getattr(job, name) for name in job.__struct_fields__}
    data, has_key = _pickled(fields)
    return SealedJob(zlib.compress(data, 1), has_key)


def opened_job(data: bytes) -> Job:
    """Rebuild the job of `sealed_job`. Raises the errors of importing the modules that it names."""
    return Job(**pickle.loads(zlib.decompress(data)))
