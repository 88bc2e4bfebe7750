"""Rules of messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from wire.core.errors import Violation
from wire.core.lazy import lazy_pattern
from wire.core.secret import quoted
from wire.ollama.rules.rule_input import RuleInput, as_object, violation

ROLES = ("system", "user", "assistant", "tool")
_BASE64 = lazy_pattern(r"[A-Za-z0-9+/\r\n]*={0,2}[\r\n]*", re.ASCII)


def roles_valid(request: RuleInput) -> Iterator[Violation]:
    """L9: each message has a role, and its content is a text."""
    for index, message in enumerate(request.messages):
        role, content = message.get("role"), message.get("content")
        if not isinstance(role, str) or role.lower() not in ROLES:
            problem = f"expected {', '.join(ROLES)}, not {quoted(role, 40)}"
            yield violation(f"messages[{index}].role", problem, "L9")
        if content is not None and not isinstance(content, str):
            problem = "expected a text: the wire has no list of parts"
            remedy = "join the texts, and send images in images"
            yield violation(f"messages[{index}].content", problem, "L9", remedy)


def images_are_data(request: RuleInput) -> Iterator[Violation]:
    """L10: images are base64; the model sees."""
    found = False
    for _, path, image in request.lists("images"):
        found = True
        if not isinstance(image, str) or not _BASE64().fullmatch(image):
            problem = "expected base64, without data: and not a URL"
            yield violation(path, problem, "L10", "send the bytes as base64")
    if found and request.lacks("vision"):
        problem = f"{request.plain.get('model')} reads no images"
        yield violation("messages", problem, "L10", "ask a model that does", severity="warning")


def arguments_are_objects(request: RuleInput) -> Iterator[Violation]:
    """L11: the arguments of a call are an object."""
    for _, path, call in request.lists("tool_calls"):
        function = as_object(as_object(call).get("function"))
        given = function.get("arguments")
        if given is not None and not isinstance(given, Mapping):
            problem = "expected an object, not a text"
            yield violation(f"{path}.function.arguments", problem, "L11", "parse the JSON")
        if not function.get("name"):
            yield violation(f"{path}.function.name", "a call needs a name", "L11")
