"""Tools: functions that a model may call. Defines them, prepares their calls, builds results.

This package runs no call; `wire.agent` does.
"""

from wire.tools.definition import FunctionTool, deferred, tool
from wire.tools.results import format_call
from wire.tools.signature import ToolContext
from wire.tools.signature import is_async as is_async
from wire.tools.toolbox import Ready, Toolbox, ToolRun

__all__ = [
    "FunctionTool",
    "Ready",
    "ToolContext",
    "ToolRun",
    "Toolbox",
    "deferred",
    "format_call",
    "tool",
]
