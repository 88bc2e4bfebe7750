"""`make facts` finds what an SDK names and no table has. The SDKs here are small files."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests import facts

TYPES = "anthropic/types"
FILES = {
    f"{TYPES}/model.py": """
Model: TypeAlias = Union[Literal["claude-opus-5-5", "claude-new-9"], str]
""",
    f"{TYPES}/stop_reason.py": """StopReason: TypeAlias = Literal["end_turn", "bored"]""",
    f"{TYPES}/beta/beta_stop_reason.py": """BetaStopReason: TypeAlias = Literal["compaction"]""",
    f"{TYPES}/output_config_param.py": """
class OutputConfigParam(TypedDict):
    effort: Optional[Literal["low", "extreme"]]
""",
    f"{TYPES}/message_create_params.py": """
class MessageCreateParamsBase(TypedDict):
    max_tokens: Required[int]
    mood: str
class Other(TypedDict):
    other: int
""",
}


def wheel(folder: Path, files: dict[str, str]) -> None:
    with zipfile.ZipFile(folder / "anthropic-9.0.0-py3-none-any.whl", "w") as made:
        for name, text in files.items():
            made.writestr(name, text)


def test_names_without_a_row_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel(tmp_path, FILES)
    assert facts.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "anthropic 9.0.0: 5 lists compared",
        "  model without a row: claude-new-9",
        "  key of Messages without a row: mood",
        "  stop reason (StopReason) without a row: bored",
        "  effort without a row: extreme",
    ]


def test_an_sdk_whose_names_all_have_rows_ends_with_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {
        name: text.replace(', "claude-new-9"', "")
        .replace(', "bored"', "")
        .replace(', "extreme"', "")
        .replace("    mood: str\n", "")
        for name, text in FILES.items()
    }
    wheel(tmp_path, known)
    assert facts.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == "anthropic 9.0.0: 5 lists compared\n"
