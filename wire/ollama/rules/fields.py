"""Rules of the fields beside messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wire.core.arguments import suggestion
from wire.core.errors import Violation
from wire.core.secret import quoted
from wire.ollama.rules.rule_input import RuleInput, as_object, violation
from wire.ollama.types import Options

LEVELS = ("low", "medium", "high", "max")
"""Words of `think`."""
MOST_LOGPROBS = 20


def model_named(request: RuleInput) -> Iterator[Violation]:
    """L1: the body names a model."""
    if not isinstance(request.model, str) or not request.model.strip():
        words = "model is required"
        yield violation("model", words, "L1", "name it, such as qwen3:8b", words)


def options_known(request: RuleInput) -> Iterator[Violation]:
    """L2: the server has each option; it drops others, with a line in its log."""
    severity = "error" if request.dialect.vendor_rules else "warning"
    options = request.plain.get("options")
    known = Options.__struct_encode_fields__
    for key in as_object(options):
        if key not in known:
            remedy = suggestion(key, known) or f"there are {', '.join(known)}"
            yield violation(f"options.{key}", "no such option", "L2", remedy, severity=severity)


def think_valid(request: RuleInput) -> Iterator[Violation]:
    """L3: `think` is a boolean or a level; the model can think."""
    think = request.plain.get("think")
    if isinstance(think, str) and think not in LEVELS:
        shown = ", ".join(f'"{each}"' for each in LEVELS)
        problem = f"expected true, false or one of {shown}, not {quoted(think, 40)}"
        yield violation("think", problem, "L3", "leave it out for the default of the model")
    elif think and request.lacks("thinking"):
        words = f'"{request.plain.get("model")}" does not support thinking'
        yield violation("think", words, "L3", "leave it out", words)


def format_valid(request: RuleInput) -> Iterator[Violation]:
    """L4: `format` is "json" or a schema."""
    form = request.plain.get("format")
    if form is not None and form not in ("", "json") and not isinstance(form, Mapping):
        problem = 'expected "json" or a JSON Schema'
        yield violation("format", problem, "L4", "send the schema as an object")


def logprobs_bounded(request: RuleInput) -> Iterator[Violation]:
    """L5: there are 0 to 20 alternatives of a token."""
    count = request.plain.get("top_logprobs")
    if isinstance(count, (int, float)) and not 0 <= count <= MOST_LOGPROBS:
        words = f"top_logprobs must be between 0 and {MOST_LOGPROBS}"
        yield violation("top_logprobs", words, "L5", "", words)


def raw_alone(request: RuleInput) -> Iterator[Violation]:
    """L6: a raw prompt has no template, no system text and no context."""
    if request.plain.get("raw") is True:
        for key in ("template", "system", "context"):
            if request.plain.get(key):
                words = "raw mode does not support template, system, or context"
                yield violation(key, words, "L6", f"remove {key}, or raw", words)


def input_valid(request: RuleInput) -> Iterator[Violation]:
    """L7: the input of embeddings is a text or a list of texts."""
    given = request.plain.get("input")
    texts = given if isinstance(given, list) else [given]
    if "input" in request.plain and not all(isinstance(each, str) for each in texts):
        words = "invalid input type"
        yield violation("input", words, "L7", "send a text or a list of texts", words)


def tools_named(request: RuleInput) -> Iterator[Violation]:
    """L8: each tool is a function with a name; the model can call tools."""
    tools = request.plain.get("tools")
    for _, path, tool in request.lists("tools"):
        function = as_object(as_object(tool).get("function"))
        if not function.get("name"):
            yield violation(f"{path}.function.name", "a tool needs a name", "L8")
    if tools and request.lacks("tools"):
        words = f'"{request.plain.get("model")}" does not support tools'
        yield violation("tools", words, "L8", "ask a model that calls tools", words)
