"""JSON Schemas of servers, clients and files: each is answered or refused before anything follows
its references, in a number of steps that is bounded (R-38).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.joined import joined
from tests.serving.running import gateway
from wire import Output, Tool, tool
from wire.bulk.rows import question_of, read_row
from wire.errors import RuleError, ToolError, WireError
from wire.neutral.validation import shape_of
from wire.testing.emulator import Emulator, serve
from wire.tools import mcp


def prop(schema: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, **more}


def referring(levels: int, form: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """Each definition is `form` of a reference to the next one."""
    defs = {f"d{i}": form({"$ref": f"#/$defs/d{i + 1}"}) for i in range(levels)}
    return prop({"$ref": "#/$defs/d0"}, **{"$defs": {**defs, f"d{levels}": {"type": "string"}}})


def twice(key: str) -> Callable[[dict[str, Any]], Any]:
    return lambda ref: {key: {"a": ref, "b": ref} if key == "properties" else [ref, ref]}


def pattern(text: str) -> dict[str, Any]:
    return prop({"type": "string", "pattern": text})


def deep(levels: int) -> dict[str, Any]:
    schema: Any = {"type": "string"}
    for _ in range(levels):
        schema = {"items": schema}
    return prop(schema)


# Two references from each level to the next by a property, so that the value decides how often.
CHILDREN = prop(
    {"$ref": "#/$defs/d"},
    **{"$defs": {"d": {"anyOf": [prop({"$ref": "#/$defs/d"}), prop({"$ref": "#/$defs/d"})]}}},
)


def tower(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"x": value}
    return value


SCHEMAS: dict[str, tuple[Callable[[], dict[str, Any]], Any]] = {
    **{
        f"24 levels of two, {key}": (lambda key=key: referring(24, twice(key)), {"x": 1})  # type: ignore[misc]
        for key in ("properties", "anyOf", "allOf", "oneOf")
    },
    "16 levels below unevaluatedProperties": (
        lambda: referring(16, lambda ref: {"allOf": [ref, ref], "unevaluatedProperties": False}),
        {"x": 1},
    ),
    "6 definitions that are all of each other": (
        lambda: prop(
            {"$ref": "#/$defs/d0"},
            **{
                "$defs": {
                    f"d{i}": {
                        "allOf": [{"$ref": f"#/$defs/d{j}"} for j in range(6)],
                        "unevaluatedProperties": False,
                    }
                    for i in range(6)
                }
            },
        ),
        {"x": tower(4)},
    ),
    "items of 8 levels below unevaluatedProperties": (
        lambda: prop(
            {
                "items": referring(
                    7, lambda ref: {"allOf": [ref, ref], "unevaluatedProperties": False}
                )["properties"]["x"]
            },
            **{
                "$defs": referring(
                    7, lambda ref: {"allOf": [ref, ref], "unevaluatedProperties": False}
                )["$defs"]
            },
        ),
        {"x": [{"a": 1}] * 1_000},
    ),
    "a chain of 100,000": (lambda: referring(100_000, lambda ref: ref), {"x": 1}),
    "a ladder of 100,000": (lambda: referring(100_000, lambda ref: {"items": ref}), {"x": 1}),
    **{
        f"pattern {text}": (lambda text=text: pattern(text), {"x": "a" * 30_000 + "b"})  # type: ignore[misc]
        for text in ("(a+)+$", "(a|a)*$", "(.*a){20}", r"^(?:a(?=[^x]*$))*b", r"(a|aa)+\1c")
    },
    "pattern of 9,000 states": (lambda: pattern("(a{100}){90}b"), {"x": "a" * 100_000}),
    "pattern of 10**12 states": (lambda: pattern("((a{1000}){1000}){1000}{1000}"), {"x": "a"}),
    "enum of 100,000": (lambda: prop({"enum": list(map(str, range(100_000)))}), {"x": 1}),
    "anyOf of 1,000": (
        lambda: prop({"anyOf": [{"const": i} for i in range(1_000)]}),
        {"x": ["x" * 1000] * 1000},
    ),
    "10,000 levels": (lambda: deep(10_000), {"x": 1}),
    "itself": (lambda: prop({"$ref": "#"}), {"x": tower(50)}),
    "itself twice": (lambda: CHILDREN, tower(60)),
    "escaped references": (
        lambda: prop(
            {"$ref": "#/properties/a~1b"},
            **{"$defs": {"p q": {"$ref": "#/$defs/p%20q"}}},
            not_used={"$ref": "#/%24defs/p%20q"},
        ),
        {"x": 1},
    ),
    "a resource of its own": (
        lambda: prop(
            {"$ref": "#/$defs/d0"},
            **{
                "$defs": {
                    "d0": {"$id": "http://a.example/", "anyOf": [{"$ref": "json-schema:///"}] * 2}
                }
            },
        ),
        {"x": {"x": {"x": tower(40)}}},
    ),
    "5,000 digits": (lambda: prop({"maximum": 10**5000}), {"x": 1}),
    "a name of 1 MB": (lambda: {"type": "object", "properties": {"n" * 1_000_000: {}}}, {}),
    "a text of 2 MB": (lambda: prop({"description": "n" * 2_000_000}), {}),
}


LARGE_OR_NO_JSON = ("10,000 levels", "5,000 digits", "a chain of 100,000", "a ladder of 100,000")


class Session:
    def __init__(self, *schemas: Any) -> None:
        self.schemas = schemas

    def list_tools(self) -> Any:
        return [{"name": f"t{i}", "inputSchema": each} for i, each in enumerate(self.schemas)]

    def call_tool(self, name: str, arguments: Any) -> Any:
        return {"content": []}


def by_hand(schema: Any, value: Any) -> None:
    Tool("f", parameters=schema)


def validated(schema: Any, value: Any) -> None:
    shape_of(schema).read(value)


def decorated(schema: Any, value: Any) -> None:
    made = tool(lambda **_: 1, name="f", parameters=schema)
    made.signature.shape.read(value)


def listed(schema: Any, value: Any) -> None:
    (made,) = mcp.tools_in_threads(Session(schema))
    made.signature.shape.read(value)


def output(schema: Any, value: Any) -> None:
    Output(schema)


DOORS = {each.__name__: each for each in (by_hand, validated, decorated, listed, output)}


def answered(work: Callable[[], Any]) -> str:
    """The message of the refusal, or an empty text."""
    try:
        work()
    except (WireError, ValueError) as error:  # `Mismatch` is for the model
        said = str(error)
    else:
        return ""
    assert "\n" not in said
    assert len(said.encode()) <= 6_000
    return said


def test_a_schema_that_applies_to_its_own_value_is_refused() -> None:
    said = answered(lambda: by_hand(SCHEMAS["6 definitions that are all of each other"][0](), 1))
    assert said == (
        "tool f: parameters.$defs.d0: applies to the same value again (refer to it below "
        "properties or items)"
    )
    trees = prop(
        {"$ref": "#/$defs/t"}, **{"$defs": {"t": {"allOf": [prop({"$ref": "#/$defs/t"})]}}}
    )
    said = answered(lambda: validated(trees, {"x": {"x": tower(100)}}))
    assert said.split(";")[0].endswith('.x.x.x: 1 is not of type "object"')


QUICK = ("24 levels of two, anyOf", "16 levels below unevaluatedProperties", "itself twice")


@pytest.mark.row("R-38")
@joined("door", DOORS)
@joined("kind", QUICK)
def test_a_foreign_schema_is_answered_or_refused_at_each_door(kind: str, door: str) -> None:
    made, value = SCHEMAS[kind]
    said = answered(lambda: DOORS[door](made(), value))
    if kind != "itself twice":
        assert "expands to more than 100,000 schemas" in said
        assert "$defs.d" in said
    elif door in ("by_hand", "output"):
        assert not said
    else:
        assert "too large to be checked by this schema" in said


@contextmanager
def ticking() -> Iterator[list[float]]:
    """The most seconds of the processor, in the one item, that the process used while another
    thread did not run; other processes of a busy machine do not count.
    """
    longest, ended = [0.0], threading.Event()

    def tick() -> None:
        last = time.process_time()
        while not ended.wait(0.05):
            now = time.process_time()
            longest[0] = max(longest[0], now - last)
            last = now

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        yield longest
    finally:
        ended.set()
        thread.join()


@pytest.mark.slow
@pytest.mark.row("R-38")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", SCHEMAS)
def test_no_foreign_schema_stops_the_process(kind: str, door: str) -> None:
    made, value = SCHEMAS[kind][0](), SCHEMAS[kind][1]
    with ticking() as longest:
        began = time.thread_time()
        answered(lambda: DOORS[door](made, value))
        assert time.thread_time() - began < 1
    assert longest[0] < 0.3


# --- listings of MCP servers ----------------------------------------------------------------------


class Pages:
    """A session whose list has one tool on each page, and no end."""

    def __init__(self, tool_of: Callable[[int], dict[str, Any]], on_a_page: int = 1) -> None:
        self.tool_of, self.on_a_page, self.read = tool_of, on_a_page, 0

    def list_tools(self, cursor: str = "0") -> Any:
        first = int(cursor)
        self.read += 1
        after = first + self.on_a_page
        return {"tools": [self.tool_of(i) for i in range(first, after)], "nextCursor": str(after)}

    def call_tool(self, name: str, arguments: Any) -> Any:
        return {"content": []}


LISTINGS: dict[str, tuple[Pages, int, str]] = {
    "tools": (
        Pages(lambda i: {"name": f"t{i}"}, 500),
        5,
        "list_tools: tools: the server lists more than 2,000: have it list fewer",
    ),
    "pages": (
        Pages(lambda i: {"name": f"t{i}"}),
        1_000,
        "list_tools: the server has more than 1,000 pages of tools",
    ),
    "bytes": (
        Pages(lambda i: {"name": f"t{i}", "description": "d" * 300_000}),
        14,
        "list_tools: tools[13]: the tools have more than 4,194,304 bytes: have the server list "
        "fewer",
    ),
    "schemas": (
        Pages(lambda i: {"name": f"t{i}", "inputSchema": prop({"title": "d" * 900_000})}),
        5,
        "list_tools: tools[4]: the tools have more than 4,194,304 bytes: have the server list "
        "fewer",
    ),
    "a name": (
        Pages(lambda i: {"name": "n" * 1_000_000}),
        1,
        "list_tools: tools[0].name: 1,000,000 characters, more than 1,000: have the server "
        "shorten it",
    ),
    "a schema": (
        Pages(lambda i: {"name": "a", "inputSchema": referring(24, twice("anyOf"))}),
        1,
        "list_tools: tools[0].inputSchema.$defs.d9: expands to more than 100,000 schemas (refer "
        "to a definition fewer times, or leave parts out)",
    ),
}


@pytest.mark.row("R-38")
@joined("kind", LISTINGS)
def test_a_listing_over_a_bound_is_refused_at_its_page(kind: str) -> None:
    pages, read, told = LISTINGS[kind]
    pages.read = 0
    with pytest.raises(ToolError) as caught:
        mcp.tools_in_threads(pages)
    assert (str(caught.value), pages.read) == (told, read)


@pytest.mark.slow
def test_a_listing_of_2_000_tools_stops_no_other_thread() -> None:
    schema = prop({"type": "string", "pattern": "^[a-z]{1,64}$"}, required=["x"])
    listing = [{"name": f"t{i}", "inputSchema": schema} for i in range(2_000)]
    with ticking() as longest:
        assert (
            len(mcp.tools_in_threads(Session(*(each["inputSchema"] for each in listing)))) == 2_000
        )
    assert longest[0] < 0.3


# --- servers, and rows of files -------------------------------------------------------------------


def asking(schema: Any) -> dict[str, tuple[str, dict[str, Any]]]:
    """A request with a schema, as the clients of each API send it."""
    said = {"role": "user", "content": "Hi"}
    function = {"name": "f", "parameters": schema}
    json_schema = {"name": "a", "schema": schema, "strict": True}
    return {
        "chat": (
            "/v1/chat/completions",
            {
                "model": "gpt-4o",
                "messages": [said],
                "tools": [{"type": "function", "function": function}],
                "response_format": {"type": "json_schema", "json_schema": json_schema},
            },
        ),
        "responses": (
            "/v1/responses",
            {
                "model": "gpt-5.4",
                "input": "Hi",
                "tools": [{"type": "function", **function}],
                "text": {"format": {"type": "json_schema", **json_schema}},
            },
        ),
        "anthropic": (
            "/v1/messages",
            {
                "model": "claude-sonnet-5",
                "max_tokens": 50,
                "messages": [said],
                "tools": [{"name": "f", "input_schema": schema}],
                "output_config": {"format": {"type": "json_schema", "schema": schema}},
            },
        ),
        "gemini": (
            "/v1beta/models/gemini-3.8-flash:generateContent",
            {
                "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
                "tools": [
                    {"functionDeclarations": [{"name": "f", "parametersJsonSchema": schema}]}
                ],
            },
        ),
    }


HEADERS = {
    "authorization": "Bearer fake-key",
    "x-api-key": "fake-key",
    "x-goog-api-key": "fake-key",
}


def posted(server: Any, api: str, schema: Any) -> httpx.Response:
    path, body = asking(schema)[api]
    headers = HEADERS | {"anthropic-version": "2023-06-01", "content-type": "application/json"}
    with httpx.Client(verify=False, timeout=30) as client:
        return client.post(server.url + path, json=body, headers=headers)


@pytest.mark.row("R-38")
@pytest.mark.parametrize("server", ["gateway", "emulator"])
@pytest.mark.parametrize("api", ["chat", "responses", "anthropic", "gemini"])
def test_a_server_refuses_the_schema_of_a_client(server: str, api: str) -> None:
    schema = referring(24, twice("anyOf")) | {"additionalProperties": False, "required": ["x"]}
    with gateway("gemini") if server == "gateway" else serve(Emulator()) as running:
        response = posted(running, api, schema)
    # Gemini takes references as they are; its emulator answers without this tool.
    assert response.status_code == (200 if (server, api) == ("emulator", "gemini") else 400)
    if server == "gateway":
        assert "expands to more than 100,000 schemas" in response.text


@pytest.mark.slow
@pytest.mark.parametrize("server", ["gateway", "emulator"])
@pytest.mark.parametrize("kind", [each for each in SCHEMAS if each not in LARGE_OR_NO_JSON])
def test_no_schema_of_a_client_stops_a_server(server: str, kind: str) -> None:
    schema = SCHEMAS[kind][0]()
    with gateway("gemini") if server == "gateway" else serve(Emulator()) as running:
        for api in asking(schema):
            with ticking() as longest:
                began = time.monotonic()
                assert posted(running, api, schema).status_code in (200, 400, 413)
                assert time.monotonic() - began < 2
            assert longest[0] < 0.25


@pytest.mark.row("R-38")
@joined("levels", [499, 501, 900, 10_000])
def test_a_row_with_deep_json_is_a_problem_of_its_row(levels: int) -> None:
    body = '{"prompt": "Hi", "metadata": ' + "[" * levels + "]" * levels + "}"
    row = read_row(1, body.encode())
    assert bool(row.problem) == (levels > 499)
    assert "levels deep" in row.problem or not row.problem
    answered(lambda: question_of(row))


@pytest.mark.row("R-38")
def test_a_row_with_a_tool_that_expands_is_refused_with_its_path() -> None:
    tools = [{"name": "f", "parameters": referring(24, twice("anyOf"))}]
    row = read_row(1, {"prompt": "Hi", "tools": tools})
    with pytest.raises(RuleError, match=r"\$defs\.d9: expands to more than 100,000 schemas"):
        question_of(row)
