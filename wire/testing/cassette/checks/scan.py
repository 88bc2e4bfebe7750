"""Searches a file for secrets by their form (C-15): cassettes, VCR YAML, HAR, any text.

`leaks` searches for values that the recorder knows, before it writes. This module knows no value,
so it searches for what keys look like. It is for files that exist: recordings of other tools,
edited cassettes, recordings made before a pattern was known.

What stands in the field of a body that holds a credential is one in any form, as that of a token of
an MCP server.

A value that is masked or that says that it is an example is not reported: see `is_placeholder`.
"""

from __future__ import annotations

import base64
import bisect
import hashlib
import io
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from wire.core.credentials import credentials_in, secret_name
from wire.core.errors import ConfigurationError, LimitError, StreamInvalid
from wire.core.limits import Inflater, Limits
from wire.core.secret_fields import field_spans, may_have_fields
from wire.testing.cassette.format.file_position import Path, positions, shown
from wire.testing.cassette.leaks import unescaped

_MAX_DECODED = 2
"""Levels of base64 and gzip that are opened."""
_MIN_DISTINCT = 6
"""Different characters of a secret. `aaaa...` and `0000...` are examples."""


class Hit(NamedTuple):
    """The place and the kind of a text that looks like a secret, without its value."""

    line: int
    """Line of the file, from 1."""
    kind: str
    """Such as `Anthropic key` or `Google API key, in base64`."""
    path: str = ""
    """JSON path, if the file is JSON."""
    digests: tuple[str, ...] = ()
    """The SHA-256 of the value, by which a false alarm is allowed. Several, if the place has more
    values or the file shows one in several forms, such as two pieces and the whole."""

    def __str__(self) -> str:
        return f"{self.line}: {self.kind}{f', {self.path}' if self.path else ''}"


class Allowed(NamedTuple):
    """A value that looks like a secret, but is not one."""

    kind: str
    """As `Hit.kind`."""
    digest: str
    """The first digits of the SHA-256 of the value."""


def allowed_of(text: str) -> Allowed:
    """Parse `KIND:DIGITS`.

    >>> allowed_of("GitHub token:3f2a91c04b7d")
    Allowed(kind='GitHub token', digest='3f2a91c04b7d')

    Raises `ConfigurationError` for an unknown kind, and for digits that are not 8 to 64 hexadecimal
    ones.
    """
    kind, _, digest = text.rpartition(":")
    if kind.removesuffix(_IN_BASE64) not in _KINDS:
        # A key by mistake must not be shown.
        raise ConfigurationError(
            "allow: expected KIND:DIGITS, as `wire cassette scan --json` shows them"
        )
    if not re.fullmatch("[0-9a-f]{8,64}", digest):
        raise ConfigurationError(
            f"allow: {kind}: expected 8 to 64 hexadecimal digits of the SHA-256 of the value"
        )
    return Allowed(kind, digest)


def scan(text: str, allowed: Iterable[Allowed] = ()) -> list[Hit]:
    """List what looks like a secret in the text of a file, by line.

    Each kind is listed once for a line and JSON path. A secret that is split over the events of a
    stream is listed at the first of them. Values in `allowed` are left out.
    """
    allowed = tuple(allowed)
    found: dict[tuple[int, str], dict[str, None]] = {}
    paths: dict[tuple[int, str], dict[str, None]] = {}
    for part in _parts(text):
        for at, kind, value in part.found():
            line, kind, path = part.place(at, kind)
            digest = _digest(value)
            if not any(kind == each.kind and digest.startswith(each.digest) for each in allowed):
                found.setdefault((line, kind), {})[digest] = None
                paths.setdefault((line, kind), {})[path] = None
    # The lines of a JSON file are searched too; what the JSON path tells better is left out.
    return sorted(
        Hit(*place, path, tuple(digests))
        for place, digests in found.items()
        for path in sorted(filter(None, paths[place])) or [""]
    )


def _digest(value: str) -> str:
    # A form without an end of its own takes what the file writes after the value.
    value = value.rstrip("\\\"'}], ")
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def text_of(data: bytes) -> str:
    """Decode a file to scan; one character for each byte if it is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


# --- forms of secrets -----------------------------------------------------------------------------

# Base64 has random words such as `sk-`: a key does not begin within one.
_BEGIN = r"(?<![\w+/=-])"
_HEADER = r"(?:authorization|api-?key|auth-token|access-token|client-secret)[\"']?:[\s\[\"'-]*"


_BASE64 = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{20,}={0,2}")
_EXAMPLE_WORDS = """fake example dummy redacted placeholder your xxxx unused sample canary invalid
    filtered masked changeme not-a not_a secret-key secret_key"""
# Not in any mix of cases: a random key of 90 letters would have a word by chance.
_PLACEHOLDER = re.compile(
    "|".join(f"{each}|{each.title()}|{each.upper()}" for each in _EXAMPLE_WORDS.split())
    + r"|123456789|abcdefgh|\*\*\*|\.\.\.|…|[<>{}]|\$[A-Z({]|%\("
)
_USUAL_PASSWORDS = frozenset({"password", "passwd", "secret", "postgres", "foobar", "hunter2"})


def is_placeholder(value: str) -> bool:
    """Return whether a value says that it is not a secret.

    It is masked, made for an example, or of one character.
    """
    return (
        _PLACEHOLDER.search(value) is not None
        or len(set(value)) < _MIN_DISTINCT
        or value.lower() in _USUAL_PASSWORDS
    )


_Found = tuple[int, str, str]
"""The offset, the kind and the value of a secret in a text."""


def _found_in(text: str, depth: int = _MAX_DECODED) -> Iterator[_Found]:
    taken: list[tuple[int, int]] = []
    for (begin, end), kind, value in _matches(text):
        if not any(begin < stop and start < end for start, stop in taken):
            taken.append((begin, end))
            yield begin, kind, value
    if depth:
        for word in _BASE64.finditer(text):
            for _, kind, value in _found_in(_decoded(word[0]), depth - 1):
                # The base64 of Basic is reported as such, and so is a JWT.
                if not any(word.start() < stop and start < word.end() for start, stop in taken):
                    yield word.start(), kind.removesuffix(_IN_BASE64) + _IN_BASE64, value


def _matches(text: str) -> Iterator[tuple[tuple[int, int], str, str]]:
    """Yield the span, the kind and the value of each secret."""
    lower = text.lower()
    for form in _FORMS:
        if not any(word in lower for word in form.words):
            continue
        for match in form.pattern.finditer(text):
            value = match[1] if form.pattern.groups else match[0]
            if form.is_secret(value):
                yield match.span(), form.kind, _pem(text, match) if form.kind == _PEM else value
    for match in credentials_in(text):
        before = text[match.start() - 1 : match.start()]
        if (
            not _TOLD_ABOVE.match(match[0])
            and not (before and before in _INSIDE_WORD)
            and _is_random(match[0])
        ):
            yield match.span(), _OF_VENDOR, match[0]
    if may_have_fields(text.encode("utf-8", "surrogatepass")):
        for _, begin, end in field_spans(text):
            value = text[begin:end].strip('"')
            if not is_placeholder(value):
                yield (begin, end), _IN_FIELD, value


def _pem(text: str, begin: re.Match[str]) -> str:
    """Return the base64 of a PEM block, of which the form has the first line only."""
    block = text[begin.end() :].partition("-----END")[0]
    return re.sub(r"\\[nr]|[^A-Za-z0-9+/=]", "", block)


_TOLD_ABOVE = re.compile(r"(?i:bearer|basic)|eyJ|-----")
_INSIDE_WORD = frozenset("_-+/=")


def _is_random(value: str) -> bool:
    return _is_mixed(value) and not is_placeholder(value)


def _is_mixed(value: str) -> bool:
    """Return whether a value has letters and digits, unlike most names, words and constants."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _is_basic(value: str) -> bool:
    """Return whether base64 is a user and a password."""
    user, colon, password = _decoded(value).partition(":")
    is_text = (user + password).isprintable()
    return bool(colon and password) and is_text and not is_placeholder(user + password)


def _has_cookie(value: str) -> bool:
    """Return whether a header has a cookie with a value that is not a placeholder."""
    cookies = (each.strip().partition("=") for each in value.split(";"))
    return any(
        re.fullmatch(r"[\w.-]+", name) and len(content) >= 8 and not is_placeholder(content)
        for name, _, content in cookies
        if name.lower() not in _ATTRIBUTES
    )


_ATTRIBUTES = frozenset({"path", "domain", "expires", "max-age", "samesite"})


def _is_key_parameter(value: str) -> bool:
    name, _, content = value.partition("=")
    return secret_name(name) and _is_random(content)


def _is_password(value: str) -> bool:
    return not is_placeholder(value)


def _decoded(word: str) -> str:
    """Decode base64, and inflate gzip; one character for each byte."""
    letters = word.rstrip("=").translate(str.maketrans("-_", "+/"))
    if len(letters) % 4 == 1:  # cut off, or not base64: the rest may be
        letters = letters[:-1]
    data = base64.b64decode(letters + "=" * (-len(letters) % 4))
    if data.startswith(b"\x1f\x8b"):
        inflater = Inflater("gzip", Limits())
        try:
            data = inflater.feed(data)
        except (StreamInvalid, LimitError):
            return ""
    return data.decode("latin-1")


class _Form(NamedTuple):
    """The form of one kind of secret."""

    kind: str
    pattern: re.Pattern[str]
    """The secret is its group 1, or the whole."""
    words: tuple[str, ...]
    """In lower case. A text without any of them is not searched with the pattern, which takes a
    hundred times as long.
    """
    is_secret: Callable[[str], bool]
    """Whether a value of this form is a secret, and no placeholder."""


_PEM = "private key"
_OF_VENDOR = "key of a known vendor"
_IN_FIELD = "credential in a body"
_IN_BASE64 = ", in base64"

_FORMS = (
    _Form(_PEM, re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----"),
          ("private key-----",), lambda value: True),
    _Form("Anthropic key", re.compile(_BEGIN + r"(sk-ant-[\w-]{16,})"), ("sk-ant-",), _is_random),
    _Form("OpenAI key", re.compile(_BEGIN + r"(sk-[\w-]{20,})"), ("sk-",), _is_random),
    _Form("Google API key", re.compile(_BEGIN + r"(AIza[\w-]{30,})"), ("aiza",), _is_random),
    _Form("AWS access key",
          re.compile(_BEGIN + r"((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})(?![A-Z0-9])"),
          ("akia", "asia", "abia", "acca"), _is_random),
    _Form("GitHub token", re.compile(_BEGIN + r"(gh[opsur]_[A-Za-z0-9]{30,}|github_pat_\w{22,})"),
          ("ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_"), _is_random),
    _Form("JWT", re.compile(_BEGIN + r"(eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)*)"), ("eyj",),
          _is_random),
    _Form("bearer token", re.compile(r"(?i:\bbearer)[ +]+([\w.~+/-]{16,}=*)"), ("bearer",),
          _is_random),
    _Form("basic authentication", re.compile(r"(?i:\bbasic)[ +]+([A-Za-z0-9+/_-]{8,}=*)"),
          ("basic",), _is_basic),
    _Form("password in a URL", re.compile(r"://[^/\s:@\"'<>]*:([^/\s@\"'<>]{6,})@"),
          ("://",), _is_password),
    _Form("cookie", re.compile(r"(?i:\b(?:set-)?cookie)[\"']?\s*:[\s\[\"'-]*([^\n\"']*)"),
          ("cookie",), _has_cookie),
    _Form("key in a header", re.compile(rf"(?i){_HEADER}([^\s\"',]{{16,}})"),
          ("authorization", "key", "token", "client-secret"), _is_random),
    _Form("key in a URL", re.compile(r"[?&]([\w.%-]+=[^&\s\"'<>#\\]{12,})"), ("?", "&"),
          _is_key_parameter),
)  # fmt: skip
"""Specific kinds come first: a later one that overlaps an earlier one in the text is the same
secret."""

_KINDS = (*(form.kind for form in _FORMS), _OF_VENDOR, _IN_FIELD)


# --- where to search ------------------------------------------------------------------------------


class _Part(NamedTuple):
    """A text to search, and where its pieces are in the file."""

    text: str
    marks: list[tuple[int, int, Path | None]]
    """Offset in the text, line of the file, and JSON path of each piece."""
    name: str = ""
    """The name of the header, cookie or parameter that has the text as its value."""

    def found(self) -> Iterator[_Found]:
        """Yield each secret."""
        yield from _found_in(self.text)
        others = list(itertools.islice(unescaped(self.text), 1, None)) if self._is_one else []
        if self.name:
            others.append(f"{self.name}{self.text}")
        for form in others:
            yield from ((0, kind, value) for _, kind, value in _found_in(form))

    @property
    def _is_one(self) -> bool:
        return len(self.marks) == 1

    def place(self, at: int, kind: str) -> tuple[int, str, str]:
        """Return the line, the kind and the JSON path of the text at an offset."""
        index = bisect.bisect_right(self.marks, at, key=lambda mark: mark[0]) - 1
        _, line, path = self.marks[index]
        return line, kind, "" if path is None else shown(path)


def _parts(text: str) -> Iterator[_Part]:
    """Yield the texts to search."""
    lines = list(io.StringIO(text))  # at LF only, unlike `splitlines`
    yield _joined((line, number, None) for number, line in enumerate(lines, 1))
    if text.lstrip()[:1] in ("{", "["):
        strings = list(_strings(text))
        yield from _string_parts(strings)
        if strings:
            return
    for number, line in enumerate(lines, 1):
        if "\\" in line or "%" in line:
            yield _Part(line, [(0, number, None)])
    yield from _blocks(lines)


_Piece = tuple[str, int, Path | None]
"""A text, the line of the file on which it begins, and its JSON path."""


def _joined(pieces: Iterable[_Piece]) -> _Part:
    marks, offset = [], 0
    texts = []
    for text, line, path in pieces:
        marks.append((offset, line, path))
        texts.append(text)
        offset += len(text)
    return _Part("".join(texts), marks or [(0, 1, None)])


_ONLY_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")
_DATA = re.compile(r"^\s*(?:- )?data: ?(\{.*\})\s*$")


def _blocks(lines: list[str]) -> Iterator[_Part]:
    """Yield texts that span several lines: base64, folded texts of YAML, and events of streams."""
    block: list[_Piece] = []
    folded: list[_Piece] = []
    events: list[_Piece] = []
    for number, line in enumerate([*lines, ""], 1):
        word = line.strip().strip("',\"")
        if _ONLY_BASE64.fullmatch(word):
            block.append((word, number, None))
        elif block:
            yield _joined(block)
            block = []
        is_folded = line.rstrip("\r\n").endswith("\\")  # in a double-quoted text of YAML
        if folded or is_folded:
            content = line.strip() if folded else line.rstrip()
            content = content.removeprefix("\\") if folded else content
            folded.append((content.removesuffix("\\"), number, None))
        if folded and not is_folded:
            yield from _folded(folded)
            folded = []
        if data := _DATA.match(line):
            events.append((data[1], number, None))
    yield from _events(events)


def _folded(pieces: list[_Piece]) -> Iterator[_Part]:
    part = _joined(pieces)
    yield part
    *_, plain = unescaped(part.text)
    line = pieces[0][1]
    yield _Part(plain, [(0, line, None)])
    yield from _events(
        (data[1], line, None) for each in plain.split("\n") if (data := _DATA.match(each))
    )


def _strings(text: str) -> Iterator[_Piece]:
    """Yield the strings of a JSON file, keys included. A file that is not JSON has none."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    for path, at, token in positions(text):
        line = bisect.bisect_right(starts, at)
        if path and isinstance(path[-1], str) and len(path[-1]) >= _MIN_KEY:
            yield path[-1], line, path
        if token[0] == '"':
            yield json.loads(token), line, path


_MIN_KEY = 16
"""Characters of an object's key that is searched. The shortest secret that stands alone has more.
"""


def _string_parts(strings: list[_Piece]) -> Iterator[_Part]:
    """Yield the strings of a JSON file, and those that one client joins."""
    names = {
        path[:-1]: value
        for value, _, path in strings
        if path is not None and path[-1:] == ("name",)
    }
    for value, line, path in strings:
        yield _Part(value, [(0, line, path)], _name_of(path or (), names))
        if "data:" in value:
            found = (_DATA.match(each) for each in value.split("\n"))
            yield from _events((data[1], line, path) for data in found if data)
    yield from _together(strings)


def _name_of(path: Path, names: dict[Path, str]) -> str:
    """Return the text before this value of a header, cookie or parameter in a request."""
    steps = [step for step in path if isinstance(step, str)]
    holders = [step.lower() for step in steps[-3:-1]]
    name = names.get(path[:-1], "") if steps[-1:] == ["value"] else steps[-1] if steps else ""
    if not name or name == "name":
        return ""
    if "cookies" in holders:
        return f"cookie: {name}="
    if "headers" in holders:
        return f"{name}: "
    return f"?{name}=" if "querystring" in holders else ""


def _events(pieces: Iterable[_Piece]) -> Iterator[_Part]:
    """Yield the texts that a client joins from the JSON of events."""
    leaves: list[_Piece] = []
    for index, (data, line, place) in enumerate(pieces):
        try:
            texts = list(_leaves(msgspec.json.decode(data)))
        except (ValueError, RecursionError):
            continue
        leaves += ((text, line, (*(place or ()), index, *path)) for path, text in texts)
    for part in _together(leaves):
        # The path of an event inside a text is none of the file.
        yield part._replace(marks=[(at, line, None) for at, line, _ in part.marks])


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from _leaves(item, (*path, key))


def _together(strings: list[_Piece]) -> Iterator[_Part]:
    """Join the texts of which the paths differ in list indexes only: in all of them, or in one.

    A stream has a piece of a text in each event, a cassette has a line of a body in each string.
    """
    for count in (1, None):
        together: dict[Path, list[_Piece]] = {}
        for text, line, path in strings:
            together.setdefault(_without_indexes(path or (), count), []).append((text, line, path))
        for pieces in together.values():
            if len(pieces) > 1:
                yield _joined(pieces)


def _without_indexes(path: Path, count: int | None) -> Path:
    """Replace the indexes after the first, which is that of the interaction."""
    at = [index for index, step in enumerate(path) if isinstance(step, int)]
    starred = set(at[1:] if len(at) > 1 else at)
    if count is not None:
        starred = set(sorted(starred)[:count])
    return tuple("*" if index in starred else step for index, step in enumerate(path))
