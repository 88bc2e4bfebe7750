from __future__ import annotations

import subprocess
from typing import Any

import httpx
import pytest

from tests.joined import joined
from wire import Chat, Client, gemini, openai, retry
from wire.core.call import Call, StreamCall, Timeouts
from wire.core.limits import Limits
from wire.core.retry import Retry
from wire.core.secret import Secret
from wire.errors import APIError, ConfigurationError, WireError
from wire.http.target import Target, target
from wire.providers import PROVIDERS

KEY, OTHER, ENV = "fake-key-4711", "fake-key-0815", "fake-key-of-env"
VERTEX = {"project": "my-project", "location": "us-central1"}
BODY = b'{"text":"it\'s"}'
REQUEST = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))

TOKEN = "fake-token-4712"


def error_of(status: int, headers: Any, body: bytes) -> APIError:
    return APIError(status=status)


def call(wire: str = "gemini", **fields: Any) -> Call[bytes]:
    return Call(
        wire, "POST", "/models/m:generateContent", BODY, parse=bytes, read_error=error_of, **fields
    )


def stream(wire: str = "gemini") -> StreamCall[bytes, bytes]:
    return StreamCall(
        wire,
        "POST",
        "/models/m:streamGenerateContent",
        BODY,
        reader=lambda _: None,
        fold=b"".join,
        read_error=error_of,
    )


def made(name: str = "gemini", **options: Any) -> Target:
    return target(name, options)  # type: ignore[arg-type]


def refused(name: str = "gemini", **options: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        made(name, **options)
    return str(caught.value)


def sent(
    found: Target, what: Call[Any] | None = None, token: Secret | None = None
) -> dict[str, str]:
    return dict(found.send_headers(what or call(), token))


# --- key ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "env", "key"),
    [
        ("gemini", {"api_key": KEY}, {}, KEY),
        ("gemini", {"api_key": Secret(KEY)}, {}, KEY),
        ("gemini", {"api_key": KEY}, {"GEMINI_API_KEY": ENV}, KEY),
        ("gemini", {}, {"GEMINI_API_KEY": ENV}, ENV),
        ("gemini", {"api_key": None}, {"GEMINI_API_KEY": ENV}, ENV),
        ("gemini", {}, {"GEMINI_API_KEY": f" {ENV}\n"}, ENV),
        ("gemini", {}, {"GEMINI_API_KEY": ENV, "GOOGLE_API_KEY": OTHER}, ENV),
        ("gemini@vertex", VERTEX, {"GEMINI_API_KEY": OTHER, "GOOGLE_API_KEY": ENV}, ENV),
    ],
    ids=[
        "argument",
        "secret",
        "argument-before-env",
        "env",
        "none-is-not-given",
        "env-with-line-end",
        "gemini-asks-its-own",
        "vertex-asks-its-own",
    ],
)
def test_which_key_is_sent(
    name: str,
    options: dict[str, Any],
    env: dict[str, str],
    key: str,
    monkeypatch: pytest.MonkeyPatch,
):
    for variable, value in env.items():
        monkeypatch.setenv(variable, value)
    assert sent(made(name, **options))["x-goog-api-key"] == key


def test_a_missing_key_is_told_with_the_variable_before_anything_is_sent():
    with pytest.raises(ConfigurationError) as caught:
        made("gemini").accept(call(), Call)
    assert str(caught.value) == "gemini: no API key: give api_key= or set GEMINI_API_KEY"


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"])
def test_a_key_of_another_provider_is_no_key(
    variable: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(variable, OTHER)
    with pytest.raises(ConfigurationError, match="no API key"):
        made().accept(call(), Call)


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("", "api_key: expected a non-empty text"),
        (f"{KEY}\n", "api_key: character 13 "),
        (4711, "api_key: expected a non-empty text"),
    ],
    ids=["empty", "line-end", "number"],
)
def test_a_wrong_key_is_refused(key: Any, problem: str):
    message = refused(api_key=key)
    assert message.startswith(problem)
    assert KEY not in message


@pytest.mark.row("S2-05")
def test_the_key_travels_in_a_header_and_not_in_the_url():
    found = made(api_key=KEY)
    assert KEY not in found.url(call(query={"alt": "sse"}))
    assert [name for name, value in sent(found).items() if KEY in value] == ["x-goog-api-key"]


def test_a_token_is_sent_instead_of_a_key():
    found = made("gemini@vertex", token=lambda: "fake-token", **VERTEX)
    headers = sent(found, token=Secret("fake-token"))
    assert headers["authorization"] == "Bearer fake-token"
    assert "x-goog-api-key" not in headers


def test_a_token_is_enough(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GOOGLE_API_KEY", ENV)
    found = made("gemini@vertex", token=lambda: "fake-token", **VERTEX)
    what = call()
    assert found.accept(what, Call) is what
    assert found.key is None  # the variable is not asked


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"token": lambda: "x", "api_key": KEY}, "token: give it or api_key, not both"),
        ({"token": "fake-token"}, "token: expected a function that returns a token"),
    ],
    ids=["both", "no-function"],
)
def test_a_wrong_token_is_refused(options: dict[str, Any], problem: str):
    message = refused("gemini@vertex", **VERTEX, **options)
    assert message == f"gemini@vertex: {problem}"


# --- provider and place ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gemini", "Gemini", "GEMINI"])
def test_the_name_of_a_provider_has_no_case(name: str):
    assert made(name).provider.name == "gemini"


@joined("name", ["gemin", "", "gemini@", None, 3], ids=repr)
def test_an_unknown_provider_is_told_the_known_ones(name: Any):
    near = {
        "gemin": "did you mean 'gemini'? ",
        "gemini@": "did you mean 'gemini', 'gemini@vertex' or 'gemini@openai'? ",
    }.get(name, "")
    assert refused(name).startswith(
        f"provider: {name!r} is unknown; {near}`wire providers` lists all"
    )


VERTEX_PATH = "projects/my-project/locations/{0}/publishers/google/models/m:generateContent"


@pytest.mark.row("S3-30")
@joined(
    ("name", "options", "url"),
    [
        ("gemini", {}, "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"),
        (
            "gemini",
            {"version": "v1"},
            "https://generativelanguage.googleapis.com/v1/models/m:generateContent",
        ),
        (
            "gemini",
            {"version": None},
            "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent",
        ),
        (
            "gemini",
            {"base_url": "https://proxy.example/llm"},
            "https://proxy.example/llm/v1beta/models/m:generateContent",
        ),
        (
            "gemini",
            {"base_url": "https://proxy.example/llm//"},
            "https://proxy.example/llm/v1beta/models/m:generateContent",
        ),
        (
            "gemini@vertex",
            VERTEX,
            "https://us-central1-aiplatform.googleapis.com/v1beta1/"
            + VERTEX_PATH.format("us-central1"),
        ),
        (
            "gemini@vertex",
            VERTEX | {"location": "global"},
            "https://aiplatform.googleapis.com/v1beta1/" + VERTEX_PATH.format("global"),
        ),
        (
            "gemini@vertex",
            VERTEX
            | {"project": "example.com:p-1", "version": "v1", "base_url": "http://localhost:8080/"},
            "http://localhost:8080/v1/projects/example.com:p-1/locations/us-central1/publishers/google/models/m:generateContent",
        ),
    ],
    ids=[
        "gemini",
        "version",
        "version-none",
        "base-url",
        "trailing-slashes",
        "vertex",
        "vertex-global",
        "vertex-all",
    ],
)
def test_url(name: str, options: dict[str, Any], url: str):
    assert made(name, **options).url(call()) == url


@pytest.mark.row("S3-21", "S3-30")
@joined(
    ("name", "options", "problem"),
    [
        (
            "gemini@vertex",
            {"location": "global"},
            "project: gemini@vertex needs it: give project=, or set GOOGLE_CLOUD_PROJECT",
        ),
        (
            "gemini@vertex",
            {"project": "p"},
            "location: gemini@vertex needs it: give location=, or set GOOGLE_CLOUD_LOCATION",
        ),
        ("gemini", {"project": "p"}, "project: gemini has no such option"),
        ("gemini", {"location": "global"}, "location: gemini has no such option"),
        ("gemini", {"version": "v1/../x"}, "version: 'v1/../x' cannot be part of a path"),
        ("gemini", {"version": ".."}, "version: '..' cannot be part of a path"),
        ("gemini", {"version": "v1?x"}, "version: 'v1?x' cannot be part of a path"),
        ("gemini@vertex", VERTEX | {"project": "a b"}, "project: 'a b' cannot be part of a path"),
        ("gemini@vertex", VERTEX | {"project": 4711}, "project: 4711 cannot be part of a path"),
        (
            "gemini@vertex",
            VERTEX | {"location": "evil.example/"},
            "location: 'evil.example/' cannot be part of a path",
        ),
    ],
    ids=lambda value: value.partition(" ")[0] if isinstance(value, str) else None,
)
def test_a_wrong_place_is_named(name: str, options: dict[str, Any], problem: str):
    assert refused(name, **options) == f"{name}: {problem}"


def test_an_unknown_option_is_named_with_the_known_ones():
    assert refused(apikey=KEY) == "apikey: no such option; did you mean 'api_key'?"
    message = refused(colour=KEY)
    assert message.startswith("colour: no such option; there are http, api_key, base_url, ")
    assert KEY not in message


# --- base_url (R-27, R-31) ------------------------------------------------------------------------


@joined(
    "url",
    [
        "https://proxy.example",
        "https://proxy.example:8443/a/b",
        "https://10.0.0.1",
        "http://localhost",
        "http://localhost.:8080",
        "http://LOCALHOST:8080",
        "http://app.localhost:8080",
        "http://127.0.0.1:8080",
        "http://127.9.9.9",
        "http://[::1]:8080",
    ],
)
def test_a_good_base_url(url: str):
    assert made(base_url=url).base_url == url


OPEN, URL, OPTION = (
    "expected https for",
    "expected an http(s) URL with a host",
    "it must not contain a user, key or query",
)


@joined(
    ("url", "problem"),
    [
        ("http://proxy.example", OPEN),
        ("http://10.0.0.1", OPEN),
        ("http://127.0.0.1.evil.example", OPEN),
        ("http://localhost.evil.example", OPEN),
        ("http://evil.example/localhost", OPEN),
        ("http://evil-localhost", OPEN),
        ("http://0.0.0.0", OPEN),
        ("http://[::2]", OPEN),
        ("", URL),
        ("proxy.example", URL),
        ("//proxy.example", URL),
        ("https://", URL),
        ("https://...", URL),
        ("https:///path", URL),
        ("ftp://proxy.example", URL),
        ("file:///etc/passwd", URL),
        ("https://[::1", URL),
        ("https://proxy.example:99999", URL),
        ("https://proxy.example:x", URL),
        (" https://proxy.example", URL),
        ("https://proxy.example\n", URL),
        ("https://proxy.example/a b", URL),
        (b"https://proxy.example", URL),
        (4711, URL),
        (f"https://{KEY}@proxy.example", OPTION),
        (f"https://user:{KEY}@proxy.example", OPTION),
        (f"https://:{KEY}@proxy.example", OPTION),
        ("http://127.0.0.1@evil.example", OPTION),
        (f"https://proxy.example/?key={KEY}", OPTION),
        (f"https://proxy.example#key={KEY}", OPTION),
        (f"https://proxy.example/key={KEY}", OPTION),
        ("https://proxy.example?", OPTION),  # the path that is put after it would become a query
        ("https://proxy.example#", OPTION),  # and here it would not be sent at all
    ],
    ids=ascii,
)
def test_a_wrong_base_url(url: Any, problem: str):
    message = refused(base_url=url)
    assert message.startswith("gemini: base_url: ")
    assert problem in message
    assert KEY not in message


@joined(
    ("url", "end"),
    [
        ("127.0.0.1:8000", "not '127.0.0.1:8000'; put http:// before it"),
        ("10.0.0.7:8000/v1", "not '10.0.0.7:8000/v1'; put http:// before it"),
        ("llm.example/v1", "not 'llm.example/v1'; put https:// before it"),
        ("", "not ''"),
        ("htp://llm.example", "not 'htp://llm.example'"),
        ("sk-fake-12345678", "not ***; put http:// before it"),
    ],
)
def test_a_wrong_base_url_is_shown_with_what_it_lacks(url: str, end: str):
    problem = "expected an http(s) URL with a host, without user and fragment"
    assert refused(base_url=url) == f"gemini: base_url: {problem}, {end}"


@pytest.mark.row("R-31")
@pytest.mark.parametrize("host", ["api\uff0eopenai\uff0ecom", "api\u3002openai\u3002com"])
def test_a_key_goes_to_no_host_that_only_httpx_reads(host: str, monkeypatch: pytest.MonkeyPatch):
    """IDNA maps these dots to ASCII ones, so httpx would connect to OpenAI's host."""
    assert httpx.URL(f"https://{host}").raw_host == b"api.openai.com"
    monkeypatch.setenv("GEMINI_API_KEY", ENV)
    message = refused(base_url=f"https://{host}/v1")
    assert message.startswith("gemini: base_url: expected an http(s) URL in ASCII: write a host")


@pytest.mark.row("R-31")
def test_a_location_is_part_of_one_label():
    message = refused("gemini@vertex", project="p", location="a:80", api_key=KEY)
    assert message == (
        "gemini@vertex: location: 'a:80' is not a region of Google, such as europe-west4"
    )


@pytest.mark.row("R-31")
@joined("path", [".evil.example/v1", "@evil.example/v1", ":80@evil.example", 5])
def test_a_path_does_not_continue_the_host(path: Any):
    with pytest.raises(ConfigurationError, match=r"^path: expected a text that begins"):
        Call("openai", "POST", path, BODY, parse=bytes, read_error=error_of)
    with pytest.raises(ConfigurationError, match=r"^path_prefix: "):
        call(path_prefix=path)


@pytest.mark.row("R-31")
@joined(
    ("base_url", "url", "problem"),
    [
        (None, "http://127.0.0.1:8080/s", "127.0.0.1 is this machine"),
        (None, "https://localhost/s", "localhost is this machine"),
        (None, "https://[::ffff:127.0.0.1]/s", "is this machine"),
        (None, "https://10.0.0.1/s", "10.0.0.1 is in a private network"),
        (None, "https://169.254.169.254/latest", "is in a private network"),
        (None, "https://[fe80::1]/s", "is in a private network"),
        (None, "https://db.internal/s", "is in a private network"),
        (None, "https://metadata/s", "is in a private network"),
        ("https://llm.example", "https://192.168.1.1/s", "is in a private network"),
        ("https://10.0.0.5", "https://127.0.0.1/s", "is this machine"),
        ("https://llm.internal", "http://localhost/s", "is this machine"),
        (None, "https://upload.example/s", ""),
        ("https://10.0.0.5", "https://10.0.0.6/s", ""),
        ("http://localhost:8080", "http://127.0.0.1:9090/s", ""),
        ("http://localhost:8080", "https://10.0.0.1/s", ""),
    ],
)
def test_a_server_directs_no_request_into_a_private_network(
    base_url: str | None, url: str, problem: str
):
    sending = made(api_key=KEY, base_url=base_url)
    directed = Call("gemini", "POST", "", BODY, parse=bytes, read_error=error_of, url=url)
    if not problem:
        assert sending.accept(directed, Call) is directed
        return
    with pytest.raises(ConfigurationError, match="gemini: url: ") as caught:
        sending.accept(directed, Call)
    assert problem in str(caught.value)


# --- clocks, retry, limits ------------------------------------------------------------------------


@joined(
    ("timeouts", "found"),
    [
        (Timeouts(), Timeouts(connect=10.0, first_byte=300.0, idle=120.0, total=900.0)),
        (None, Timeouts(connect=None, first_byte=None, idle=None, total=None)),
        (5, Timeouts(connect=5, first_byte=5, idle=5, total=900.0)),
        (2.5, Timeouts(connect=2.5, first_byte=2.5, idle=2.5, total=900.0)),
        (Timeouts(total=9.0), Timeouts(total=9.0)),
        (Timeouts(connect=None, first_byte=None, idle=None), Timeouts(None, None, None, 900.0)),
    ],
    ids=["default", "none", "number", "fraction", "own", "off"],
)
def test_timeouts(timeouts: Any, found: Timeouts):
    assert made(timeouts=timeouts).timeouts == found
    call = Chat("gemini:m", api_key=KEY).call("Hi", timeouts=timeouts)
    assert call.timeouts == found


def test_timeouts_that_are_not_given():
    assert made().timeouts == Timeouts()
    assert Chat("gemini:m", api_key=KEY).call("Hi").timeouts is None  # those of the client


@joined("timeouts", [-1, 0, float("nan"), float("inf"), "5", True, (1, 2), [], {}], ids=repr)
def test_wrong_timeouts_are_refused(timeouts: Any):
    expected = "timeouts: expected a positive number of seconds, a Timeouts or None, not "
    assert refused(timeouts=timeouts).startswith(expected)
    with pytest.raises(ConfigurationError, match=f"^{expected}"):
        Chat("gemini:m", api_key=KEY).call("Hi", timeouts=timeouts)


@joined("name", ["connect", "first_byte", "idle", "total"])
@joined("seconds", [-1.0, 0, float("nan"), float("inf"), "5"], ids=repr)
def test_a_wrong_clock_is_named(name: str, seconds: Any):
    with pytest.raises(
        ConfigurationError, match=f"^timeouts.{name}: expected a positive number of seconds or None"
    ):
        Timeouts(**{name: seconds})


@pytest.mark.parametrize(
    ("options", "policy"),
    [
        ({}, retry.DEFAULT),
        ({"retry": None}, retry.NONE),
        ({"retry": Retry(attempts=7)}, Retry(attempts=7)),
    ],
    ids=["default", "none", "own"],
)
def test_retry(options: dict[str, Any], policy: Retry):
    assert made(**options).retry == policy


@pytest.mark.parametrize(
    ("options", "limits"),
    [({}, Limits()), ({"limits": None}, Limits()), ({"limits": Limits(event=7)}, Limits(event=7))],
    ids=["default", "none", "own"],
)
def test_limits(options: dict[str, Any], limits: Limits):
    assert made(**options).limits == limits


@joined(
    ("option", "value"),
    [("retry", 3), ("limits", 3), ("retry", Retry), ("limits", {"event": 3})],
    ids=repr,
)
def test_an_option_of_the_wrong_kind_is_named(option: str, value: Any):
    assert refused(**{option: value}).startswith(f"{option}: expected a {option.title()}, not ")


# --- headers --------------------------------------------------------------------------------------


def test_headers_are_sent():
    headers = sent(
        made(api_key=KEY, headers={"X-Team": "a b", "X-Api-Token": OTHER}),
        call(headers={"x-call": "c"}),
    )
    assert headers == {
        "user-agent": "wire",
        "accept-encoding": "identity",
        "x-team": "a b",
        "x-api-token": OTHER,
        "x-call": "c",
        "x-goog-api-key": KEY,
    }


@joined("name", ["user-agent", "User-Agent"])
@joined("where", ["client", "call"])
def test_a_header_of_ours_is_replaced_whatever_its_case(name: str, where: str):
    client, one = ({name: "me"}, {}) if where == "client" else ({}, {name: "me"})
    headers = made(api_key=KEY, headers=client).send_headers(call(headers=one), None)
    assert [value for header, value in headers if header.lower() == "user-agent"] == ["me"]


@joined(
    ("headers", "problem"),
    [
        ({"x y": "a"}, "headers: 'x y' is not a header name"),
        ({"": "a"}, "headers: '' is not a header name"),
        ({"x\n": "a"}, "headers: 'x\\n' is not a header name"),
        ({"x:": "a"}, "headers: 'x:' is not a header name"),
        ({"é": "a"}, "headers: 'é' is not a header name"),
        ({3: "a"}, "headers: 3 is not a header name"),
        ({"x": "a\r\ny: b"}, "headers.x: expected printable ASCII text"),
        ({"x": "a\0"}, "headers.x: expected printable ASCII text"),
        ({"x": "é"}, "headers.x: expected printable ASCII text"),
        ({"x": 3}, "headers.x: expected printable ASCII text"),
        ({"x-token": f"{KEY}\n"}, "headers.x-token: character 13 is white space or not ASCII"),
        ({"x-token": ""}, "headers.x-token: "),
        ([("x", "a")], "headers: "),
        ("x: a", "headers: "),
    ],
    ids=ascii,
)
def test_wrong_headers_are_refused(headers: Any, problem: str):
    message = refused(headers=headers)
    assert message.startswith(problem)
    assert KEY not in message


@pytest.mark.parametrize(
    "headers", [{"x y": "a"}, {"x": "a\r\ny: b"}, {"x": "é"}], ids=["name", "line-end", "not-ascii"]
)
def test_wrong_headers_of_a_call_are_refused_before_anything_is_sent(headers: dict[str, str]):
    def prepare() -> None:
        what = call().replace(headers=headers)
        found = made(api_key=KEY)
        found.accept(what, Call)
        found.send_headers(what, None)

    with pytest.raises(WireError, match="headers"):
        prepare()


SECRET_HEADERS = {
    "X-Api-Key": OTHER,
    "authorization": f"Bearer {OTHER}",
    "Proxy-Authorization": f"Basic {OTHER}",
    "x-auth": OTHER,
    "x-token": OTHER,
    "Cookie": f"a={OTHER}; b=c",
    "x-client-secret": OTHER,
    "x-password": OTHER,
}
secret_headers = pytest.mark.parametrize(
    "header", SECRET_HEADERS.items(), ids=SECRET_HEADERS.keys()
)


@secret_headers
@pytest.mark.parametrize(
    "show",
    [
        repr,
        lambda found: repr(found.preview(call())),
        lambda found: str(found.preview(call())),
        lambda found: found.preview(call()).curl,
    ],
    ids=["repr", "preview-repr", "preview-str", "curl"],
)
def test_a_header_that_looks_secret_is_not_shown(header: tuple[str, str], show):
    assert OTHER not in show(made(api_key=KEY, headers=dict([header])))


@secret_headers
def test_a_header_that_looks_secret_is_sent(header: tuple[str, str]):
    assert sent(made(api_key=KEY, headers=dict([header])))[header[0].lower()] == header[1]


@joined(
    "show",
    [
        repr,
        lambda found: repr(made(api_key=KEY).preview(found)),
        lambda found: repr(found.preview()),
        lambda found: str(found.preview()),
        lambda found: found.preview().curl,
    ],
    ids=["repr", "client-preview", "preview-repr", "preview-str", "curl"],
)
def test_a_secret_header_of_a_call_is_not_shown(show):
    assert OTHER not in show(call(headers={"authorization": f"Bearer {OTHER}"}))


# --- preview --------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"api_key": KEY}], ids=["no-key", "key"])
def test_preview_shows_no_key_and_needs_none(options: dict[str, Any]):
    assert str(made(**options, headers={"x-team": "a"}).preview(call(query={"a": "b c"}))) == (
        "POST https://generativelanguage.googleapis.com/v1beta/models/m:generateContent?a=b%20c\n"
        "user-agent: wire\n"
        "accept-encoding: identity\n"
        "x-team: a\n"
        "x-goog-api-key: ***\n"
        "\n"
        '{"text":"it\'s"}'
    )


def test_preview_with_a_token_asks_for_none():
    def token() -> str:
        raise AssertionError("asked")

    headers = made("gemini@vertex", token=token, **VERTEX).preview(call()).headers
    assert headers["authorization"] == "Bearer ***"
    assert "x-goog-api-key" not in headers


def arguments(line: str) -> list[str]:
    """What a shell makes of a command line of curl: the line is run with a function in its
    place.
    """
    script = 'curl() { printf "%s\\n--\\n" "$@"; }\n' + line
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        env={"GEMINI_API_KEY": KEY, "ACCESS_TOKEN": TOKEN},
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout.split("\n--\n")[:-1]


@joined("text", ["it's", "a\nb", '$HOME `id` $(id) \\ " !', "", "é 語", "*** ***"], ids=ascii)
def test_curl_hands_the_body_on_as_it_is(text: str):
    body = f'{{"text": "{text}"}}'
    preview = made().preview(
        Call("gemini", "POST", "/x", body.encode(), parse=bytes, read_error=error_of)
    )
    assert arguments(preview.curl)[-2:] == ["--data-binary", body]


def test_curl_takes_the_key_from_a_variable():
    assert arguments(
        made(headers={"x-team": "it's $HOME"}).preview(call(query={"a": "b&c"})).curl
    ) == [
        "-sS",
        "-X",
        "POST",
        "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent?a=b%26c",
        "-H",
        "user-agent: wire",
        "-H",
        "accept-encoding: identity",
        "-H",
        "x-team: it's $HOME",
        "-H",
        f"x-goog-api-key: {KEY}",
        "--data-binary",
        BODY.decode(),
    ]


def test_curl_with_a_token():
    line = made("gemini@vertex", token=lambda: "x", **VERTEX).preview(call()).curl
    assert f"authorization: Bearer {TOKEN}" in arguments(line)


def test_curl_does_not_run_a_header_that_looks_hidden():
    assert "x-note: *** $(echo run) `echo run`" in arguments(
        made(headers={"x-note": "*** $(echo run) `echo run`"}).preview(call()).curl
    )


def test_preview_of_a_call_has_no_host():
    assert (
        str(call(query={"a": "b"}, headers={"x-a": "b"}).preview())
        == 'POST /models/m:generateContent?a=b\nx-a: b\n\n{"text":"it\'s"}'
    )


def test_preview_without_a_body_ends_with_the_headers():
    preview = Call("gemini", "GET", "/models", parse=bytes, read_error=error_of).preview()
    assert str(preview) == "GET /models"
    assert arguments(preview.curl) == ["-sS", "-X", "GET", "/models"]


# --- which calls ----------------------------------------------------------------------------------


@joined(
    ("what", "kind", "problem"),
    [
        (
            call("openai"),
            Call,
            "gemini: call: a call of the wire 'openai', but 'gemini' speaks 'gemini'",
        ),
        (
            stream("openai"),
            StreamCall,
            "gemini: call: a call of the wire 'openai', but 'gemini' speaks 'gemini'",
        ),
        (stream(), Call, "call: expected a Call, not StreamCall; use stream() for it"),
        (call(), StreamCall, "call: expected a StreamCall, not Call; use send() for it"),
        ("hello", Call, "call: expected a Call, not str"),
        (None, StreamCall, "call: expected a StreamCall, not NoneType"),
    ],
    ids=["other-wire", "other-wire-stream", "stream-to-send", "call-to-stream", "text", "nothing"],
)
def test_a_wrong_call_is_refused(what: Any, kind: type, problem: str):
    with pytest.raises(ConfigurationError) as caught:
        made(api_key=KEY).accept(what, kind)
    assert str(caught.value) == problem


def test_a_good_call_is_sent_as_it_is():
    one, other = call(), stream()
    found = made(api_key=KEY)
    assert found.accept(one, Call) is one
    assert found.accept(other, StreamCall) is other


# --- what is told ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "env", "source"),
    [
        ("gemini", {"api_key": KEY}, {}, "argument"),
        ("gemini", {"api_key": Secret(KEY)}, {}, "argument"),
        ("gemini", {}, {"GEMINI_API_KEY": KEY}, "GEMINI_API_KEY"),
        ("gemini", {}, {}, "missing (GEMINI_API_KEY)"),
        ("gemini@vertex", VERTEX | {"token": lambda: KEY}, {}, "token callback"),
    ],
    ids=["argument", "secret", "env", "missing", "token"],
)
def test_describe_says_where_the_key_is_from(
    name: str,
    options: dict[str, Any],
    env: dict[str, str],
    source: str,
    monkeypatch: pytest.MonkeyPatch,
):
    for variable, value in env.items():
        monkeypatch.setenv(variable, value)
    found = made(name, **options).describe()
    assert found["key"] == source
    assert KEY not in repr(found)


def test_describe():
    assert made(
        api_key=KEY, base_url="https://proxy.example/", timeouts=5, retry=None
    ).describe() == {
        "provider": "gemini",
        "base_url": "https://proxy.example/v1beta",
        "base_url_source": "argument",
        "key": "argument",
        "timeouts": Timeouts(connect=5, first_byte=5, idle=5),
        "retry": retry.NONE,
        "limits": Limits(),
        "trust_env": True,
        "connection": "http",
    }


def test_repr_shows_no_key():
    assert KEY not in repr(made(api_key=KEY))


def test_an_error_is_masked_and_gets_the_name_of_the_provider():
    error = APIError(f"bad key {KEY}, bad token {OTHER}", status=401, raw=KEY.encode())
    assert made(api_key=KEY, headers={"x-token": OTHER}).masked(error) is error
    assert str(error) == "gemini: 401: bad key ***, bad token ***"
    assert error.raw == KEY.encode()


@pytest.mark.parametrize("value", [f"Bearer {OTHER}", f"Basic {OTHER}"], ids=["bearer", "basic"])
def test_a_secret_header_of_two_words_is_masked_as_well(value: str):
    error = made(api_key=KEY, headers={"authorization": value}).masked(
        APIError(f"you sent {value}")
    )
    assert OTHER not in str(error)


def test_a_token_of_a_callback_is_masked_as_well():
    def repeats(request: httpx.Request) -> httpx.Response:
        return httpx.Response(401, text=f"not accepted: {request.headers['authorization']}")

    with Client(
        "gemini@vertex", token=lambda: OTHER, http=httpx.MockTransport(repeats), **VERTEX
    ) as client:
        with pytest.raises(APIError, match="not accepted") as caught:
            client.send(gemini.generate_content("gemini-3-pro-preview", REQUEST))
    assert OTHER not in str(caught.value)


def test_a_short_header_value_does_not_blot_out_the_message():
    """It was no secret, its header is only called like one."""
    assert (
        str(made(headers={"x-token-version": "1"}).masked(APIError("1 of 10 is wrong")))
        == "gemini: 1 of 10 is wrong"
    )


def test_an_error_that_has_a_provider_keeps_it():
    assert made(api_key=KEY).masked(WireError("oops", provider="other")).provider == "other"


@pytest.mark.parametrize("where", ["client", "call"])
def test_the_key_is_sent_once(where: str):
    """A header of the user's that is called like the key's is no second key."""
    mine = {"X-Goog-Api-Key": OTHER}
    client, one = (mine, {}) if where == "client" else ({}, mine)
    headers = made(api_key=KEY, headers=client).send_headers(call(headers=one), None)
    assert [value for name, value in headers if name == "x-goog-api-key"] == [KEY]


# --- a known host behind a base URL ---------------------------------------------------------------


@joined(
    ("name", "base_url", "like"),
    [
        ("openai", "https://api.z.ai/api/paas/v4", "glm"),
        ("openai@chat", "https://me.openai.azure.com/openai/v1", "azure"),
        ("my-host", "https://api.deepseek.com", "deepseek"),
        ("openai", "https://generativelanguage.googleapis.com/v1beta/openai", "gemini@openai"),
        ("openai@responses", "https://api.x.ai/v1", "xai@responses"),
        ("anthropic", "https://api.deepseek.com/anthropic", "deepseek@anthropic"),
    ],
)
def test_a_known_host_is_known_behind_a_base_url(name: str, base_url: str, like: str) -> None:
    """Another row would have the rules of another host, and send the key in its header."""
    client = Client(name, api_key="fake-key", base_url=base_url)
    there = PROVIDERS[like]
    assert client.row.name == name
    assert client.row.dialect == there.dialect
    assert (client.row.key_header, client.row.key_scheme) == (there.key_header, there.key_scheme)
    assert client.row.model_rows == ()


@joined(
    ("name", "base_url"),
    [
        ("openai", "https://gateway.example/v1"),  # may be a gateway to OpenAI
        ("openai", "https://eu.api.openai.com/v1"),
        ("openai", "http://127.0.0.1:11434/v1"),  # where Ollama listens, as anything may
    ],
)
def test_any_other_host_has_the_dialect_of_the_name(name: str, base_url: str) -> None:
    client = Client(name, api_key="fake-key", base_url=base_url)
    assert client.row.key_header == PROVIDERS[name].key_header
    assert client.row.dialect == PROVIDERS[name].dialect


def test_a_dialect_of_the_caller_counts_at_a_known_host() -> None:
    own = openai.Dialect(most_stops=2)
    client = Client("openai", api_key="fake-key", base_url="https://api.z.ai/v1", dialect=own)
    assert client.row.dialect == own
