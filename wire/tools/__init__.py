"""Functions that a model may call: how they are defined, what they are given, what is told of their
results. Pure: nothing is run here.
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
