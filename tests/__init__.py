"""With `TRANSPORT=h11` in the environment, the tests run as where httptools is not installed.

With `TRANSPORT=httpx` and `TRANSPORT=httpx2`, `tests/http/drive.py` puts the connections of httpx
and transports of httpx2 under the clients.
"""

import os
import sys

if os.environ.get("TRANSPORT") == "h11":
    sys.modules["httptools"] = None  # type: ignore[assignment]
