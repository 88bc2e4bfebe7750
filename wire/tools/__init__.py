"""Functions that a model may call: how they are defined, what they are given, what is told of their
results. Pure: nothing is run here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names

if TYPE_CHECKING:
    from wire.tools.definition import FunctionTool as FunctionTool
    from wire.tools.definition import tool as tool
    from wire.tools.signature import ToolContext as ToolContext
    from wire.tools.toolbox import Ready as Ready
    from wire.tools.toolbox import Toolbox as Toolbox
    from wire.tools.toolbox import ToolRun as ToolRun

_NAMES = {
    "wire.tools.definition": ("FunctionTool", "tool"),
    "wire.tools.signature": ("ToolContext",),
    "wire.tools.toolbox": ("Ready", "ToolRun", "Toolbox"),
}

__getattr__, __dir__ = lazy_names("wire.tools", _NAMES)
