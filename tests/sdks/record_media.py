"""The requests of the vendors' own clients for images, speech and transcripts, for `tests/wires`:
`python -m tests.sdks.record_media` runs the cases of `drive_media.py` in `.venv-sdks/media`, and
writes `tests/wires/media_requests.json`.
"""

from __future__ import annotations

import datetime
import json
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from wire.testing.emulator import Emulator, serve
from wire.testing.emulator.multipart import parts
from wire.testing.emulator.received import received

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests" / "wires" / "media_requests.json"
PYTHON = ROOT / ".venv-sdks" / "media" / "bin" / "python"
PINNED = Path(__file__).parent / "media.txt"
CLIENTS = {
    "openai": "openai",
    "mistral": "mistral",
    "groq": "groq",
    "together": "together",
    "openrouter": "openrouter",
    "google": "gemini",
}
"""Client of `drive_media.py` -> the provider that the emulator plays to it."""


def body_of(body: Any) -> tuple[str, Any]:
    """The kind of a body and what it has: the JSON, or each field of the form in its order."""
    if not isinstance(body, str):
        return "json", body
    if not body.startswith("--"):
        return "pairs", sorted(map(list, parse_qsl(body)))
    boundary = body.partition("\r\n")[0].removeprefix("--")
    head = {"content-type": f"multipart/form-data; boundary={boundary}"}
    found = parts(received(1, "POST", "/", head, body.encode()))
    return "form", sorted(
        [part.name, f"file {part.filename}" if part.filename else part.data.decode()]
        for part in found
    )


def requests_of(client: str) -> list[dict[str, Any]]:
    """The requests of all cases of a client."""
    emulator = Emulator(provider=CLIENTS[client])
    with serve(emulator) as server:
        subprocess.run(
            [PYTHON, Path(__file__).parent / "drive_media.py", client, server.url],
            check=True,
            capture_output=True,
            timeout=110,
        )
    rows = []
    for each in emulator.requests:
        kind, body = body_of(each["body"])
        path, case = each["target"].partition("?")[0], each["headers"]["x-case"]
        rows.append({"client": client, "case": case, "path": path, "kind": kind, "body": body})
    return rows


def table() -> dict[str, Any]:
    return {
        "recorded": datetime.date.today().isoformat(),
        "clients": PINNED.read_text("utf-8").split(),
        "requests": [row for client in CLIENTS for row in requests_of(client)],
    }


if __name__ == "__main__":
    found = table()
    lines = ",\n".join(json.dumps(row) for row in found.pop("requests"))
    head = json.dumps(found, indent=1)[:-2]
    TABLE.write_text(f'{head},\n "requests": [\n{lines}\n]}}\n', "utf-8")
