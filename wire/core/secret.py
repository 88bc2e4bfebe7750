"""`Secret`, which hides a key in logs and tracebacks (R-28), and headers that contain secrets.

Tracebacks with locals show the arguments of every frame. So a function that may get a key first
replaces each possible key by a `Secret`, and checks afterwards: `sealed`, `sealed_headers`,
`sealed_query`. `quoted` formats refused values for an error.
"""

from __future__ import annotations

import base64
import binascii
import inspect
import itertools
import re
import reprlib
import weakref
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from wire.core.credentials import SHOWN as SHOWN
from wire.core.credentials import (
    hidden,
    known_credential,
    looks_secret,
    secret_name,
    secret_parameter,
)
from wire.core.errors import ConfigurationError, WireError, frameless, one_line
from wire.core.lazy import lazy_pattern

_MAX_SEARCHED = 200
"""Bytes or items. A longer argument is data, not a misplaced key."""
_MIN_LENGTH = 8
"""Characters. A shorter text is not a credential, and masking it would remove ordinary words."""


class Secret:
    """An API key or token: `repr`, `str`, `format`, pickles and tracebacks with locals show `***`.

    Raises `ConfigurationError`, which names `name`, if no HTTP header can carry the text.

    >>> print(Secret("fake-key", "api_key"), f"{Secret('fake-key', 'api_key')!r}")
    *** Secret('***')
    """

    __slots__ = ("__weakref__", "_reveal", "_spelled")

    def __init__(self, text: str, name: str = "api_key") -> None:
        # The text is the default of a function, not an attribute: `vars`, debuggers and dumps that
        # walk attributes show a function. No local variable keeps it, because the traceback of the
        # error below has the locals of this frame.
        self._reveal: Callable[[], str] = lambda kept=text: kept  # type: ignore[misc]
        del text
        self._spelled: Callable[[], tuple[tuple[str, ...], ...]] | None = None
        _live(self)
        self.check(name)

    @classmethod
    def unchecked(cls, text: Any) -> Secret:
        """Hide a value before it is checked, so that no frame of the check has it as a variable."""
        made = cls.__new__(cls)
        made._reveal = lambda kept=text: kept  # type: ignore[misc]
        made._spelled = None
        return _live(made)

    @property
    def is_text(self) -> bool:
        """Whether the hidden value is a text. It is not, if a wrong value was sealed."""
        return isinstance(self._reveal(), str)

    @property
    def kind(self) -> str:
        """The name of the type of the hidden value, for an error that expected another type."""
        return type(self._reveal()).__name__

    def check(self, name: str, *, blanks: bool = False) -> Secret:
        """Return itself. Raises `ConfigurationError` if no header can carry it.

        `blanks` allows spaces between words.
        """
        problem = _problem(self._reveal, blanks)
        if problem:
            where = name if isinstance(name, str) else "api_key"
            raise ConfigurationError(f"{where}: {problem}")
        return self

    def reveal(self) -> str:
        """Return the text, for the header that carries it.

        Raises `ConfigurationError` if the secret was unpickled: pickles do not contain the text.
        """
        if self.is_text and self._reveal() == SHOWN:
            raise ConfigurationError("api_key: a pickle does not contain the key; give it again")
        return self._reveal()

    @property
    def digest(self) -> str:
        """A digest, equal for equal secrets, from which the text cannot be found.

        >>> Secret("fake-key").digest == Secret("fake-key").digest
        True
        """
        import hashlib  # few programs need it

        return hashlib.blake2b(self.reveal().encode(), digest_size=8).hexdigest()

    def words(self) -> list[str]:
        """Return the parts of the text that are credentials themselves.

        These are the words after a scheme such as `Bearer`, the values of cookies, and user and
        password of `Basic`. Shorter words than a credential are left out.
        """
        text = self._reveal()
        if not isinstance(text, str) or text == SHOWN:
            return []
        words = _SEPARATOR().split(text)
        if ";" in text:  # cookies; elsewhere `=` is the padding of base64
            words = [each.partition("=")[2] for each in words]
        if text[:6].lower() == "basic ":
            words += _user_and_password(words[-1])
        return [each for each in words if len(each) >= _MIN_LENGTH]

    def spellings(self) -> tuple[tuple[str, ...], ...]:
        """Return each of `words`, followed by its base64 inside of a longer text.

        They are computed once: each log record of httpx is searched for those of all secrets.
        """
        if self._spelled is None:
            spelled = tuple((word, *in_base64(word.encode())) for word in self.words())
            self._spelled = lambda: spelled  # a function, as `_reveal`
        return self._spelled()

    def __repr__(self) -> str:
        return f"Secret('{SHOWN}')"

    def __str__(self) -> str:
        return SHOWN

    def __format__(self, spec: str) -> str:
        return format(SHOWN, spec)

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Secret:
        return self

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        return Secret, (SHOWN,)


def in_base64(value: bytes) -> Iterator[str]:
    """Yield the base64 of `value` inside a longer text, at all three alignments in both alphabets.

    Characters that also depend on neighbouring bytes are cut off.
    """
    for before, skipped in ((0, 0), (1, 2), (2, 3)):
        end = (before + len(value)) * 8 // 6
        text = base64.b64encode(b"\0" * before + value).decode()[skipped:end]
        yield text
        if "+" in text or "/" in text:
            yield text.translate(str.maketrans("+/", "-_"))


_SEPARATOR = lazy_pattern(r"[\s;]+")


def _user_and_password(text: str) -> list[str]:
    try:
        return base64.b64decode(text).decode().split(":", 1)
    except (binascii.Error, UnicodeDecodeError):
        return []  # not base64


_LIVING: dict[int, weakref.ref[Secret]] = {}
"""The secrets that are in use. A dict, since its methods are atomic: a lock that another thread
holds during a fork would stay locked in the child."""


def _live(secret: Secret) -> Secret:
    key = id(secret)
    _LIVING[key] = weakref.ref(secret, lambda _: _LIVING.pop(key, None))
    return secret


def living_secrets() -> list[Secret]:
    """Return the secrets that something in this process still uses.

    Commands of agents get no variable that contains one, and the logs of httpx show none.
    """
    return [secret for each in list(_LIVING.values()) if (secret := each()) is not None]


class TokenSource:
    """The function of the option `token=`; `repr` hides it, since that of a partial shows its
    arguments.
    """

    __slots__ = ("_function", "is_async")

    def __init__(self, function: Callable[[], str | Awaitable[str]]) -> None:
        self._function = Secret.unchecked(function)
        self.is_async: bool = inspect.iscoroutinefunction(function)

    def __call__(self) -> str | Awaitable[str]:
        """Call the function and return its token."""
        token: str | Awaitable[str] = unsealed(self._function)()
        return token

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TokenSource) and unsealed(self._function) == unsealed(
            other._function
        )

    def __hash__(self) -> int:
        return hash(unsealed(self._function))

    def __repr__(self) -> str:
        return f"TokenSource({SHOWN})"

    def __deepcopy__(self, memo: object) -> TokenSource:
        return self


# --- possible keys --------------------------------------------------------------------------------


def sealed(value: Any) -> Any:
    """Return `value`, as a `Secret` if it may be or contain a credential.

    Only numbers, `None`, and texts that do not look like one are left. Everything else may show a
    key in its `repr`.
    """
    plain = value is None or isinstance(value, bool | int | float | Secret)
    if plain or (isinstance(value, str) and not looks_secret(value)):
        return value
    if type(value) is tuple and all(isinstance(each, int | float) for each in value):
        return value
    return Secret.unchecked(value)


def seal_fields(struct: msgspec.Struct) -> None:
    """Seal possible keys in the fields of a struct of numbers and names.

    Its `__post_init__` calls this first: the frame of a refusal shows the struct (R-28).
    """
    for name in struct.__struct_fields__:
        msgspec.structs.force_setattr(struct, name, sealed(getattr(struct, name)))


def hide_arguments(error: BaseException, arguments: Iterable[Any]) -> None:
    """Remove the frames of a refusal if an argument looks like a key, which they show (R-28)."""
    if isinstance(error, WireError | TypeError) and any(map(_may_be_key, arguments)):
        frameless(error)


def _may_be_key(value: Any) -> bool:
    """Return whether a value, or one inside it, looks like a key.

    A large value is searched in part.
    """
    todo = [value]
    for _ in range(_MAX_SEARCHED):
        if not todo:
            return False
        each = todo.pop()
        if isinstance(each, str | bytes | bytearray):  # the body of a request may have 50 MB
            short = len(each) <= _MAX_SEARCHED
            if short and looks_secret(each if isinstance(each, str) else repr(each)):
                return True
        elif isinstance(each, dict):
            todo += itertools.islice(itertools.chain(each, each.values()), _MAX_SEARCHED)
        elif isinstance(each, list | tuple | set | frozenset):
            todo += itertools.islice(each, _MAX_SEARCHED)
        # Structs and objects of this library show no key, or hold data of any size.
        elif not (isinstance(each, msgspec.Struct) or _is_ours(each)):
            try:
                if looks_secret(repr(each)):
                    return True
            except Exception:  # a method of the user's object
                return True
    return False


def _is_ours(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "wire"


def sealed_list(secrets: str | Iterable[Any]) -> list[Secret]:
    """Return one secret, or several, each as a `Secret`.

    Raises `ConfigurationError` for a value that has no items.
    """
    try:
        several = [secrets] if isinstance(secrets, str) else list(secrets)
    except Exception:  # it may quote a key, whatever an iterator of the user raises
        raise ConfigurationError(
            f"secrets: expected texts and Secrets, not {type_name(secrets)}"
        ) from None
    return [each if isinstance(each, Secret) else Secret.unchecked(each) for each in several]


def sealed_object(value: Any, *methods: str) -> Any:
    """Return `value` if it has one of the methods, otherwise `sealed(value)`: it may be a key."""
    return value if any(hasattr(value, name) for name in methods) else sealed(value)


def quoted(value: Any, limit: int = 500) -> str:
    """Format a bad value for an error message: its `repr`, with possible credentials hidden.

    >>> quoted("gpt-5"), quoted("sk-proj-fake-1234"), quoted(["a", b"sk-fake-12345678"])
    ("'gpt-5'", "'***'", "['a', b'***']")

    Of a `Secret`, nothing is shown. Of an object of another type than those of JSON, only its type
    is, since its `repr` may contain anything. The text is one line of at most `limit` bytes.
    """
    if isinstance(value, Secret):
        return SHOWN
    try:
        if isinstance(value, str | bytes):
            text = repr(value[:limit])
        elif isinstance(value, list | tuple | dict | set | frozenset):
            # The `repr` of a list that contains another list many times may exceed the memory.
            text = _SHORT.repr(value)
        elif isinstance(value, bool | int | float | None):
            text = repr(value)
        else:
            return f"a {type(value).__name__}"
    except Exception:  # an int of many digits, or `__repr__` of a subclass
        return f"a {type(value).__name__}"
    return one_line(hidden(text), limit)


class _Short(reprlib.Repr):
    """The shortened `repr` of containers, with the type of each value that is not JSON."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxlong = 3, 100, 100

    def repr_instance(self, x: Any, level: int) -> str:
        return repr(x[:100]) if isinstance(x, bytes) else f"a {type(x).__name__}"

    def repr_int(self, x: int, level: int) -> str:
        return repr(x) if x.bit_length() < 1000 else "an int"


_SHORT = _Short()


def unsealed(value: Any) -> Any:
    """Return the hidden value of a `Secret`, or the value itself.

    Keep the result in no variable of a frame that raises.
    """
    return value._reveal() if isinstance(value, Secret) else value


def type_name(value: Any) -> str:
    """Return the name of the type of a value, or of the hidden value of a `Secret`."""
    return value.kind if isinstance(value, Secret) else type(value).__name__


def _problem(reveal: Callable[[], Any], blanks: bool) -> str | None:
    """Return why no header can carry the text.

    The message does not contain the text.
    """
    if not isinstance(reveal(), str) or not reveal():
        return "expected a non-empty text"
    position = next(
        (
            position
            for position, letter in enumerate(reveal())
            if not ("!" <= letter <= "~" or (blanks and letter == " "))
        ),
        None,
    )
    if position is None and reveal() != reveal().strip():
        position = 0 if reveal()[0] == " " else len(reveal()) - 1
    return (
        None
        if position is None
        else f"character {position} is white space or not ASCII, which no header can carry"
    )


# --- headers --------------------------------------------------------------------------------------

Headers = Mapping[str, str | Secret]

HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OF_ID = lazy_pattern(
    r"(^|-)(id|trace\w*|baggage|agent|version|beta|etag|digest|hash)($|-)", re.IGNORECASE
)
"""Names of headers whose values look random but are not credentials."""


def sealed_headers(headers: Any) -> Any:
    """Replace each header value that may be a credential by a `Secret`. Nothing is checked yet."""
    if not isinstance(headers, Mapping):
        return headers if isinstance(headers, Secret | None) else Secret.unchecked(headers)
    return {sealed(name): _sealed_header(name, headers[name]) for name in headers}


def sealed_query(query: Any) -> Any:
    """Replace each parameter that may be a credential by a `Secret`. Nothing is checked yet."""
    if not isinstance(query, Mapping):
        return query if query is None else Secret.unchecked(query)
    return {name: _sealed_parameter(name, query[name]) for name in query}


def _sealed_parameter(name: Any, value: Any) -> Any:
    if isinstance(value, Secret):
        return value
    listed = isinstance(value, (list, tuple))
    values = tuple(value) if listed else (value,)
    texts = isinstance(name, str) and all(isinstance(each, str) for each in values)
    if not texts or any(secret_parameter(name, each) for each in values):
        return Secret.unchecked(value)
    return values if listed else value


def _sealed_header(name: Any, value: Any) -> Any:
    if isinstance(value, Secret):
        return value
    if not isinstance(value, str) or not isinstance(name, str) or secret_name(name):
        return Secret.unchecked(value)
    random = known_credential(value) if _OF_ID().search(name) else looks_secret(value)
    return Secret.unchecked(value) if random else value


def checked_headers(headers: Any, where: str = "headers") -> dict[str, str | Secret]:
    """Check sealed headers and return them under lower-case names.

    Raises `ConfigurationError` that names the header and never shows its value.
    """
    if not isinstance(headers, Mapping):
        raise ConfigurationError(
            f"{where}: expected a mapping of names to texts, not {type_name(headers)}"
        )
    checked: dict[str, str | Secret] = {}
    for name in headers:
        if not isinstance(name, str) or not HEADER_NAME.fullmatch(name):
            raise ConfigurationError(f"{where}: {quoted(name)} is not a header name")
        value = headers[name]
        if isinstance(value, Secret) and value.is_text:
            value.check(f"{where}.{name}", blanks=True)
        elif not isinstance(value, str) or not value.isascii() or not value.isprintable():
            raise ConfigurationError(f"{where}.{name}: expected printable ASCII text")
        checked[name.lower()] = value
    return checked


def shown_headers(headers: Headers) -> dict[str, str]:
    """Return the headers with secrets hidden, for printing."""
    return {name: str(value) for name, value in headers.items()}


def revealed_headers(headers: Headers) -> list[tuple[str, str]]:
    """Return the headers with secrets revealed.

    Pass them on at once and never keep them in a variable.
    """
    return [
        (name, value.reveal() if isinstance(value, Secret) else value)
        for name, value in headers.items()
    ]
