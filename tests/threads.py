"""Which threads still run: a server that outlives its test takes the processor from all others."""

import threading
import time
from collections.abc import Iterable


def running(threads: Iterable[threading.Thread], within: float) -> list[str]:
    """The names of the threads that have not ended after `within` seconds for all together."""
    until = time.monotonic() + within
    alive = []
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
        if thread.is_alive():
            alive.append(thread.name)
    return sorted(alive)
