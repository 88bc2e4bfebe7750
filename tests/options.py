"""The lists of options in docstrings, which editors show in hovers.

An editor reads the source and not what `help` would generate, so each public function that takes
options has them in its signature, and in the `Args:` of its docstring. The text of an option stands
in one place: the `TypedDict` that has it. The text of another parameter stands in the first
function of its group.

`python -m tests.options` writes all copies, a test compares them.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
CHAT, STATE, CHATS = "wire/chat/chat.py", "wire/chat/state.py", "wire/chat/chats.py"
FALLBACK, AGENT = "wire/chat/fallback.py", "wire/agent/agent.py"
LLM_AGENT = "wire/agent/llm_agent.py"
OPTIONS = {
    "wire/http/target.py": ("Options",),
    STATE: ("SettingsBesideTools", "Settings", "OptionsBesideTools"),
    "wire/agent/state.py": ("AgentOptions",),
}
"""File to the `TypedDict`s whose fields are documented there."""

_SETTINGS = ("SettingsBesideTools", "Settings")
_REQUEST = ("OptionsBesideTools", *_SETTINGS)
_ASK = [f"{kind}.{how}" for kind in ("Chat", "AsyncChat") for how in ("ask", "stream", "count")]
_CALL = [f"ChatState.{how}" for how in ("call", "stream_call", "request")]
_FALLBACKS = ("FallbackChat", "AsyncFallbackChat")
_CHATS = [f"{kind}.{how}" for kind in ("Chats", "AsyncChats") for how in ("ask", "stream", "chat")]
_RUN = [
    f"{kind}.{how}"
    for kind in ("LLMAgent", "Agent")
    for how in ("run", "resume", "stream", "resume_stream")
]

GROUPS: dict[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    "client": (
        ("wire/http/client.py", "Client", ("Options",)),
        ("wire/http/aio.py", "AsyncClient", ("Options",)),
    ),
    "chat": tuple((CHAT, name, (*_SETTINGS, "Options")) for name in ("Chat", "AsyncChat")),
    "request": (
        *((CHAT, name, _REQUEST) for name in _ASK),
        *((STATE, name, _REQUEST) for name in _CALL),
        *((CHATS, name, _REQUEST) for name in _CHATS),
        *(
            (FALLBACK, f"{kind}.{how}", _REQUEST)
            for kind in _FALLBACKS
            for how in ("ask", "stream")
        ),
    ),
    "fallback": tuple((FALLBACK, name, (*_SETTINGS, "Options")) for name in _FALLBACKS),
    "embed": (
        ("wire/http/asking.py", "AskingForThreads.embed", ()),
        ("wire/http/asking.py", "AskingForTasks.embed", ()),
    ),
    "decide": (
        ("wire/http/asking.py", "AskingForThreads.decide", ()),
        ("wire/http/asking.py", "AskingForTasks.decide", ()),
    ),
    "wire.decide": (("wire/chat/single_calls.py", "decide", ("Options",)),),
    "wire.embed": (("wire/chat/single_calls.py", "embed", ("Options",)),),
    "chats": tuple((CHATS, name, ()) for name in ("Chats", "AsyncChats")),
    "from_env": tuple(
        (CHATS, f"{name}.from_env", ("Options",)) for name in ("Chats", "AsyncChats")
    ),
    "async agent": (
        (LLM_AGENT, "LLMAgent", ("AgentOptions",)),
        (LLM_AGENT, "LLMAgent.from_config", ("AgentOptions",)),
    ),
    "agent": ((AGENT, "Agent", ("AgentOptions",)),),
    "run": tuple((LLM_AGENT if name.startswith("LLM") else AGENT, name, ()) for name in _RUN),
}
"""Functions and classes: the file, the name, and the `TypedDict`s of their options."""


@dataclass
class Documented:
    """A function, or a class with its constructor, in the source."""

    owner: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    function: ast.FunctionDef | ast.AsyncFunctionDef

    @property
    def parameters(self) -> dict[str, tuple[str, str]]:
        """Name of each parameter to its annotation and default, as the source has them."""
        given = self.function.args
        plain = [*given.posonlyargs, *given.args]
        defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
        pairs = [
            *zip(plain, defaults, strict=True),
            *([(given.vararg, None)] if given.vararg else []),
            *zip(given.kwonlyargs, given.kw_defaults, strict=True),
        ]
        return {
            each.arg: (
                ast.unparse(each.annotation) if each.annotation else "",
                ast.unparse(default) if default else "",
            )
            for each, default in pairs
            if each.arg not in ("self", "cls")
        }

    @property
    def texts(self) -> dict[str, str]:
        """Name of each parameter to its text in the docstring."""
        _, _, section = (ast.get_docstring(self.owner) or "").partition("\nArgs:\n")
        entries = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", section, re.MULTILINE)
        return {name: " ".join(text.split()) for name, text in entries}


def tree_of(file: str) -> ast.Module:
    return _tree(str(ROOT / file))


def documented(file: str, name: str) -> Documented:
    owner: ast.AST = tree_of(file)
    for part in name.split("."):
        # The last one: overloads of a function precede it.
        *_, owner = (node for node in ast.iter_child_nodes(owner) if _name(node) == part)
    assert isinstance(owner, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    if not isinstance(owner, ast.ClassDef):
        return Documented(owner, owner)
    *_, constructor = (
        node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    )
    return Documented(owner, constructor)


def _name(node: ast.AST) -> str:
    return str(getattr(node, "name", ""))


def fields(kind: str) -> dict[str, tuple[str, str]]:
    """Name of each field of a `TypedDict` of `OPTIONS` to its annotation and its docstring."""
    file = next(file for file, kinds in OPTIONS.items() if kind in kinds)
    owner = next(node for node in tree_of(file).body if _name(node) == kind)
    assert isinstance(owner, ast.ClassDef)
    found = {}
    for field, text in zip(owner.body, owner.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign):
            assert isinstance(text, ast.Expr), field.lineno
            assert isinstance(text.value, ast.Constant)
            prose = " ".join(str(text.value.value).split())
            found[ast.unparse(field.target)] = ast.unparse(field.annotation), prose
    return found


def field_texts(kind: type) -> dict[str, str]:
    """Name of each public field of a struct or dataclass to its docstring, or to an empty text."""
    file = inspect.getsourcefile(kind)
    assert file is not None
    classes = _classes(file)
    if kind.__name__ not in classes:
        return {}  # made by a function
    body = classes[kind.__name__].body
    found = {}
    for field, text in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(field, ast.AnnAssign) and not ast.unparse(field.target).startswith("_"):
            is_text = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
            found[ast.unparse(field.target)] = ast.unparse(text) if is_text else ""
    return found


@functools.lru_cache(8)
def _classes(file: str) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.walk(_tree(file)) if isinstance(node, ast.ClassDef)}


@functools.lru_cache(8)
def _tree(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text("utf-8"))


def texts() -> Iterator[tuple[str, str, dict[str, str]]]:
    """File and name of each function, and what the `Args:` of its docstring must be."""
    for members in GROUPS.values():
        own: dict[str, str] = {}
        for file, name, kinds in members:
            each = documented(file, name)
            options = {option: text for kind in kinds for option, (_, text) in fields(kind).items()}
            own = {**each.texts, **own}
            wanted = {}
            for parameter in each.parameters:
                assert parameter in options or parameter in own, f"{name}: {parameter} has no text"
                wanted[parameter] = options.get(parameter) or own[parameter]
            yield file, name, wanted


def write() -> None:
    for file, name, wanted in list(texts()):
        owner = documented(file, name).owner
        docstring = owner.body[0]
        assert isinstance(docstring, ast.Expr)
        lines = (ROOT / file).read_text("utf-8").split("\n")
        indent = " " * docstring.col_offset
        first, last = docstring.lineno - 1, (docstring.end_lineno or 0) - 1
        prose = "\n".join(lines[first : last + 1])
        head, _, tail = prose.rpartition('"""')
        head = head.partition(f"\n{indent}Args:\n")[0].rstrip()
        entries = [
            textwrap.fill(
                f"{parameter}: {text}",
                100,
                initial_indent=f"{indent}    ",
                subsequent_indent=f"{indent}        ",
                break_on_hyphens=False,
                break_long_words=False,
            )
            for parameter, text in wanted.items()
        ]
        new = [head, "", f"{indent}Args:", *entries, f'{indent}"""{tail}']
        lines[first : last + 1] = "\n".join(new).split("\n")
        (ROOT / file).write_text("\n".join(lines), "utf-8")
        _tree.cache_clear()
        _classes.cache_clear()


if __name__ == "__main__":
    write()
