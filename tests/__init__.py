"""With `TRANSPORT=httpx` in the environment, the tests run as where httptools is not installed.

With `TRANSPORT=httpx2`, `tests/http/drive.py` puts transports of httpx2 under the clients.
"""

import os
import sys

if os.environ.get("TRANSPORT") == "httpx":
    sys.modules["httptools"] = None  # type: ignore[assignment]
