"""Bodies of type multipart/form-data, which are read in pieces while they are sent. No sockets.

Names of fields and files are escaped as browsers do (the HTML standard, "multipart/form-data
encoding algorithm"): `"` becomes `%22`, CR `%0D` and LF `%0A`; all other characters are UTF-8.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

from wire.core.errors import RuleError, Violation
from wire.core.lazy import lazy_pattern
from wire.core.secret import quoted

_BOUNDARY = lazy_pattern(r"[A-Za-z0-9'+_.-]{1,70}")
_MEDIA_TYPE = lazy_pattern(r"[\x20-\x7e]+")
_ESCAPES = {ord('"'): "%22", ord("\r"): "%0D", ord("\n"): "%0A"}


class Data(Protocol):
    """Data of known size that are read in pieces, such as `wire.neutral.data_source.DataSource`."""

    size: int
    """Number of bytes."""

    @property
    def is_repeatable(self) -> bool:
        """Whether the data can be read more than once."""
        ...

    def pieces(self) -> Iterator[bytes]:
        """Yield the data from its beginning."""
        ...


class FormFile(msgspec.Struct, frozen=True):
    """A file in a form."""

    data: Data
    name: str
    media_type: str = "application/octet-stream"


Value: TypeAlias = str | FormFile
"""The value of a field."""


class Multipart:
    r"""A body of type multipart/form-data: fields by name, each a text, a `FormFile`, or a list of
    these, which repeats the field.

    >>> form = Multipart({"purpose": "batch"}, boundary="b")
    >>> form.content_type, len(form)
    ('multipart/form-data; boundary=b', 69)
    >>> b"".join(form)
    b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b--\r\n'

    Each iteration reads the data anew, so that a request can be repeated. `len` is the number of
    bytes. Without `boundary`, a random one is used, which no file contains.

    Raises `RuleError` for a boundary that is malformed or part of a text, and for a media type that
    no header can have.
    """

    def __init__(
        self, fields: Mapping[str, Value | Sequence[Value]], *, boundary: str = ""
    ) -> None:
        self.boundary: str = boundary or os.urandom(16).hex()
        if not isinstance(boundary, str) or not _BOUNDARY().fullmatch(self.boundary):
            raise _refused("boundary", "expected 1 to 70 letters, digits and '+_.-")
        self.fields: Mapping[str, Value | Sequence[Value]] = dict(fields)
        parts: list[tuple[bytes, Data | None]] = []
        mark = f"--{self.boundary}\r\n"
        for name, value in self._values():
            head = f'{mark}Content-Disposition: form-data; name="{_escaped(name)}"'
            if isinstance(value, FormFile):
                if not _MEDIA_TYPE().fullmatch(value.media_type):
                    raise _refused(name, f"{quoted(value.media_type)} is no media type")
                head += f'; filename="{_escaped(value.name)}"\r\nContent-Type: {value.media_type}'
                parts.append((_encoded(f"{head}\r\n\r\n"), value.data))
            elif f"--{self.boundary}" in value:
                raise _refused("boundary", f"the field {name} contains it")
            else:
                parts.append((_encoded(f"{head}\r\n\r\n{value}"), None))
        self._parts = parts
        self._end = _encoded(f"--{self.boundary}--\r\n")
        ends = 2 * len(parts) + len(self._end)  # with the line break after each part
        self._size = ends + sum(len(head) + (data.size if data else 0) for head, data in parts)

    def _values(self) -> Iterator[tuple[str, Value]]:
        for name, value in self.fields.items():
            if isinstance(value, str | FormFile):
                yield name, value
            else:
                yield from ((name, each) for each in value)

    @property
    def content_type(self) -> str:
        """Value of the header `content-type`."""
        return f"multipart/form-data; boundary={self.boundary}"

    @property
    def is_repeatable(self) -> bool:
        """Whether the body can be sent more than once."""
        return all(data is None or data.is_repeatable for _, data in self._parts)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        before = b""
        for head, data in self._parts:
            before += head
            for piece in data.pieces() if data is not None else ():
                yield before + piece if before else piece
                before = b""
            before += b"\r\n"
        yield before + self._end

    def __repr__(self) -> str:
        return f"Multipart({list(self.fields)}, {len(self)} bytes)"

    def shown(self) -> bytes:
        """Return the body with `<N bytes>` in place of each file."""
        parts = [head + (b"" if data is None else b"<%d bytes>" % data.size) + b"\r\n"
                 for head, data in self._parts]  # fmt: skip
        return b"".join(parts) + self._end

    def curl_words(self) -> list[str]:
        """Return the options of curl that send the same form.

        curl reads the files from the current folder.
        """
        import shlex  # few programs print a command line

        words = []
        for name, value in self._values():
            if isinstance(value, FormFile):
                words += ["-F", shlex.quote(f"{name}=@{value.name};type={value.media_type}")]
            else:
                words += ["--form-string", shlex.quote(f"{name}={value}")]
        return words


def form_parts(form: Multipart) -> dict[str, Any]:
    """Return the fields of a `Call` that sends a form."""
    headers = {"content-type": form.content_type}
    return {"form": form, "headers": headers, "idempotent": form.is_repeatable}


def _escaped(name: str) -> str:
    return name.translate(_ESCAPES)


def _encoded(text: str) -> bytes:
    # The name of a file may have bytes that are not UTF-8, which Python keeps as lone surrogates.
    return text.encode("utf-8", "replace")


def _refused(path: str, problem: str) -> Any:
    return RuleError(violations=[Violation(path, problem)])
