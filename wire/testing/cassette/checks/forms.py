"""Finds what looks like a secret in one text: by its form, by its place, by the name before it.

The forms of vendors are the table of `wire.core.credentials`. What stands after the name of a
credential (`OPENAI_API_KEY=`, `"client_secret":`) is one in any form, unless it is a name, a word,
a number or a template.
"""

from __future__ import annotations

import base64
import bisect
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from wire.core.credentials import (
    CredentialForm,
    credential_forms,
    credentials_in,
    looks_secret,
    secret_name,
)
from wire.core.errors import LimitError, StreamInvalid
from wire.core.limits import Inflater, Limits
from wire.core.secret_fields import field_spans, may_have_fields

_MAX_DECODED = 2
"""Levels of base64 and gzip that are opened."""
_MIN_DISTINCT = 6
"""Different characters of a secret. `aaaa...` and `0000...` are examples."""

_PEM = "private key"
_OF_VENDOR = "key of a known vendor"
_IN_FIELD = "credential in a body"
_NAMED = "value of a credential's name"
IN_BASE64 = ", in base64"

_EXAMPLE_WORDS = """fake example dummy redacted placeholder your xxxx unused sample canary invalid
    filtered masked scrubbed changeme not-a not_a secret-key secret_key"""
# Not in any mix of cases: a random key of 90 letters would have a word by chance.
_PLACEHOLDER = re.compile(
    "|".join(f"{each}|{each.title()}|{each.upper()}" for each in _EXAMPLE_WORDS.split())
    + r"|123456789|abcdefgh|\*\*\*|\.\.\.|…|[<>{}]|&[lg]t;|\$[A-Z({]|%\("
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


Found = tuple[int, str, str]
"""The offset, the kind and the value of a secret in a text."""

_Match = tuple[tuple[int, int], str, str]
"""The span, the kind and the value."""

_BASE64 = re.compile(r"(?<![\w+/-])[A-Za-z0-9+/_-]{20,}={0,2}")
_PRINTABLE = re.compile("[ -~]{12}")
"""Bytes without so many printable ones in a row have no secret."""


def found_in(text: str, depth: int = _MAX_DECODED) -> Iterator[Found]:
    """Yield each secret of a text once, and those in its base64."""
    taken = _Taken()
    for span, kind, value in _matches(text):
        if taken.add(*span):
            yield span[0], kind, value
    if depth:
        for word in _BASE64.finditer(text):
            decoded = _decoded(word[0])
            if _PRINTABLE.search(decoded) is None:
                continue
            for _, kind, value in found_in(decoded, depth - 1):
                # The base64 of Basic is reported as such, and so is a JWT.
                if taken.is_free(*word.span()):
                    yield word.start(), kind.removesuffix(IN_BASE64) + IN_BASE64, value


class _Taken:
    """The spans of a text that are reported; they do not overlap."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []

    def is_free(self, begin: int, end: int) -> bool:
        at = bisect.bisect_right(self._ends, begin)
        return at == len(self._begins) or self._begins[at] >= end

    def add(self, begin: int, end: int) -> bool:
        """Take a span; return whether it was free."""
        if not self.is_free(begin, end):
            return False
        at = bisect.bisect_right(self._begins, begin)
        self._begins.insert(at, begin)
        self._ends.insert(at, end)
        return True


def _matches(text: str) -> Iterator[_Match]:
    """Yield what looks like a secret; of those that overlap, the first tells the most."""
    for form, match in credentials_in(text):
        if _is_of_vendor(form, text, match):
            value = _pem(text, match) if form.kind == _PEM else match[0]
            yield match.span(), form.kind, value
    lower = text.lower()
    for place in _PLACES:
        if not any(word in lower for word in place.words):
            continue
        for match in place.pattern.finditer(text):
            if place.is_secret(match[1]):
                yield match.span(), place.kind, match[1]
    yield from _named(text, lower)
    if may_have_fields(text.encode("utf-8", "surrogatepass")):
        for _, begin, end in field_spans(text):
            value = text[begin:end].strip('"')
            if not is_placeholder(value):
                yield (begin, end), _IN_FIELD, value


# --- forms of vendors -----------------------------------------------------------------------------


def _is_of_vendor(form: CredentialForm, text: str, match: re.Match[str]) -> bool:
    """Return whether a match is a complete credential, no placeholder, and not inside base64."""
    value = match[0]
    if form.kind == _PEM:  # and not only its first line, as code has it
        block = _pem(text, match)
        return len(block) >= _MIN_PEM and not is_placeholder(block)
    return (
        len(value) >= form.least
        and (form.kind != "JWT" or "." in value)
        and _is_mixed(value)
        and not is_placeholder(value[len(form.begin) :])
        and not _is_inside_base64(text, match.start(), form)
    )


_RUN_BEFORE = 64
_STANDARD = re.compile(r"[A-Za-z0-9+/]*\Z")
_OF_URLS = re.compile(r"[A-Za-z0-9_-]*\Z")
_ORDINARY = re.compile(r"[+/_-]*(?:(?:[A-Z]?[a-z]+(?:[A-Z][a-z]+)*|[A-Z]+|[0-9]+)[0-9]*[+/_-]+)*")
_DIGEST = re.compile(r"\bsha\d{1,3}[=-]\Z")
_LONG_BEGIN = 6
"""Characters of a begin that stand in no base64 by chance."""


def _is_inside_base64(text: str, at: int, form: CredentialForm) -> bool:
    """Return whether a value only continues base64, which has random words such as `-sk-`."""
    if _DIGEST.search(text, max(at - _RUN_BEFORE, 0), at):
        return True
    before = text[max(at - 1, 0) : at]
    # No alphabet of base64 has both of `+/` and of `-_`: that is a path.
    if before in ("+", "/") and not re.search("[_.-]", form.begin):
        alphabet = _STANDARD
    elif before in ("-", "_"):
        alphabet = _OF_URLS
    else:
        return False
    run = alphabet.search(text, max(at - _RUN_BEFORE, 0), at)
    words = run is None or _ORDINARY.fullmatch(run[0]) is not None
    return not words and len(form.begin) < _LONG_BEGIN


def _pem(text: str, begin: re.Match[str]) -> str:
    """Return the base64 of a PEM block, of which the form has the first line only."""
    block = text[begin.end() : begin.end() + _MAX_PEM].partition("-----")[0]
    return re.sub(r"\\[nr]|[^A-Za-z0-9+/=]", "", block)


_MIN_PEM = 40
"""Characters of base64 in the block of the shortest key."""
_MAX_PEM = 20_000
"""Characters of the longest block; without an end, many begins would each take the whole text."""


# --- values ---------------------------------------------------------------------------------------


def _is_random(value: str) -> bool:
    return _is_mixed(value) and not is_placeholder(value)


_CHANGE = re.compile(r"(?<=[a-z])[A-Z]|(?<=[A-Z])[a-z]")


def _is_mixed(value: str) -> bool:
    """Return whether a value has letters and digits, unlike most names, words and constants, or
    upper and lower case in turns.
    """
    if not any(map(str.isalpha, value)):
        return False
    return any(map(str.isdigit, value)) or 4 * len(_CHANGE.findall(value)) > len(value)


def _is_basic(value: str) -> bool:
    """Return whether base64 is a user and a password."""
    user, colon, password = _decoded(value).partition(":")
    is_text = (user + password).isprintable()
    return bool(colon and password) and is_text and not is_placeholder(user + password)


def _has_cookie(value: str) -> bool:
    """Return whether a header has a cookie with a value that is not a placeholder."""
    cookies = (each.strip().partition("=") for each in value.split(";"))
    return any(
        re.fullmatch(r"[\w.-]+", name) and len(content) >= 8 and _is_random(content)
        for name, _, content in cookies
        if name.lower() not in _ATTRIBUTES
    )


_ATTRIBUTES = frozenset({"path", "domain", "expires", "max-age", "samesite"})


def _is_key_parameter(value: str) -> bool:
    name, _, content = value.partition("=")
    return secret_name(name) and _is_random(content)


_SAYS_ITSELF = re.compile("secret|passw", re.IGNORECASE)


def _is_password(value: str) -> bool:
    return not is_placeholder(value) and _SAYS_ITSELF.search(value) is None


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


# --- places ---------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """A place that holds a secret in any form, such as a header."""

    kind: str
    pattern: re.Pattern[str]
    """The secret is its group 1."""
    words: tuple[str, ...]
    """In lower case. A text without any of them is not searched with the pattern, which takes a
    hundred times as long.
    """
    is_secret: Callable[[str], bool]
    """Whether a value at this place is a secret, and no placeholder."""


_HEADER = (
    r"(?:authorization|api-?key|auth-token|access-token|client-secret)[\"']?:[\s\[\"'-]*(?!aws4-)"
)
_PLACES = (
    _Place("bearer token", re.compile(r"(?i:\bbearer)[ +]+([\w.~+/-]{16,}=*)"), ("bearer",),
           _is_random),
    _Place("basic authentication", re.compile(r"(?i:\bbasic)[ +]+([A-Za-z0-9+/_-]{8,}=*)"),
           ("basic",), _is_basic),
    _Place("password in a URL", re.compile(r"://[^/\s:@\"'<>]*:([^/\s@\"'<>]{6,})@"),
           ("://",), _is_password),
    _Place("cookie", re.compile(r"(?i:\b(?:set-)?cookie)[\"']?\s*:[\s\[\"'-]*([^\n\"'\\]*)"),
           ("cookie",), _has_cookie),
    _Place("key in a header", re.compile(rf"(?i){_HEADER}([^\s\"',]{{16,}})"),
           ("authorization", "key", "token", "client-secret"), _is_random),
    _Place("key in a URL", re.compile(r"[?&]([\w.%-]+=[^&\s\"'<>#\\()\[\]]{12,})"), ("?", "&"),
           _is_key_parameter),
)  # fmt: skip
"""Specific kinds come first: a later one that overlaps an earlier one in the text is the same
secret."""


# --- values after names ---------------------------------------------------------------------------

_NAME_END = re.compile(
    r"((?:key|token|secret|passw(?:or)?d|passphrase|pwd|credentials?|authorization)\d?)"
    r"\\*[\"']?[ \t]*(?:=>?|:=?)[ \t]*(?:[rbuf]?(\\*[\"'])|(?=[a-z0-9+/]))(?!null|true|false|none)"
)
"""The end of a name in lower case, and what is between it and its value. Groups 1 and 2 are the
last word of the name and the quote."""
_NAME_BEGIN = re.compile(r"[A-Za-z0-9_.-]*\Z")
_MAX_NAME = 64
_QUOTED = re.compile(r"[^\s\"'\\]{8,4096}+(?=\\*[\"'])")
_BARE = re.compile(r"[A-Za-z0-9+/_.~:-]{16,512}+={0,2}(?=[\s\"'&,;}\]\\]|\Z)")
_STRONG = re.compile(
    r"secret|passw|passphrase|pwd|credential|authorization|token|"
    r"(?:api|access|private|account|auth|subscription|master|signing|encryption|service|admin|"
    r"deploy)[_.-]?key",
    re.IGNORECASE,
)
_ENVIRONMENT = re.compile(r"[A-Z][A-Z0-9_]*_KEY\d?")
_NO_CREDENTIAL = re.compile(
    r"public|cache|signature|foreign|primary|sort|partition|routing|registry|csrf|xsrf|widget|"
    r"continu|cursor|turn|sync|next|page|credit|^key$|ice-pwd",
    re.IGNORECASE,
)
"""Names of values that grant nothing to others, and names that are too common."""


def _named(text: str, lower: str) -> Iterator[_Match]:
    """Yield values that stand after the name of a credential, in any notation."""
    if len(lower) != len(text):  # a letter that has two in lower case
        lower = "".join(each.lower()[:1] for each in text)
    done = 0
    for end in _NAME_END.finditer(lower):
        if end.start() < done:
            continue
        quote = end[2]
        found = (_QUOTED if quote else _BARE).match(text, end.end())
        if found is None:
            continue
        done = found.end()  # a name in a value would search the value again
        if not (_is_opaque if quote else _is_bare)(found[0]):
            continue
        before = _NAME_BEGIN.search(text, max(end.start() - _MAX_NAME, 0), end.start())
        name = text[before.start() if before else end.start() : end.end(1)]
        if _is_credential_name(name) and not is_placeholder(found[0]):
            yield found.span(), _NAMED, found[0]


def _is_credential_name(name: str) -> bool:
    return (
        (_STRONG.search(name) is not None or _ENVIRONMENT.fullmatch(name) is not None)
        and _NO_CREDENTIAL.search(name) is None
        and secret_name(name)
    )


_SEGMENT = re.compile(r"[A-Za-z0-9]{6,}")
_WORD = re.compile(r"[A-Za-z]+\d{0,4}|\d+[A-Za-z]{0,3}")


def _is_opaque(value: str) -> bool:
    """Return whether a value is no name, word, number, path or template: letters and digits are
    mixed in a part of it.
    """
    return any(_WORD.fullmatch(each) is None for each in _SEGMENT.findall(value))


_OF_CODE = re.compile("key|token|secret|passw|credential", re.IGNORECASE)


def _is_bare(value: str) -> bool:
    """Return whether a value without quotes is opaque, and not code: the name of a variable or a
    type, which says again what it holds.
    """
    return looks_secret(value) and _OF_CODE.search(value) is None


VENDORS = frozenset(form.kind for form in credential_forms())
KINDS = frozenset({*VENDORS, *(place.kind for place in _PLACES), _OF_VENDOR, _IN_FIELD, _NAMED})


def is_kind(told: str, found: str) -> bool:
    """Return whether a kind that a project allows is that of a secret.

    Forms that have a kind of their own today were a `key of a known vendor` or an `OpenAI key`.
    """
    if told == found:
        return True
    encoded = IN_BASE64 if told.endswith(IN_BASE64) else ""
    was = told.removesuffix(IN_BASE64) in (_OF_VENDOR, "OpenAI key")
    return was and found in {each + encoded for each in VENDORS}
