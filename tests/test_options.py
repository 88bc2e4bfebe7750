"""Each option can be seen: in signatures, in docstrings, and by its name in a refusal."""

from __future__ import annotations

import importlib
import inspect
import pydoc
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests import options
from tests.joined import joined
from tests.test_public import SECTIONS
from wire import (
    Agent,
    AsyncChat,
    AsyncChats,
    AsyncClient,
    AsyncFallbackChat,
    Chat,
    Chats,
    Client,
    FallbackChat,
    LLMAgent,
    gemini,
)
from wire.agent.steps import MAX_CALLS_PER_TURN
from wire.agent.tool_calls import MAX_PARALLEL_TOOLS
from wire.core import retry
from wire.errors import ConfigurationError

DOCUMENTED = {
    f"{file.removesuffix('.py').replace('/', '.')}.{name}": (file, name, kinds)
    for members in options.GROUPS.values()
    for file, name, kinds in members
}
WANTED = {f"{file}: {name}": texts for file, name, texts in options.texts()}


@joined("name", DOCUMENTED)
def test_a_docstring_lists_each_parameter(name: str):
    """`python -m tests.options` writes the lists."""
    file, name, _ = DOCUMENTED[name]
    assert options.documented(file, name).texts == WANTED[f"{file}: {name}"]
    assert all(WANTED[f"{file}: {name}"].values())


@joined("name", DOCUMENTED)
def test_a_signature_has_each_option(name: str):
    file, name, kinds = DOCUMENTED[name]
    has = options.documented(file, name).parameters
    for kind in kinds:
        known = {option: annotation for option, (annotation, _) in options.fields(kind).items()}
        taken = {option: has[option][0] for option in known if option in has}
        assert taken.items() <= known.items() or "Settings" in kind
        some = name.endswith((".from_env", ".request", ".chat"))  # those that fit there
        shared = name.endswith("FallbackChat") and kind == "Options"  # those of any provider
        assert some or shared or taken.keys() == known.keys()


@joined("group", options.GROUPS)
def test_a_parameter_has_one_default(group: str):
    defaults: dict[str, set[str]] = {}
    for file, name, _ in options.GROUPS[group]:
        for parameter, (_, default) in options.documented(file, name).parameters.items():
            defaults.setdefault(parameter, set()).add(default)
    assert {name: found for name, found in defaults.items() if len(found) > 1} == {}


def test_the_defaults_are_those_that_apply():
    agent = inspect.signature(Agent).parameters
    assert agent["max_parallel_tools"].default == MAX_PARALLEL_TOOLS
    assert agent["max_calls_per_turn"].default == MAX_CALLS_PER_TURN
    assert agent["retry"].default == retry.RESUME_AGENT
    for kind in (Client, AsyncClient):
        given = {
            name: each.default
            for name, each in inspect.signature(kind).parameters.items()
            if each.kind is each.KEYWORD_ONLY
        }
        named, bare = kind("gemini", **given).describe(), kind("gemini").describe()
        assert named == bare
        assert (bare["timeouts"], bare["retry"]) == (given["timeouts"], given["retry"])


@joined("kind", [Client, Chat, Agent, LLMAgent], ids=lambda kind: kind.__name__)
def test_help_shows_each_option_with_its_text(kind: type):
    page = pydoc.render_doc(kind, renderer=pydoc.plaintext)
    for option in inspect.signature(kind).parameters:
        assert f"{option}: " in page.partition("Args:")[2]
    # Without the quotes from Python 3.14 on.
    option = re.compile(r"timeouts: '?Timeouts \| float \| None'? = Timeouts\(connect=10\.0,")
    assert option.search(page) or kind in (Agent, LLMAgent)


CHAT, ASYNC_CHAT = Chat("gemini:m", api_key="fake-key"), AsyncChat("gemini:m", api_key="fake-key")
CHATS = Chats({"gemini": CHAT.client})


@joined(
    ("function", "near", "what"),
    [
        (lambda **misspelt: Client("gemini", **misspelt), "timeouts", "option"),
        (lambda **misspelt: AsyncClient("gemini", **misspelt), "timeouts", "option"),
        (lambda **misspelt: Chat("gemini:m", **misspelt), "temperature", "option"),
        (lambda **misspelt: AsyncChat("gemini:m", **misspelt), "plain_http", "option"),
        (lambda **misspelt: Agent(CHAT, **misspelt), "approve", "option"),
        (lambda **misspelt: LLMAgent(ASYNC_CHAT, **misspelt), "max_parallel_tools", "option"),
        (lambda **misspelt: Chats.from_env("gemini", **misspelt), "trust_env", "option"),
        (lambda **misspelt: AsyncChats.from_env("gemini", **misspelt), "limits", "option"),
        (lambda **misspelt: CHAT.ask("Hi", **misspelt), "max_tokens", "setting"),
        (lambda **misspelt: CHAT.stream("Hi", **misspelt), "messages", "setting"),
        (lambda **misspelt: CHAT.call("Hi", **misspelt), "output", "setting"),
        (lambda **misspelt: CHAT.stream_call("Hi", **misspelt), "retry", "setting"),
        (lambda **misspelt: CHAT.request("Hi", **misspelt), "effort", "setting"),
        (lambda **misspelt: ASYNC_CHAT.stream("Hi", **misspelt), "tools", "setting"),
        (lambda **misspelt: CHATS.ask("Hi", model="m", **misspelt), "system", "setting"),
        (lambda **misspelt: FallbackChat([CHAT], **misspelt), "temperature", "setting"),
        (lambda **misspelt: AsyncFallbackChat([ASYNC_CHAT], **misspelt), "circuit", "setting"),
        (lambda **misspelt: FallbackChat([CHAT]).ask("Hi", **misspelt), "effort", "setting"),
        (lambda **misspelt: CHATS.chat("m", **misspelt), "search_grounding", "setting"),
    ],
)
def test_a_misspelt_option_is_told_the_nearest(function: Callable[..., Any], near: str, what: str):
    misspelt = near[:-2] + near[-1] + near[-2]
    with pytest.raises(ConfigurationError) as caught:
        function(**{misspelt: "fake-value"})
    assert str(caught.value) == f"{misspelt}: no such {what}; did you mean {near!r}?"


# --- what help and hovers tell --------------------------------------------------------------------

VENDORS = (
    "wire.gemini.types",
    "wire.openai.types",
    "wire.openai.responses.types",
    "wire.anthropic.types",
    "wire.converse.types",
    "wire.ollama.types",
    "wire.gemini.interactions.types",
    "wire.gemini.live.types",
    "wire.openai.realtime.types",
)
"""Their fields have the names and meanings of the vendor's reference."""


def public() -> dict[str, tuple[str, Any]]:
    """Qualified name -> the module that docs/public.md lists, and the class or function."""
    found = {}
    for module in SECTIONS:
        try:
            values = importlib.import_module(module)
        except ModuleNotFoundError:
            package, _, last = module.rpartition(".")
            values = getattr(importlib.import_module(package), last)
        for name in values.__all__:
            value = getattr(values, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found[f"{module}.{name}"] = module, value
    return found


def test_each_public_class_function_method_and_field_has_a_docstring():
    undocumented = []
    for name, (module, value) in public().items():
        if not inspect.getdoc(value):
            undocumented.append(name)
        if inspect.isclass(value) and value.__module__.startswith("wire."):
            undocumented += [
                f"{name}.{each}" for each in methods(value) if not methods(value)[each]
            ]
            if module not in VENDORS:
                texts = options.field_texts(value)
                undocumented += [f"{name}.{each}" for each in texts if not texts[each]]
    assert undocumented == []


def methods(kind: type) -> dict[str, str | None]:
    """Name of each public method and property of a class to its docstring."""
    plain = {
        name: value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        for name, value in vars(kind).items()
        if not name.startswith("_")
    }
    return {
        name: inspect.getdoc(value)
        for name, value in plain.items()
        if inspect.isfunction(value) or isinstance(value, property)
    }


@joined("name", [name for name in SECTIONS if not name.endswith(".types")])
def test_help_and_dir_tell_the_names_of_a_package(name: str):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError:
        package, _, last = name.rpartition(".")
        module = getattr(importlib.import_module(package), last)
    assert set(module.__all__) <= set(dir(module))
    if "lazy_names" in vars(module):  # imports its names on first use
        listed = set(str(module.__doc__).partition("\nNames:\n")[2].replace(",", " ").split())
        assert set(module.__all__) <= listed


def test_the_list_of_a_package_names_the_module_of_its_types():
    assert "and every name of wire.gemini.types" in str(gemini.__doc__)
