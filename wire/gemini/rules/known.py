"""Remembers function declarations that were checked and have no violations.

All requests with a neutral tool share one declaration (`wire.core.memory.shared`), so that it is
checked once for each host, version and mode. The declaration as the parser spells it is remembered
with it. A tool whose schema changes gets a new declaration, which is checked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from wire.core.errors import Violation
from wire.core.memory import FINDINGS
from wire.gemini.types import FunctionCallingConfig, GenerateContentRequest, Tool, ToolConfig

Plain: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[object, ...]


def key_of(request: GenerateContentRequest, model: str, host: str, version: str) -> Key | None:
    """Return everything that the violations of a declaration depend on, except the declaration
    itself.

    `None` for a request whose tools or mode have a type that their field does not allow.
    """
    config: Any = request.tool_config
    calling = config.function_calling_config if type(config) is ToolConfig else config
    mode = calling.mode if type(calling) is FunctionCallingConfig else calling
    tools = request.tools
    if not isinstance(mode, str | int | None) or not isinstance(tools, list):
        return None
    if not all(type(each) is Tool for each in tools):
        return None
    return host, version, bool(model), mode


def known(tools: Sequence[Tool], key: Key) -> list[list[Plain]]:
    """Return the declarations of each tool as the parser spells them; empty unless all of them were
    checked before and have no violations.
    """
    rows: list[list[Any]] = [
        [
            getattr(each, "__dict__", {}).get(FINDINGS, {}).get(key)
            for each in tool.function_declarations or ()
        ]
        for tool in tools
    ]
    return rows if any(rows) and not any(None in row for row in rows) else []


def others(tools: Sequence[Tool]) -> list[Tool] | None:
    """Return the tools without their declarations; `None` if they have no other fields."""
    rest = [msgspec.structs.replace(tool, function_declarations=None) for tool in tools]
    return rest if any(tool != _EMPTY for tool in rest) else None


_EMPTY = Tool()


def put(plain: Plain, rows: Sequence[Sequence[Plain]]) -> None:
    """Add known declarations to a request that was parsed without them."""
    tools = plain.setdefault("tools", [{} for _ in rows])
    for tool, row in zip(tools, rows, strict=True):
        if row:
            tool["functionDeclarations"] = row


def remember(
    tools: Sequence[Tool], key: Key, plain: Plain, violations: Sequence[Violation]
) -> None:
    """Remember each shared declaration without violations. Others may change, and are skipped."""
    for index, tool in enumerate(tools):
        for position, declaration in enumerate(tool.function_declarations or ()):
            findings = getattr(declaration, "__dict__", {}).get(FINDINGS)
            path = f"tools[{index}].functionDeclarations[{position}]"
            if findings is not None and not any(each.path.startswith(path) for each in violations):
                findings[key] = plain["tools"][index]["functionDeclarations"][position]
