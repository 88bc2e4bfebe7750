"""Recognises credentials in texts: by their form, by the name of their field, in URLs.

A rule by form has two parts. Vendors start their keys with known prefixes (`sk-`, `AIza`, `ghp_`,
a JWT's `eyJ`). Other keys are long words in which letters and digits alternate at random. Names of
models, hosts and files are long too, but their words and numbers stand apart, between `-`, `_`,
`.` and `/`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from wire.core.lazy import file_beside, lazy_pattern

SHOWN = "***"


class CredentialForm(msgspec.Struct, frozen=True):
    """The form of the credentials of one kind; the file `credential_forms.json` has all."""

    kind: str
    """Such as `Anthropic key`."""
    begin: str
    """The first characters, which tell the form; empty if `word` tells it."""
    word: str
    """Is in each text that has the form."""
    rest: str
    """The pattern of the rest. It also matches parts of credentials, which are hidden."""
    least: int
    """Characters of a complete credential."""

    def pattern(self) -> re.Pattern[str]:
        """Return the compiled pattern."""
        return _compiled(re.escape(self.begin) + self.rest)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9]){pattern}", re.ASCII)


@functools.cache
def credential_forms() -> tuple[CredentialForm, ...]:
    """Return the forms that vendors give their credentials, a longer begin before a shorter one.

    >>> [form.begin for form in credential_forms() if form.kind == "Google API key"]
    ['AIza', 'AQ.']
    """
    rows: list[dict[str, Any]] = msgspec.json.decode(
        file_beside(__file__, "credential_forms.json")
    )["forms"]
    forms = [
        CredentialForm(row["kind"], begin, begin or word, row["rest"], row["least"])
        for row in rows
        for begin, word in zip(row["begins"], row.get("words", row["begins"]), strict=True)
    ]
    return tuple(sorted(forms, key=lambda form: -len(form.begin)))


_STEM = 3
"""Characters of a begin that are searched for; more make the search slower to compile."""


@functools.cache
def _index() -> tuple[re.Pattern[str], dict[str, list[CredentialForm]], list[CredentialForm]]:
    """Return a pattern of the stems of all begins at the begin of a word, the forms by stem, and
    the forms without a begin."""
    begins = [form.begin for form in credential_forms() if form.begin]
    short = tuple(begin for begin in begins if len(begin) < _STEM)
    stems: dict[str, list[CredentialForm]] = {}
    others = []
    for form in credential_forms():
        if form.begin:
            stem = next(filter(form.begin.startswith, short), form.begin[:_STEM])
            stems.setdefault(stem, []).append(form)
        else:
            others.append(form)
    return re.compile(f"(?<![A-Za-z0-9]){_one_of({*stems})}"), stems, others


def _one_of(words: set[str]) -> str:
    """Return a pattern of several words, which compares equal first letters once."""
    if "" in words:
        return ""
    first: dict[str, set[str]] = {}
    for word in words:
        first.setdefault(word[0], set()).add(word[1:])
    rests = [re.escape(letter) + _one_of(first[letter]) for letter in sorted(first)]
    return rests[0] if len(rests) == 1 else f"(?:{'|'.join(rests)})"


# A scheme before a credential of any form.
_AFTER_SCHEME = lazy_pattern(r"(?<![A-Za-z0-9])(?i:bearer|basic) +(?!\*)[\w.~+/=-]{8,}", re.ASCII)
_MIN_LENGTH = 11
"""Characters of the shortest text that a form matches; most names of options are shorter."""
_LONG_WORD = lazy_pattern(r"[A-Za-z0-9_.~+/%=-]{20,}")
_RUN = lazy_pattern(r"[A-Za-z0-9]{8,}")
_HUMP = lazy_pattern(r"(?<=[a-z])[A-Z]")
_NUMBER_EDGE = lazy_pattern(r"(?<=[0-9])[A-Za-z]|(?<=[A-Za-z])[0-9]")
_MIN_CHANGES = 4
"""Changes between lower case, upper case and digits in one run of letters and digits. Names of
models have fewer (`Qwen3`, `A22B`, `w8a8`), and names in code have few numbers."""


def known_credential(text: str) -> bool:
    """Return whether a text contains a credential with the prefix of a vendor.

    >>> known_credential("sk-proj-fake-1234"), known_credential("task-force-alpha")
    (True, False)
    """
    return len(text) >= _MIN_LENGTH and (
        next(credentials_in(text), None) is not None or _after_scheme(text) is not None
    )


def credentials_in(text: str) -> Iterator[tuple[CredentialForm, re.Match[str]]]:
    """Yield the credentials with the form of a vendor in a text, with their forms.

    >>> [found[0] for _, found in credentials_in("the key sk-proj-fake-1234 in a text")]
    ['sk-proj-fake-1234']
    """
    # One pattern of all forms would take longer to compile, and to search with.
    starts, stems, others = _index()
    end = 0
    for start in starts.finditer(text):
        at = start.start()
        for form in stems.get(start[0], ()) if at >= end else ():
            if text.startswith(form.begin, at) and (found := form.pattern().match(text, at)):
                yield form, found
                end = found.end()
                break
    for form in others:
        if form.word in text:
            for found in form.pattern().finditer(text):
                yield form, found


def _after_scheme(text: str) -> re.Match[str] | None:
    named = "earer " in text or "asic " in text or "EARER " in text or "ASIC " in text
    return _AFTER_SCHEME().search(text) if named else None


def without_known(text: str) -> str:
    """Replace the credentials in a text that have the prefix of a vendor by `***`.

    >>> without_known("expected a number, not 'sk-proj-fake-1234'")
    "expected a number, not '***'"
    """
    if len(text) < _MIN_LENGTH:
        return text
    if _after_scheme(text):
        text = _AFTER_SCHEME().sub(SHOWN, text)
    kept: list[str] = []
    done = 0
    for begin, end in sorted(found.span() for _, found in credentials_in(text)):
        if begin >= done:
            kept += text[done:begin], SHOWN
            done = end
    return "".join(kept) + text[done:] if kept else text


def looks_secret(text: str) -> bool:
    """Return whether a text contains what may be a credential, by its form.

    >>> looks_secret("4f9c1e7b5a2d8c3f6e0b"), looks_secret("gpt-5.4-mini-2026-03-17")
    (True, False)
    """
    return known_credential(text) or any(
        _has_random_run(word) for word in _LONG_WORD().findall(text)
    )


def hidden(text: str) -> str:
    """Replace everything in a text that may be a credential by `***`.

    >>> hidden("no model 'sk-proj-fake-1234' at https://me:pw@host/v1?key=fake")
    "no model '***' at https://***@host/v1?key=***"
    """
    return _LONG_WORD().sub(_without_random_runs, without_known(hidden_in_url(text)))


def _without_random_runs(word: re.Match[str]) -> str:
    if not _has_random_run(word[0]):
        return word[0]
    # Only the segments of a path or URL that look random are hidden. Other words with slashes are
    # base64, and are hidden whole.
    if not word[0].startswith((".", "/", "~")) and "//" not in word[0]:
        return SHOWN
    return "/".join(SHOWN if _has_random_run(each) else each for each in word[0].split("/"))


def _has_random_run(word: str) -> bool:
    return any(map(_is_random, _RUN().findall(word)))


def _is_random(run: str) -> bool:
    edges = len(_NUMBER_EDGE().findall(run))
    changes = edges + len(_HUMP().findall(run))
    return edges > 1 and changes >= _MIN_CHANGES and 6 * changes >= len(run)


# --- names of fields ------------------------------------------------------------------------------

_SECRET_NAME = lazy_pattern(
    r"auth|key|kye|token|secret|cookie|passw|passphrase|(?:^|[_-])pass$|(?:^|[_-])pwd$|signature|"
    r"^sig$|credential|bearer|jwt|^upload_id$",
    re.IGNORECASE,
)
_PLAIN_NAME = lazy_pattern(
    r"(?:page|next|sync|continuation)[_-]?token|(?:max|min|count)\w*tokens?|tokens?[_-]?count|"
    r"idempotency[_-]?key|keyword|keyboard|author(?!i[sz])",
    re.IGNORECASE,
)


def secret_name(name: str) -> bool:
    """Return whether a header, parameter or option of this name carries a credential.

    >>> [name for name in ("key", "x-goog-api-key", "pageToken", "alt") if secret_name(name)]
    ['key', 'x-goog-api-key']
    """
    return _SECRET_NAME().search(name) is not None and _PLAIN_NAME().search(name) is None


def secret_parameter(name: str, value: str) -> bool:
    """Return whether a parameter of a URL carries a credential, by its name or its value."""
    return secret_name(name) or (known_credential(value) and _PLAIN_NAME().search(name) is None)


_URL_USER = lazy_pattern(r"(?<=://)[^/\s@?#'\"]+(?=@)")
_PARAMETER = lazy_pattern(r"([?&;]([^=&?#\s'\"]+)=)([^&#\s'\"]+)")


def hidden_in_url(text: str) -> str:
    """Hide users, passwords, and parameters that carry credentials in a URL or a text with URLs.

    >>> hidden_in_url("https://host/f?alt=sse&X-Goog-Signature=fake&key=fake")
    'https://host/f?alt=sse&X-Goog-Signature=***&key=***'
    """
    from urllib.parse import unquote

    return _PARAMETER().sub(
        lambda match: (
            match[1] + SHOWN if secret_parameter(unquote(match[2]), match[3]) else match[0]
        ),
        _URL_USER().sub(SHOWN, text),
    )


_ARGUMENT = lazy_pattern(r"(?<!\S)(--?([\w-]+)(?:=| +))(?!-)(\S+)")


def hidden_in_arguments(text: str) -> str:
    """Hide the credentials in an error of a command line, which repeats arguments.

    >>> hidden_in_arguments("unrecognized arguments: --api-key fake --seed=1")
    'unrecognized arguments: --api-key *** --seed=1'
    """
    return hidden(
        _ARGUMENT().sub(lambda match: match[1] + SHOWN if secret_name(match[2]) else match[0], text)
    )


# --- environment variables ------------------------------------------------------------------------

_SECRET_WORDS = frozenset(
    """
    KEY KEYS APIKEY APIKEYS TOKEN TOKENS SECRET SECRETS PASS PASSWORD PASSWORDS PASSWD PASSPHRASE
    PWD PAT PATS AUTH AUTHORIZATION CRED CREDS CREDENTIAL CREDENTIALS COOKIE COOKIES SIGNATURE SIG
    DSN JWT BEARER OTP WEBHOOK SESSIONID OAUTH PSK PIN HMAC NETRC PASSCODE MNEMONIC
    """.split()  # noqa: SIM905 - one word a line would hide which are there
)
_GLUED_WORD = lazy_pattern(
    r"API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|COOKIE|"
    r"TOKENS?(?![A-Z])|(?<!BY)(?<!COM)(?<!SUR)PASS(?=_|\d|$)|"
    r"(?<!MON)(?<!TUR)(?<!DON)KEYS?(?=_|\d|$)|PWD(?=_|\d|$)|CONN(?:ECTION)?_?STR(?:ING)?|"
    r"(?<!DESKTOP)_SESSION$|^SESSION$"
)
_PLAIN_VARIABLES = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK"})
_NUMBER_OF_TOKENS = lazy_pattern(r"(?:MAX|MIN|NUM|COUNT)_(?:\w*_)?TOKENS?")
_ORDINARY_VARIABLES = _PLAIN_VARIABLES | {
    "PATH", "HOME", "SHELL", "USER", "LOGNAME", "LANG", "TERM", "TMPDIR", "HOSTNAME",
}  # fmt: skip
"""Variables that a shell needs. Their values are never compared with those of others: a database
password `postgres` must not remove `PATH`."""
_ID_WORDS = frozenset({"SHA", "COMMIT", "REVISION", "DIGEST", "HASH", "INVOCATION"})
"""Words in names of variables whose values are random but not credentials."""
_ASSIGNMENT = lazy_pattern(
    r"(?:password|passwd|pwd|passphrase|secret|api_?key|access_?key|account_?key|private_?key|"
    r"access_?token|auth_?token|credential)s?[\"']?\s*[=:]\s*[\"']?[^\s\"',;&]{4,}|"
    r"\blogin\s+\S+\s+password\s+\S",  # .netrc
    re.IGNORECASE,
)
_MIN_KNOWN = 8
"""Characters. A shorter value is a common word, and other variables would contain it by chance."""


def secret_variable(name: str) -> bool:
    """Return whether an environment variable of this name holds a credential.

    >>> [name for name in ("DB_PASS", "OPENAI_API_KEYS", "PWD", "PATH") if secret_variable(name)]
    ['DB_PASS', 'OPENAI_API_KEYS']
    """
    spelled = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", name).upper()
    words = {word.rstrip("0123456789") for word in spelled.split("_")}
    if name in _PLAIN_VARIABLES or _NUMBER_OF_TOKENS().fullmatch(spelled):
        return False
    return not _SECRET_WORDS.isdisjoint(words) or _GLUED_WORD().search(spelled) is not None


def secret_value(name: str, value: str) -> bool:
    """Return whether the value of an environment variable shows that it holds a credential.

    >>> secret_value("DATABASE_URL", "postgres://app:fake@db/app"), secret_value("HOME", "/root")
    (True, False)
    """
    url = value.replace("ssh://git@", "ssh://")  # a user name that every host has, not a credential
    if known_credential(value) or hidden_in_url(url) != url or _ASSIGNMENT().search(value):
        return True
    path_like = value.startswith(("/", ".", "~")) or ":/" in value or " " in value.strip()
    of_id = not _ID_WORDS.isdisjoint(name.upper().split("_")) or name in _ORDINARY_VARIABLES
    return not path_like and not of_id and looks_secret(value)


def repeats_secret(name: str, value: str, secrets: frozenset[str]) -> bool:
    """Return whether a variable contains one of `secrets`: values of other variables, or keys."""
    return name not in _ORDINARY_VARIABLES and any(
        len(each) >= _MIN_KNOWN and each in value for each in secrets
    )
