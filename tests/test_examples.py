"""The examples run, and what README and a guide show of them is what they are and print."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def run(example: str, **environment: str) -> str:
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in ("GEMINI_API_KEY", "GEMINI_MODEL", "Q", "LIVE", "RECORD")
    }
    found = subprocess.run(
        [sys.executable, "-W", "error", ROOT / "examples" / example],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**clean, "PYTHONIOENCODING": "utf-8", **environment},
    )
    assert (found.returncode, found.stderr) == (0, "")
    return found.stdout


def test_demo_runs_the_tools_and_ends_with_the_servers_refusal() -> None:
    said = run("demo.py")
    assert "it is not a model" in said
    assert "call get_weather({'city': 'Paris'})\ncall get_weather({'city': 'Oslo'})\n" in said
    assert '"temp_c": 15, "sky": "light rain"' in said.split("Your tool")[1]
    second = said.split("--- the second request")[1]
    assert re.search(
        r'"id": "[^"]{8}"}, "thoughtSignature": "[A-Za-z0-9+/=]{88}"\},\{"functionCall": \{"name"',
        second,
    )
    assert said.splitlines()[-1].startswith(
        "BadRequestError: gemini: 400 INVALID_ARGUMENT: Function call is missing a "
        "thought_signature"
    )


def test_a_batch_prints_replies_and_codes_by_id() -> None:
    said = run("batch.py").splitlines()
    assert said[0].startswith("submitted batch_")
    assert said[1:] == [
        "the batch is expired",
        "moon: (batch_expired)",
        "sea: Rivers bring salts, and only water leaves.",
        "sky: Air scatters blue light more than red.",
    ]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (
            "東京の天気は？",
            'Your tool get_weather says {"city": "東京", "temp_c": 21, "sky": "clear"}.',
        ),
        (
            "How many days are there between 2026-03-01 and 2026-11-21?",
            'Your tool days_between says {"result": 265}.',
        ),
        ("Sing me something.", "I am a script, and none of the tools fits your question."),
    ],
)
def test_demo_takes_tool_and_arguments_from_the_question(question: str, said: str) -> None:
    assert said in run("demo.py", Q=question)


def test_live_demo_without_a_key_names_the_variable() -> None:
    found = subprocess.run(
        [sys.executable, ROOT / "examples" / "demo.py"],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "LIVE": "1"},
    )
    assert found.returncode == 1
    assert (
        found.stderr
        == "ConfigurationError: gemini: no API key: give api_key= or set GEMINI_API_KEY\n"
    )


def test_recording_the_demo_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "demo.cassette.json"
    assert run("demo.py", RECORD=str(path)).splitlines()[-1] == f"--- recorded in {path}"
    assert path.read_text("utf-8") == (ROOT / "examples" / "demo.cassette.json").read_text("utf-8")


def test_raw_tools() -> None:
    assert run("raw_tools.py").splitlines()[-1].startswith("Your tool get_weather says")


@pytest.mark.row("S3-17")
def test_weather() -> None:
    assert run("weather.py") == (
        "you    東京の天気は？\n"
        'call   get_weather({"location": "東京"})\n'
        '       {"location": "東京", "current_temp_c": "15", "condition": "Sunny"}\n'
        "model  東京は晴れ、気温は15度です。\n"
    )


def test_streaming() -> None:
    said = run("streaming.py").splitlines()
    assert said[0].startswith(
        "A clear sky, a low sun: short words will do.Because the air scatters blue light"
    )
    assert said[1].startswith("--- end, Usage(input=")


def test_growing() -> None:
    said = run("growing.py").splitlines()
    again = "again: the answer does not match Cities: $.cities[0].people: Expected `int`, got `str`"
    before, after = said[: said.index(again)], said[said.index(again) + 1 :]
    assert [line for line in before if line.startswith("whole")] == ["whole: Oslo, 720 thousand"]
    assert [line for line in after if line.startswith("whole")] == [
        "whole: Oslo, 720000",
        "whole: Bergen, 290000",
    ]
    assert "grows: a fjord, and " in after
    assert said[-1].startswith("reply: 1010000 people, asked again 1 times, 0.00")


def test_speech() -> None:
    assert run("speech.py") == "Ebb. (8 bytes)\nTwo hours. (8 bytes)\n"


def test_a_paused_turn() -> None:
    assert run("paused_turn.py") == (
        "pause: I look. \nend: At six.\none message of 4 parts: I look. At six.\n"
    )


@pytest.mark.row("S1-71")
def test_two_vendors_in_one_run_and_the_session_of_it() -> None:
    said = run("resume_agent.py")
    assert said.splitlines()[0] == (
        "left to the application: max_steps, workspace_dir, log_level, session, "
        "multi_agent.enabled, multi_agent.mode, routing.enabled"
    )
    assert 'parse_resume: {"name": "Ada Lovelace", "place": "London"' in said
    assert (
        'resume_write: {"result": "86 letters written"}\nresume_write: {"error": "only '
        'resume.md may be written"}\n' in said
    )
    assert "--- the session as saved and read again: 6 messages\nuser:\n  Parse this résumé" in said


def test_readme_and_a_guide_show_the_demo_as_it_is() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    source = (ROOT / "examples" / "raw_tools.py").read_text("utf-8")
    client_part = source.split("# the guide begins: the client part\n")[1].split(
        "\n\n\n# the guide ends"
    )[0]
    page = (ROOT / "docs" / "guide" / "raw.md").read_text("utf-8")
    assert f"```python\n{client_part}\n```" in page
    assert len(client_part.splitlines()) <= 30
    shown = readme.split("make demo\n```\n\n```\n")[1].split("```")[0].splitlines()
    printed = run("demo.py").splitlines()
    assert len(shown) == len(printed)
    for line, whole in zip(shown, printed, strict=True):
        cut = line.endswith("[...]") and len(whole) > 100
        assert whole.startswith(line.removesuffix("[...]").rstrip()) if cut else line == whole


def test_search_finds_the_text_that_answers() -> None:
    first, *others = run("search.py").splitlines()
    assert first.endswith("  The tide is low at noon and at midnight.")
    assert len(others) == 3


@pytest.mark.skipif(importlib.util.find_spec("mcp") is None, reason="the SDK is not installed")
def test_an_agent_with_the_tools_of_an_mcp_server() -> None:
    assert run("mcp_tools.py").splitlines() == [
        'tide_high {"port": "Brest"} -> 05:12',
        "In Brest the tide is high at 05:12.",
    ]


def test_citations_marks_the_spans_that_have_a_source() -> None:
    models = ("gemini:gemini-3.8-flash", "anthropic:claude-sonnet-5")
    for answer, model in zip(run("citations.py").strip().split("\n\n"), models, strict=True):
        assert answer.split("\n") == [
            model,
            "In Brest – at Pointe du Château – high tide is at 05:12[1] and 17:40[2].",
            "[1] Tide tables: https://shom.example/brest",
            "[2] Port of Brest: https://port.example/",
        ]
