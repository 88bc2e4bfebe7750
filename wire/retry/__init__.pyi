# Written by `python -m tests.faces`.
from wire.core.retry import ATTRACTOR as ATTRACTOR
from wire.core.retry import DEFAULT as DEFAULT
from wire.core.retry import NONE as NONE
from wire.core.retry import RESUME_AGENT as RESUME_AGENT
from wire.core.retry import Retry as Retry
from wire.core.retry import SPEC as SPEC
from wire.core.retry import off as off
