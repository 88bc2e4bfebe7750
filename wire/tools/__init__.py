"""Tools: functions that a model may call. How they are defined, called and answered.

Nothing is run here: `wire.agent` runs the calls.
"""

from wire.tools.definition import FunctionTool, tool
from wire.tools.signature import ToolContext
from wire.tools.toolbox import Ready, Toolbox, ToolRun

__all__ = [
    "FunctionTool",
    "Ready",
    "ToolContext",
    "ToolRun",
    "Toolbox",
    "tool",
]
