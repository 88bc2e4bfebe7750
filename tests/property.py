"""How many examples property tests try."""

import os


def examples(number: int) -> int:
    """A quarter of `number`; all of them in `make test-slow`, which sets `EXAMPLES=all`."""
    return number if os.environ.get("EXAMPLES") == "all" else number // 4
