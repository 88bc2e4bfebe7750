"""What a client costs before its first call: `python bench/imports.py`.

CPU time of `import` in a fresh process, as a ratio to `import httpx, msgspec`, and megabytes on
disk of the distribution with all that it requires. The vendors' SDKs are measured where
`make test-sdks` has installed them (`.venv-sdks/today`).
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
from pathlib import Path

ROUNDS = 15
ROOT = Path(__file__).parent.parent
OURS, SDKS = sys.executable, str(ROOT / ".venv-sdks" / "today" / "bin" / "python")
TYPES_AND_RULES = """
from wire import gemini
gemini.GenerateContentRequest, gemini.generate_content, gemini.check
gemini.parse_reply, gemini.EventReader, gemini.parse_error
"""
"""Names are imported on first use: `import wire.gemini` alone would measure nothing."""
ROWS = {
    "httpx, msgspec": (OURS, "import httpx, msgspec", ["httpx", "msgspec"]),
    "wire.gemini": (OURS, TYPES_AND_RULES, ["wire-llm"]),
    "wire, Client": (OURS, "from wire import Client, gemini; Client('gemini')", ["wire-llm"]),
    "wire, AsyncChat": (OURS, "from wire import AsyncChat; AsyncChat('gemini:m')", ["wire-llm"]),
    "openai": (SDKS, "import openai", ["openai"]),
    "google-genai": (SDKS, "from google import genai", ["google-genai"]),
    "anthropic": (SDKS, "import anthropic", ["anthropic"]),
}
"""Name -> the interpreter, what it runs, and the distributions that it needs."""

SIZE = """
import json, re, sys
from importlib.metadata import distribution, PackageNotFoundError
seen, todo, size = set(), sys.argv[1:], 0
while todo:
    name = todo.pop().lower().replace("_", "-")
    try:
        found = distribution(name)
    except PackageNotFoundError:
        continue
    if name in seen:
        continue
    seen.add(name)
    size += sum(file.size or 0 for file in found.files or ())
    needs = [each for each in found.requires or () if "extra ==" not in each]
    todo += [re.match(r"[\\w.-]+", each).group() for each in needs]
print(json.dumps([distribution(sys.argv[1]).version, size]))
"""


def cpu_seconds(python: str, code: str) -> float:
    """User and system time of a process that runs the code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([python, "-c", code], check=True, cwd=ROOT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Each round goes through all rows, so that a busy moment meets all of them."""
    rows = {name: row for name, row in ROWS.items() if Path(row[0]).exists()}
    taken: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(ROUNDS):
        bare = cpu_seconds(OURS, "pass")
        for name, (python, code, _) in rows.items():
            taken[name].append(cpu_seconds(python, code) - bare)
    base = taken["httpx, msgspec"]
    for name, (python, _, needs) in rows.items():
        told = subprocess.run([python, "-c", SIZE, *needs], check=True, capture_output=True)
        version, size = json.loads(told.stdout)
        if "wire-llm" in needs:  # an editable install lists no files of the package
            package = (ROOT / "wire").rglob("*")
            size += sum(each.stat().st_size for each in package if each.suffix != ".pyc")
        ratio = statistics.median(one / of for one, of in zip(taken[name], base, strict=True))
        milliseconds = statistics.median(taken[name]) * 1000
        print(f"{name:15} {version:9} {milliseconds:6.0f} ms  x {ratio:5.2f}  {size / 1e6:6.1f} MB")


if __name__ == "__main__":
    main()
