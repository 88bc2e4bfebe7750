"""What goes on beside the calls: floor 5, which waits and starts tasks, on asyncio and trio."""

from wire.agent.context_cache import Keeping as Keeping
from wire.agent.context_cache import keep as keep
