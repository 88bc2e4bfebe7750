"""Tables that stand as JSON files beside the modules that read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def table(module: str, name: str) -> Any:
    """Return the table `name.json` beside a module, which passes its `__file__`."""
    return json.loads(Path(module).with_name(f"{name}.json").read_bytes())
