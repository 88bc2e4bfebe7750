"""With `TRANSPORT=httpx` in the environment, the tests run as where httptools is not installed."""

import os
import sys

if os.environ.get("TRANSPORT") == "httpx":
    sys.modules["httptools"] = None  # type: ignore[assignment]
