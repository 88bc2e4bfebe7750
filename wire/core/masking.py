"""`Mask`: removes keys from texts of servers, such as a 401 that repeats the key (R-29).

A server may repeat only a part of a key, and may write it percent-encoded, with escapes of JSON or
HTML, or in base64. A part of `MIN_FRAGMENT` characters is hidden.

The search is linear in the text. A fragment of 12 characters contains 6 characters that begin at a
multiple of 7, wherever it begins. So only every seventh position is looked up, and a hit is
extended to both sides.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from wire.core.credentials import SHOWN
from wire.core.errors import APIError, RuleError, WireError
from wire.core.lazy import lazy_pattern
from wire.core.secret import Secret

MIN_FRAGMENT = 12
"""Characters of a key in a row that are hidden."""
_PIECE = 6
_STRIDE = MIN_FRAGMENT - _PIECE + 1
_INDEXED_FROM = 1000
"""Characters of a text. For shorter ones, an index of the secrets costs more than it saves."""
_SEARCHED_BYTES = 64 * 1024
_ESCAPE = lazy_pattern(
    r"%[0-9A-Fa-f]{2}|\\u00[0-9A-Fa-f]{2}|\\[\"\\/]|"
    r"&(?:#\d{1,3}|#x[0-9A-Fa-f]{2}|amp|lt|gt|quot|apos);"
)


class Mask:
    """Hides secrets in texts, values and errors.

    >>> Mask([Secret("fake-key-1234567")]).text("key fake-key-1234567, or ke-key-12345")
    'key ***, or ***'
    """

    __slots__ = ("_forms", "_secrets")

    def __init__(self, secrets: Iterable[Secret]) -> None:
        self._secrets = kept = tuple(secrets)
        # A function, as in `Secret`: attributes with text would show the keys. Computed on first
        # use: most clients receive no text to mask before their first answer. Not of `self`, since
        # a cycle would keep the keys of a closed client alive.
        self._forms: Callable[[], tuple[str, list[str]]] = functools.cache(lambda: _forms_of(kept))

    def __deepcopy__(self, memo: object) -> Mask:
        return self

    def __reduce__(self) -> tuple[type[Mask], tuple[tuple[Secret, ...]]]:
        return Mask, (self._secrets,)

    def and_also(self, secrets: Iterable[Secret]) -> Mask:
        """Return a mask of these secrets too; itself if there are none."""
        further = tuple(secrets)
        return Mask((*self._secrets, *further)) if further else self

    def text(self, text: str) -> str:
        """Replace secrets and their fragments in a text by `***`."""
        forms, short = self._forms()
        for word in short:
            text = text.replace(word, SHOWN)
        if len(text) < MIN_FRAGMENT or len(forms) < MIN_FRAGMENT:
            return text
        if _ESCAPE().search(text):
            text = _masked(text, *_unescaped(text), forms)
        return _masked(text, text, range(len(text) + 1), forms)

    def body(self, body: bytes) -> bytes:
        """Replace complete secrets in the body of a request by `***`; return itself if it has none.

        A body has up to 100 MB, so fragments are not searched for, and the bytes are not copied.
        """
        for each in self._secrets:
            for word in each.words():
                if word.encode() in body:
                    body = body.replace(word.encode(), SHOWN.encode())
        return body

    def value(self, value: Any) -> Any:
        """Mask the texts in a JSON value or struct, at every depth; return itself if unchanged."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            text = value.decode("latin-1")
            return value if (shown := self.text(text)) is text else shown.encode("latin-1")
        if isinstance(value, dict):
            masked = {key: self.value(value[key]) for key in value}
            changed = any(masked[key] is not value[key] for key in value)
            named = {self.value(key): each for key, each in masked.items()}
            return named if changed or named.keys() != value.keys() else value
        if isinstance(value, list) or type(value) is tuple:
            items = [self.value(each) for each in value]
            changed = any(new is not old for new, old in zip(items, value, strict=True))
            return value if not changed else items if isinstance(value, list) else tuple(items)
        if isinstance(value, msgspec.Struct):
            fields = {name: getattr(value, name) for name in value.__struct_fields__}
            masked = self.value(fields)
            # The copy has no metadata, whose received bytes have the secret.
            return value if masked is fields else msgspec.structs.replace(value, **masked)
        return value

    def error(self, error: WireError) -> None:
        """Mask the texts of an error and of its causes. `raw` and `partial` are unchanged."""
        links = list(_chain(error))
        repeated = self._is_in(error.raw)
        for link in links:
            if isinstance(link, WireError):
                repeated = self._wire_error(link) or repeated
            else:
                link.args = self.value(link.args)
                vars(link).update(self.value(dict(vars(link))))
            if getattr(link, "__notes__", None):
                link.__notes__ = [self.value(note) for note in link.__notes__]
        if repeated:
            # The frames that read the body have it, and so the key, as a variable.
            for link in links:
                link.__traceback__ = None

    def _wire_error(self, error: WireError) -> bool:
        """Mask the fields of an error; return whether its message had a secret."""
        before = error.message
        error.masked(self._quoting)
        if error.request_id:
            error.request_id = self.text(error.request_id)
        if isinstance(error, APIError):
            error.details = tuple(map(self.value, error.details))
        if isinstance(error, RuleError):
            error.violations = tuple(map(self.value, error.violations))
        return error.message != before

    def _quoting(self, text: str) -> str:
        """Mask a message that may quote the beginning of a body with credentials in its fields."""
        from wire.core.secret_fields import masked_body  # for errors only

        return masked_body(self.text(text).encode("utf-8", "surrogatepass")).decode(
            "utf-8", "surrogatepass"
        )

    def _is_in(self, raw: bytes) -> bool:
        """Return whether a body repeats a secret.

        The end of a long body is searched for complete secrets only.
        """
        head = raw[:_SEARCHED_BYTES].decode("latin-1")
        return self.text(head) != head or any(
            word.encode() in raw for each in self._secrets for word in each.words()
        )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, its causes and its contexts."""
    todo: list[BaseException | None] = [error]
    seen: set[int] = set()
    while todo:
        each = todo.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            yield each
            todo += [each.__cause__, each.__context__]


# --- the search -----------------------------------------------------------------------------------


def _forms_of(secrets: Iterable[Secret]) -> tuple[str, list[str]]:
    """Return the texts to search for: all forms of long secrets as one text, and short secrets."""
    spelled = dict.fromkeys(forms for each in secrets for forms in each.spellings())
    forms = [form for each in spelled if len(each[0]) >= MIN_FRAGMENT for form in each]
    short = [each[0] for each in spelled if len(each[0]) < MIN_FRAGMENT]
    # NUL separates the forms: no fragment reaches from one into the next, since no header with NUL
    # can be sent, and so no secret contains it.
    return "\0".join(dict.fromkeys(forms)), short


def _masked(text: str, plain: str, positions: Sequence[int], forms: str) -> str:
    """Remove the fragments of `forms` that are in `plain` from `text`.

    `plain` is the text or its unescaped form; `positions[i]` is where its character i is in the
    text.
    """
    pieces: Container[str] = (
        forms
        if len(plain) < _INDEXED_FROM
        else {forms[start : start + _PIECE] for start in range(len(forms) - _PIECE + 1)}
    )
    kept: list[str] = []
    done = at = 0
    while at <= len(plain) - _PIECE:
        piece = plain[at : at + _PIECE]
        end = at + _STRIDE
        if piece in pieces and "\0" not in piece:
            start, stop = _grown(plain, at, done, forms)
            if stop - start >= MIN_FRAGMENT:
                kept += text[positions[done] : positions[start]], SHOWN
                done = end = stop
        at = end
    return "".join(kept) + text[positions[done] :] if kept else text


def _grown(plain: str, at: int, begin: int, forms: str) -> tuple[int, int]:
    """Extend the piece at `at` to the longest fragment of `forms`, not before `begin`."""
    piece, best = plain[at : at + _PIECE], (at, at)
    here = forms.find(piece)
    while here >= 0:
        left = 0
        while (
            left < min(here, at - begin) and plain[at - left - 1] == forms[here - left - 1] != "\0"
        ):
            left += 1
        right = _PIECE
        while (
            at + right < len(plain)
            and here + right < len(forms)
            and plain[at + right] == forms[here + right] != "\0"
        ):
            right += 1
        if left + right > best[1] - best[0]:
            best = at - left, at + right
        here = forms.find(piece, here + 1)
    return best


def _unescaped(text: str) -> tuple[str, list[int]]:
    """Decode the escapes of a text; return the position of each character in the original text."""
    plain: list[str] = []
    positions: list[int] = []
    done = 0
    for escape in _ESCAPE().finditer(text):
        plain.append(text[done : escape.start()])
        positions += range(done, escape.start())
        plain.append(_character(escape[0]))
        positions.append(escape.start())
        done = escape.end()
    plain.append(text[done:])
    positions += range(done, len(text) + 1)
    return "".join(plain), positions


def _character(escape: str) -> str:
    """Decode an escape to its character."""
    if escape[0] == "&":
        from html import unescape  # the table of names is large

        return unescape(escape)[:1]
    if escape[0] == "%":
        return chr(int(escape[1:], 16))
    return escape[1] if len(escape) == 2 else chr(int(escape[2:], 16))


class ResponseHeaders(Mapping[str, str]):
    """Headers by their names in lower case; credentials in them are `***`.

    They are masked when somebody reads them: few programs do, and it costs more than decoding a
    small reply. Until then the secrets of `mask` stay alive; with `at_once`, what they hide is
    masked now, and they are not kept.
    """

    __slots__ = ("_masked", "_masking")

    def __init__(self, headers: Mapping[str, str], mask: Mask, *, at_once: bool = False) -> None:
        self._masked: dict[str, str] = {}
        kept = None if at_once else mask
        received = mask.value(dict(headers)) if at_once else headers
        # A function, as in `Secret`: attributes with texts would show what is not masked yet.
        self._masking: Callable[[], dict[str, str]] | None = lambda: _shown(received, kept)

    def _shown(self) -> dict[str, str]:
        masking = self._masking
        if masking is not None:
            self._masked = masking()
            self._masking = None  # after the result: another thread may be between the two
        return self._masked

    def __getitem__(self, name: str) -> str:
        return self._shown()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._shown())

    def __len__(self) -> int:
        return len(self._shown())

    def __repr__(self) -> str:
        return repr(self._shown())

    def __copy__(self) -> ResponseHeaders:
        return self

    def __deepcopy__(self, memo: object) -> ResponseHeaders:
        return self

    def __reduce__(self) -> tuple[type[dict[str, str]], tuple[dict[str, str]]]:
        return dict, (self._shown(),)


def _shown(headers: Mapping[str, str], mask: Mask | None) -> dict[str, str]:
    from wire.core.response_headers import shown  # many programs read no headers

    return shown(headers if mask is None else mask.value(dict(headers)))
