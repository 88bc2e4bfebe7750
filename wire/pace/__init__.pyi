# Written by `python -m tests.faces`.
from wire.around.pace import Pace as Pace
