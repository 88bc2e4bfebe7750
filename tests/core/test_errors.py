from __future__ import annotations

import builtins
import copy
import inspect
import pickle
import re
import traceback

from hypothesis import example, given
from hypothesis import strategies as st

from tests.joined import joined
from wire import errors
from wire.core.exchange import completed
from wire.core.masking import Mask
from wire.core.secret import Secret
from wire.errors import (
    APIError,
    RuleError,
    Violation,
    WireError,
    class_of_status,
    leaves,
    one_line,
    retryable_status,
    ungrouped,
)

KEY = "fake-key-4711"
CLASSES = [
    each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, WireError)
]
every_class = joined("cls", CLASSES, ids=lambda cls: cls.__name__)


def drawn_tree(text: str) -> dict[str, str]:
    """Child to parent, out of the drawing in the module's docstring; a line may hold several
    siblings.
    """
    parents: dict[str, str] = {}
    above: dict[int, str] = {0: "WireError"}
    for line in text.splitlines():
        found = re.findall(r"[├└]── ([A-Z]\w+(?:, [A-Z]\w+)*)", line)
        if found:
            depth = (re.search("[├└]", line).start() - 4) // 4 + 1
            for name in ", ".join(found).split(", "):
                parents[name] = above[depth - 1]
                above[depth] = name
    return parents


def test_the_tree_is_the_one_that_is_drawn():
    assert drawn_tree(errors.__doc__ or "") == {
        cls.__name__: cls.__bases__[0].__name__ for cls in CLASSES if cls is not WireError
    }


def test_one_class_has_two_bases():
    """Callers of a constructor catch the `TypeError` that Python raises for wrong arguments."""
    assert [cls.__name__ for cls in CLASSES if len(cls.__bases__) != 1] == ["FieldError"]


def test_no_builtin_name_is_shadowed():
    assert {name for name in vars(errors) if not name.startswith("_")} & set(dir(builtins)) == set()


@every_class
def test_every_field_is_on_every_error(cls: type[WireError]):
    error = cls("oops")
    fields = (
        "message",
        "provider",
        "status",
        "code",
        "request_id",
        "retryable",
        "retry_after",
        "attempts",
        "partial",
        "raw",
        "preview",
        "account",
        "response_headers",
    )
    assert [getattr(error, name) for name in fields] == [
        "oops",
        "",
        None,
        None,
        None,
        False,
        None,
        0,
        None,
        b"",
        None,
        None,
        {},
    ]


@every_class
def test_every_class_says_when_it_is_raised(cls: type[WireError]):
    assert inspect.cleandoc(cls.__doc__ or "").endswith(".")
    assert cls.__doc__ != cls.__bases__[0].__doc__


# --- text (R-12, R-34) ----------------------------------------------------------------------------


def test_code_and_request_id_of_a_server_act_on_no_terminal() -> None:
    headers = {"x-request-id": "req\x9b2J"}
    error = completed(APIError("no", code="BAD\x1b]0;x\x07"), headers, 0.0)
    assert error.code == "BAD\\x1b]0;x\\x07"
    assert error.request_id == "req\\x9b2J"


def test_messages_and_violations_show_no_known_key() -> None:
    error = RuleError(violations=[Violation("a", "expected a number, not 'sk-proj-fakefake'")])
    assert str(error) == str(error.violations[0]) == "a: expected a number, not '***'"
    assert str(WireError("no model AIzaFakeFakeFake")) == "no model ***"


@joined(
    ("error", "text"),
    [
        (WireError("oops"), "oops"),
        (WireError("oops", provider="gemini"), "gemini: oops"),
        (WireError("oops", status=500), "500: oops"),
        (WireError("oops", code="INTERNAL"), "INTERNAL: oops"),
        (
            WireError("oops", provider="gemini", status=500, code="INTERNAL"),
            "gemini: 500 INTERNAL: oops",
        ),
        (WireError("oops", attempts=1), "oops"),
        (WireError("oops", provider="gemini", attempts=3), "gemini: oops (after 3 attempts)"),
        (RuleError(violations=[Violation("a.b", "no"), Violation("", "two")]), "a.b: no; two"),
        (RuleError("said", violations=[Violation("a.b", "no")]), "said"),
    ],
    ids=range(9),
)
def test_str(error: WireError, text: str):
    assert str(error) == text
    assert repr(error) == f'{type(error).__name__}("{text}")'


def test_a_violation_says_where_what_and_what_to_do():
    assert (
        str(Violation("contents[0].role", "unknown role", "G-1", "error", "use user"))
        == "contents[0].role: unknown role [G-1] (use user)"
    )


@joined(
    ("text", "line"),
    [
        ("a\nb\r\nc", "a b c"),
        ("a\x00\x1b[31mb\x7f\x85c", "a [31mb c"),
        ("a\u2028b\u2029c", "a b c"),
        ("a\ud800b", "a b"),
        ("\n a \n", "a"),
        ("é 語 🙂", "é 語 🙂"),
        ("", ""),
    ],
    ids=repr,
)
def test_one_line(text: str, line: str):
    assert one_line(text) == line


def test_a_long_message_keeps_both_ends():
    text = one_line("begin " + "x" * 100_000 + " end", 100)
    assert text.startswith("begin xxx")
    assert text.endswith("xxx end")
    assert " ... " in text
    assert len(text) <= 100


_hostile = st.text(
    st.characters() | st.sampled_from("\r\n\x00\x1b\u2028\x85\\'\"\u200b")
) | st.builds(
    lambda text, times: text * times, st.text(min_size=1, max_size=3), st.integers(500, 5000)
)


@given(_hostile, _hostile, _hostile)
@example("x" * 10_000, "p" * 10_000, "c" * 10_000)
def test_the_text_of_an_error_is_one_line_without_control_characters(
    message: str, provider: str, code: str
):
    text = str(WireError(message, provider=provider, code=code, status=500, attempts=3))
    assert len(text) <= 2048
    assert re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", text) is None


@joined("message", ["x", "\\", "'", '"', "é", "語", "🙂", "\u200b", "\U000e0001", "\n"], ids=ascii)
@joined("show", [str, repr])
def test_the_text_of_an_error_is_2_kib_at_most(message: str, show: type):
    """In bytes, as a log has it: characters of four bytes and escapes count as what they become."""
    error = WireError(
        message * 5000, provider=message * 5000, code=message * 5000, status=500, attempts=3
    )
    assert len(show(error).encode()) <= 2048


# --- pickles and copies (R-37) --------------------------------------------------------------------

COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle-{p}": lambda error, p=p: pickle.loads(pickle.dumps(error, p))
        for p in range(2, pickle.HIGHEST_PROTOCOL + 1)
    },
}


@every_class
def test_copies_are_whole(cls: type[WireError]):
    more = {"violations": [Violation("a", "b", "c")]} if issubclass(cls, RuleError) else {}
    more |= {"details": [{"reason": "x"}, "y"]} if issubclass(cls, APIError) else {}
    error = cls(
        "a\nmessage",
        provider="gemini",
        status=500,
        code="INTERNAL",
        request_id="r-1",
        retryable=True,
        retry_after=2.5,
        attempts=3,
        partial={"a": [1]},
        raw=b"\x00raw",
        **more,
    )
    error.add_note("seen at noon")
    fields = [
        name
        for name in dir(error)
        if not name.startswith("_") and not callable(getattr(error, name))
    ]
    assert {"message", "raw", "partial", "args", *more} <= set(fields)
    for way, copied in COPIES.items():
        twin = copied(error)
        assert type(twin) is cls, way
        assert {name: getattr(twin, name) for name in fields} == {
            name: getattr(error, name) for name in fields
        }, way
        assert (str(twin), repr(twin), twin.__notes__) == (
            str(error),
            repr(error),
            ["seen at noon"],
        ), way


def test_a_masked_error_stays_masked_in_a_pickle():
    error = WireError(f"bad key {KEY}", code=KEY)
    error.masked(Mask([Secret(KEY)]).text)
    assert KEY.encode() not in pickle.dumps(error)


# --- secrets (R-29) -------------------------------------------------------------------------------


@joined(
    "show",
    [
        str,
        repr,
        lambda error: repr(vars(error)),
        lambda error: repr(error.args),
        lambda error: "".join(traceback.format_exception(error)),
    ],
    ids=["str", "repr", "vars", "args", "traceback"],
)
def test_the_body_is_not_shown(show):
    assert KEY not in show(WireError("oops", raw=KEY.encode()))


def test_the_body_is_there_when_asked_for():
    assert WireError("oops", raw=KEY.encode()).raw == KEY.encode()


def test_masked_takes_the_key_out_of_message_code_and_args_and_leaves_the_body():
    error = APIError(
        f"key {KEY} is bad, I say {KEY}", code=f"BAD_{KEY}", status=401, raw=KEY.encode()
    )
    error.masked(Mask([Secret(KEY)]).text)
    assert str(error) == "401 BAD_***: key *** is bad, I say ***"
    assert error.args == ("key *** is bad, I say ***",)
    assert error.raw == KEY.encode()


def test_masked_with_no_secret_changes_nothing():
    error = WireError("oops", code="X")
    error.masked(Mask([]).text)
    assert str(error) == "X: oops"


@joined("before", range(730, 780, 5))
def test_a_key_is_masked_also_where_a_long_message_is_cut(before: int):
    error = WireError("x" * before + KEY + "y" * 5000)
    error.masked(Mask([Secret(KEY)]).text)
    assert KEY[:8] not in str(error)


# --- status ---------------------------------------------------------------------------------------


@joined(
    ("status", "name", "retryable"),
    [
        (400, "BadRequestError", False),
        (401, "AuthenticationError", False),
        (402, "APIError", False),
        (403, "AccessDeniedError", False),
        (404, "NotFoundError", False),
        (405, "APIError", False),
        (408, "RequestTimeoutError", True),
        (409, "APIError", True),
        (413, "BadRequestError", False),
        (418, "APIError", False),
        (422, "BadRequestError", False),
        (429, "RateLimitError", True),
        (499, "APIError", False),
        (500, "ServerError", True),
        (502, "ServerError", True),
        (503, "OverloadedError", True),
        (504, "ServerError", True),
        (529, "OverloadedError", True),
        (599, "ServerError", True),
    ],
)
def test_status(status: int, name: str, retryable: bool):
    assert (class_of_status(status).__name__, retryable_status(status)) == (name, retryable)


def test_an_exception_comes_out_of_its_group():
    one, two, three = ValueError("1"), KeyError("2"), SystemExit(3)
    assert ungrouped(one) is one
    assert ungrouped(ExceptionGroup("g", [ExceptionGroup("h", [one])])) is one
    assert not hasattr(one, "__notes__")
    group = ExceptionGroup("g", [one, ExceptionGroup("h", [two])])
    assert leaves(group) == [one, two]
    for _ in range(2):
        assert ungrouped(group) is one
        assert one.__notes__ == ["raised together with KeyError('2')"]
    assert ungrouped(BaseExceptionGroup("g", [two, GeneratorExit(), three])) is three
    assert type(ungrouped(BaseExceptionGroup("g", [two, GeneratorExit()]))) is GeneratorExit
