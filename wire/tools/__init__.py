"""Functions that a model may call: how they are defined, what they are given, what is told of their
results. Pure: nothing is run here.
"""

from wire.tools.definition import FunctionTool as FunctionTool
from wire.tools.definition import tool as tool
from wire.tools.signature import ToolContext as ToolContext
from wire.tools.toolbox import Ready as Ready
from wire.tools.toolbox import Toolbox as Toolbox
from wire.tools.toolbox import ToolRun as ToolRun
