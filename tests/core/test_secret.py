from __future__ import annotations

import copy
import json
import logging
import pickle
import traceback

import msgspec
import pytest

from tests.joined import joined
from tests.library import is_library
from wire.core import secret
from wire.core.secret import Secret, hide_arguments
from wire.errors import ConfigurationError
from wire.http.target import target

KEY = "fake-key-4711"


def shown_traceback(secret: Secret) -> str:
    """A traceback as error reporters make it, with the secret among the locals of every kind of
    holder.
    """

    def fail(held: Secret, holder: list[Secret], named: dict[str, Secret]) -> None:
        raise ValueError("oops")

    try:
        fail(secret, [secret], {"api_key": secret})
    except ValueError as error:
        return "".join(
            traceback.TracebackException.from_exception(error, capture_locals=True).format()
        )
    raise AssertionError


def logged(secret: Secret) -> str:
    return logging.LogRecord(
        "wire", logging.INFO, "", 0, "%s %r", (secret, secret), None
    ).getMessage()


SINKS = {
    "repr": repr,
    "str": str,
    "format": format,
    "format-spec": lambda secret: format(secret, ">20"),
    "f-string": lambda secret: f"{secret} {secret!r} {secret!s} {secret!a} {secret:>20}",
    "percent": lambda secret: "%s %r %a" % (secret, secret, secret),  # noqa: UP031 - old code formats so
    "in-containers": lambda secret: repr(([secret], {"k": secret}, {secret})),
    "copy": lambda secret: repr(copy.copy(secret)),
    "deepcopy": lambda secret: repr(copy.deepcopy({"k": [secret]})),
    "pickle": lambda secret: repr(
        [pickle.dumps(secret, protocol) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    ),
    "attributes": lambda secret: repr([(name, getattr(secret, name)) for name in dir(secret)]),
    "json-default": lambda secret: json.dumps({"k": secret}, default=str),
    "msgspec-hook": lambda secret: msgspec.json.encode({"k": secret}, enc_hook=repr).decode(),
    "log": logged,
    "traceback": shown_traceback,
}


@joined("show", SINKS.values(), ids=SINKS.keys())
def test_the_text_is_not_shown(show):
    text = show(Secret(KEY))
    assert KEY not in text
    assert text


@pytest.mark.parametrize(
    "show", [str, format, lambda secret: f"{secret}"], ids=["str", "format", "f-string"]
)
def test_stars_are_shown_instead(show):
    assert show(Secret(KEY)) == "***"


def test_repr():
    assert repr(Secret(KEY)) == "Secret('***')"


@joined(
    "encode",
    [json.dumps, msgspec.json.encode, msgspec.msgpack.encode, msgspec.to_builtins],
    ids=lambda f: f.__module__,
)
def test_encoders_refuse_it_and_do_not_show_it(encode):
    with pytest.raises(TypeError) as caught:
        encode({"k": Secret(KEY)})
    assert KEY not in str(caught.value)


def test_vars_finds_nothing():
    with pytest.raises(TypeError):
        vars(Secret(KEY))


def test_reveal_gives_the_text():
    assert Secret(KEY).reveal() == KEY


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy], ids=["copy", "deepcopy"])
def test_a_copy_can_be_revealed(copied):
    assert copied(Secret(KEY)).reveal() == KEY


def test_one_out_of_a_pickle_cannot_be_revealed():
    twin = pickle.loads(pickle.dumps(Secret(KEY)))
    assert str(twin) == "***"
    with pytest.raises(ConfigurationError, match="does not contain the key"):
        twin.reveal()


# --- what no header can carry ---------------------------------------------------------------------

WRONG = {
    "newline-at-end": f"{KEY}\n",
    "newline": f"{KEY}\r\nx-other: 1",
    "blank": f"{KEY} ",
    "blank-before": f" {KEY}",
    "tab": f"{KEY}\t",
    "nul": f"{KEY}\0",
    "not-ascii": f"{KEY}é",
    "zero-width": f"{KEY}\u200b",
    "quotes-of-a-word-processor": f"“{KEY}”",
}
wrong = pytest.mark.parametrize("text", WRONG.values(), ids=WRONG.keys())


@wrong
def test_a_wrong_text_is_refused_by_the_name_of_its_source_and_not_shown(text: str):
    with pytest.raises(ConfigurationError, match=r"^GEMINI_API_KEY: character \d+ is") as caught:
        Secret(text, "GEMINI_API_KEY")
    assert KEY not in str(caught.value)
    assert KEY not in repr(vars(caught.value))


@joined("text", ["", None, b"fake-key-4711", 4711], ids=repr)
def test_what_is_no_text_is_refused(text: object):
    with pytest.raises(ConfigurationError, match=r"^api_key: expected a non-empty text$"):
        Secret(text)  # type: ignore[arg-type]


def library_locals(error: BaseException) -> str:
    """Locals of the frames of the library, as an error reporter shows them; those of the caller are
    the caller's.
    """
    frames = traceback.TracebackException.from_exception(error, capture_locals=True).stack
    return "\n".join(
        f"{frame.filename}: {frame.locals}"
        for frame in frames
        if is_library(frame.filename, "core")
    )


@wrong
def test_the_traceback_of_a_wrong_text_does_not_show_it(text: str):
    with pytest.raises(ConfigurationError) as caught:
        Secret(text)
    assert KEY not in library_locals(caught.value)


@joined(
    "options",
    [
        {"api_key": f"{KEY}\n"},
        {"api_key": KEY, "timeouts": -1},
        {"api_key": KEY, "nonsense": 1},
        {"headers": {"x-api-key": KEY, "x y": "1"}},
    ],
    ids=["wrong-key", "wrong-timeouts", "unknown-option", "wrong-header"],
)
def test_the_traceback_of_a_wrong_option_does_not_show_the_key(options: dict[str, object]):
    with pytest.raises(ConfigurationError) as caught:
        target("gemini", options)  # type: ignore[arg-type]
    assert KEY not in library_locals(caught.value)


def test_a_key_of_the_environment_is_not_shown_either(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GEMINI_API_KEY", f"{KEY}é")
    with pytest.raises(ConfigurationError, match=r"^GEMINI_API_KEY: character 13 ") as caught:
        target("gemini", {})
    assert KEY not in library_locals(caught.value)


def test_the_bytes_of_an_argument_are_searched_for_keys_unless_they_are_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched = list[int]()

    def looks_secret(text: str) -> bool:
        searched.append(len(text))
        return KEY in text

    def refusal() -> BaseException:
        try:
            raise TypeError("no")
        except TypeError as error:
            return error

    monkeypatch.setattr(secret, "looks_secret", looks_secret)
    shown, hidden = refusal(), refusal()
    hide_arguments(shown, [b"x" * (1 << 20)])  # the search of 50 MB takes seconds
    assert (searched, shown.__traceback__ is None) == ([], False)
    hide_arguments(hidden, [KEY.encode()])
    assert (len(searched), hidden.__traceback__ is None) == (1, True)
