"""A request as it is sent, for people: as HTTP, and as a command line of curl."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol
from urllib.parse import unquote

import msgspec

from wire.core.decoders import decoder
from wire.core.lazy import lazy_pattern
from wire.core.printable import printable_line


class Form(Protocol):
    """A body that is read in pieces: `wire.core.multipart.Multipart`, which few calls load."""

    @property
    def content_type(self) -> str:
        """Value of the header `content-type`."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[bytes]: ...

    def shown(self) -> bytes:
        """The body with `<N bytes>` in place of each file."""
        ...

    def curl_words(self) -> list[str]:
        """The options of curl that send the same form."""
        ...


_HIDDEN = lazy_pattern(r"((?:[A-Za-z]+ )?)\*\*\*")


_MODEL_IN_PATH = lazy_pattern(r"/(?:models|tunedModels|deployments)/([^/?#]+)")


class _Model(msgspec.Struct):
    model: str = ""


class Preview(msgspec.Struct, frozen=True):
    """A request as it is sent, without its key.

    `str` formats it as HTTP, `curl` as a command line; `repr` shows the size of the body only.
    `client.preview(call)` returns it before the call is sent, `error.preview` after it failed.
    """

    method: str
    url: str
    headers: dict[str, str]
    body: bytes
    """Of a form, the body with `<N bytes>` in place of each file."""
    form: Form | None = None

    @property
    def model(self) -> str:
        """The model that the body or the path names; empty if neither does."""
        try:
            model = decoder(_Model).decode(self.body).model
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            model = ""  # a file, or a body whose `model` is no text
        if not model and (match := _MODEL_IN_PATH().search(self.url)):
            model = unquote(match[1])
            if self.method == "POST":  # Gemini's paths have the name of the method after a colon
                model = model.partition(":")[0]
        return printable_line(model)

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [
            ("method", self.method),
            ("url", self.url),
            ("headers", self.headers),
            ("body", f"<{len(self.body)} bytes>"),
        ]

    def __repr__(self) -> str:
        return (
            f"Preview({self.method!r}, {self.url!r}, headers={self.headers!r}, "
            f"body=<{len(self.body)} bytes>)"
        )

    def __str__(self) -> str:
        head = [
            f"{self.method} {self.url}",
            *(f"{name}: {value}" for name, value in self.headers.items()),
        ]
        body = (
            f"<{len(self.body)} bytes>"
            if _is_binary(self.body)
            else self.body.decode("utf-8", "replace")
        )
        if self.form is not None:  # whose lines end in CRLF
            body = body.replace("\r\n", "\n")
        return "\n".join([*head, "", body]).rstrip("\n")

    @property
    def curl(self) -> str:
        """A command line that sends the same request; `$API_KEY` stands for hidden values."""
        import shlex  # few programs print a command line

        words = ["curl", "-sS", "-X", self.method, shlex.quote(self.url)]
        for name, value in self.headers.items():
            if self.form is not None and name.lower() == "content-type":
                continue  # curl writes one with its own boundary
            hidden = _HIDDEN().fullmatch(value)
            words += [
                "-H",
                f'"{name}: {hidden[1]}$API_KEY"' if hidden else shlex.quote(f"{name}: {value}"),
            ]
        if self.form is not None:
            words += self.form.curl_words()
        elif self.body:
            words += [
                "--data-binary",
                "@-"
                if _is_binary(self.body)
                else shlex.quote(self.body.decode("utf-8", "replace")),
            ]
        return " ".join(words)


def _is_binary(body: bytes) -> bool:
    """Whether a body is not text, such as a part of a file."""
    return b"\0" in body
