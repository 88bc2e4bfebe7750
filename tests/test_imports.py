"""What each public entry loads: counted, since a time would depend on the machine."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# --- what an entry loads --------------------------------------------------------------------------

TYPES_AND_RULES = (
    "from wire import gemini\n"
    "gemini.GenerateContentRequest, gemini.generate_content, gemini.check, gemini.parse_reply\n"
    "gemini.EventReader, gemini.parse_error"
)
ANSWER = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": "Hi."}]}, "finishReason": "STOP"}
    ]
}
FIRST_CALL = f"""
import httpx
from wire import Client, gemini

def answer(request):
    return httpx.Response(200, json={ANSWER!r})

with Client("gemini", api_key="fake-key", http=httpx.MockTransport(answer)) as client:
    request = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
    reply = client.send(gemini.generate_content("gemini-3.8-flash", request))
assert reply.text == "Hi."
"""
HTTP_STACK = ("httpx", "httpcore", "h11", "anyio", "asyncio", "ssl", "socket")
ERRORS_ONLY = ("difflib", "html", "secrets", "shlex")
"""Modules of the standard library that a program without errors does not need."""
RARE_TYPES = tuple(
    f"wire.gemini.types.{name}"
    for name in (
        "batches", "caches", "embeddings", "enums", "files", "operations", "predict", "stores",
    )
)  # fmt: skip
ABOVE = ("wire.agent", "wire.cli", "wire.pipeline", "wire.sessions", "wire.testing", "wire.tools")
AROUND = ("opentelemetry", "wire.around", "wire.otel", "wire.pace", "wire.http.surrounding")
"""What hangs around a call, which a program without `around=` and `tracing=` does not need."""
NOT_FOR_THREADS = ("asyncio", "anyio", *ERRORS_ONLY, *ABOVE, *AROUND)
NOT_FOR_ASYNC = ("asyncio", "anyio._core", "wire.http.client", *ERRORS_ONLY, *ABOVE, *AROUND)
"""A program that runs a loop of asyncio has imported asyncio itself."""
ROWS = {
    "gemini": "wire.gemini.rows",
    "openai": "wire.openai.common.rows",
    "responses": "wire.openai.responses.rows",
    "anthropic": "wire.anthropic.rows",
}


def rows_but(wire: str) -> tuple[str, ...]:
    return tuple(module for name, module in ROWS.items() if name != wire)


ENTRIES = {
    "wire": ("import wire", 3, ("msgspec", *HTTP_STACK)),
    "wire.gemini": ("import wire.gemini", 4, ("msgspec", *HTTP_STACK)),
    "wire.openai": ("import wire.openai", 4, ("msgspec", *HTTP_STACK)),
    "wire.anthropic": ("import wire.anthropic", 4, ("msgspec", *HTTP_STACK)),
    "types and rules of Gemini": (
        TYPES_AND_RULES,
        75,
        (
            *HTTP_STACK, *ERRORS_ONLY, *RARE_TYPES, *ABOVE,
            "dataclasses", "email", "hashlib", "logging", "random", "wire.openai", "wire.anthropic",
        ),
    ),
    "calls of Gemini": (
        "from wire.gemini import GenerateContentRequest, check, generate_content",
        68,
        (*HTTP_STACK, *ERRORS_ONLY, *RARE_TYPES, *ABOVE, "wire.neutral.messages"),
    ),
    "Client('gemini')": (
        "import wire; wire.Client('gemini', api_key='fake-key')",
        36,
        (*NOT_FOR_THREADS, *rows_but("gemini"), "wire.gemini.types", "wire.neutral"),
    ),
    "Client('openai')": (
        "import wire; wire.Client('openai', api_key='fake-key')",
        40,
        (*NOT_FOR_THREADS, *rows_but("openai"), "wire.openai.chat", "wire.neutral.messages"),
    ),
    "Client('anthropic')": (
        "import wire; wire.Client('anthropic', api_key='fake-key')",
        36,
        (*NOT_FOR_THREADS, *rows_but("anthropic"), "wire.anthropic.types", "wire.neutral"),
    ),
    "AsyncClient('gemini')": (
        "import wire; wire.AsyncClient('gemini', api_key='fake-key')",
        36,
        (*NOT_FOR_ASYNC, *rows_but("gemini"), "wire.gemini.types", "wire.neutral"),
    ),
    "AsyncChat('gemini:...')": (
        "import wire; wire.AsyncChat('gemini:gemini-3.8-flash', api_key='fake-key')",
        48,
        (*NOT_FOR_ASYNC, *rows_but("gemini"), "wire.gemini.types", "wire.history"),
    ),
    "Chat('gemini:...')": (
        "import wire; wire.Chat('gemini:gemini-3.8-flash', api_key='fake-key')",
        48,
        (*NOT_FOR_THREADS, *rows_but("gemini"), "wire.gemini.types", "wire.history"),
    ),
    "Agent('gemini:...')": (
        "import os; os.environ['GEMINI_API_KEY'] = 'fake-key'\n"
        "import wire; wire.Agent('gemini:gemini-3.8-flash')",
        124,
        (*AROUND, "wire.cli", "wire.pipeline", "wire.sessions", "wire.testing"),
    ),
    "a first call": (
        FIRST_CALL,
        80,
        (*NOT_FOR_THREADS, *RARE_TYPES, *rows_but("gemini"), "wire.history"),
    ),
}  # fmt: skip
"""Name -> a program, how many modules of ours it loads at most (`wire.http` does not count), and
modules of which it loads none, nor any inside them."""


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_loads_no_more_than_it_needs(entry: str) -> None:
    program, most, without = ENTRIES[entry]
    # Not counted: what the interpreter loads itself, and what the command of httpx needs, if
    # `httpx[cli]` is installed.
    counted = (
        "import sys\nsys.modules['click'] = None\nbefore = {*sys.modules}\n"
        f"{program}\nprint(*{{*sys.modules}} - before)"
    )
    run = subprocess.run(
        [sys.executable, "-c", counted], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    loaded = run.stdout.split()
    assert [name for name in loaded if inside(name, without)] == []
    ours = sorted(n for n in loaded if inside(n, ("wire",)) and not inside(n, ("wire.http",)))
    assert len(ours) <= most, ours


def inside(name: str, modules: tuple[str, ...]) -> bool:
    return f"{name}.".startswith(tuple(f"{module}." for module in modules))


THREADS = """
import random, threading
import wire
from wire import anthropic, gemini, openai
from wire.openai import responses
from wire.providers import PROVIDERS

found, errors, start = [], [], threading.Barrier(8)

def look(seed):
    pairs = [(package, name) for package in (wire, gemini, openai, responses, anthropic)
             for name in package.__all__]
    pairs += [(gemini.types, name) for name in gemini.types.__all__]
    random.Random(seed).shuffle(pairs)
    start.wait()
    try:
        rows = [PROVIDERS[name] for name in ("groq", "gemini", "minimax@anthropic")]
        named = {f"{package.__name__}.{name}": getattr(package, name) for package, name in pairs}
        found.append((rows, named))
    except BaseException as error:
        errors.append(repr(error))

threads = [threading.Thread(target=look, args=(seed,)) for seed in range(8)]
for each in threads: each.start()
for each in threads: each.join(50)
assert errors == [] and len(found) == 8, errors
for rows, named in found:
    assert all(one is other for one, other in zip(rows, found[0][0], strict=True))
    assert all(value is found[0][1][name] for name, value in named.items())
print(len(found[0][1]) > 400)
"""


def test_modules_of_a_package_that_imports_them_are_imported_by_the_package() -> None:
    """`import a.b` locks `a.b`, then `a`; if `a` imports `a.b`, another thread that imports `a` has
    locked them in the other order, and one of both gets a `_DeadlockError`.
    """
    sources = {path: path.read_text() for path in (ROOT / "wire").rglob("*.py")}
    wrong = []
    for path in sources:
        package = ".".join(path.parent.relative_to(ROOT).parts)
        imports = re.compile(rf"^from {re.escape(package)}\.\w+ import", re.MULTILINE)
        if path.name != "__init__.py" or not imports.search(sources[path]):
            continue
        inside = re.compile(rf"^ *(from|import) {re.escape(package)}\.", re.MULTILINE)
        wrong += [
            f"{each.relative_to(ROOT)} imports a module of {package}"
            for each, source in sources.items()
            if path.parent not in each.parents and inside.search(source)
        ]
    assert wrong == []


def test_names_load_from_eight_threads_at_once() -> None:
    run = subprocess.run(
        [sys.executable, "-c", THREADS], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (run.stdout, run.stderr) == ("True\n", "")
