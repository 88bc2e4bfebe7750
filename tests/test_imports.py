"""The import contracts of pyproject.toml: `wire` keeps them, and a broken one is seen."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# In a process of its own: where `wire` is imported already, import-linter looks at that one.
LINT = (
    "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
)


def lint(folder: Path) -> tuple[int, str]:
    """Status and output of import-linter in a folder with `pyproject.toml` and `wire`."""
    done = subprocess.run(
        [sys.executable, "-c", LINT], cwd=folder, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


def test_every_contract_is_kept():
    status, told = lint(ROOT)
    assert status == 0, told
    kept = re.search(r"Contracts: (\d+) kept, 0 broken", told)
    assert kept is not None, told
    assert int(kept[1]) == ROOT.joinpath("pyproject.toml").read_text("utf-8").count(
        "[[tool.importlinter.contracts]]"
    )


@pytest.mark.parametrize(
    ("module", "statement", "arrow"),
    [
        ("openai.chat.fold", "from wire import gemini", "wire.openai.chat.fold -> wire.gemini"),
        ("gemini.fold", "import wire.openai.chat", "wire.gemini.fold -> wire.openai.chat"),
        ("neutral.messages", "import wire.http", "wire.neutral.messages -> wire.http"),
        ("anthropic.fold", "import httpx", "wire.anthropic.fold -> httpx"),
    ],
)
def test_an_import_that_breaks_a_contract_is_seen(
    module: str, statement: str, arrow: str, tmp_path: Path
):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "wire", tmp_path / "wire", ignore=shutil.ignore_patterns("__pycache__"))
    file = tmp_path / "wire" / f"{module.replace('.', '/')}.py"
    file.write_text(f"{file.read_text('utf-8')}\n\ndef late():\n    {statement}\n", "utf-8")
    status, told = lint(tmp_path)
    assert status == 1
    assert re.search(rf"^- *{re.escape(arrow)} ", told, re.MULTILINE), told
