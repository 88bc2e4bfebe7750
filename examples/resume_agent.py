"""Two vendors in one run: an agent on Gemini delegates parsing a résumé to an agent on DeepSeek,
then writes a better one.

Both vendors are emulated on this machine:

    python examples/resume_agent.py

With the real vendors; needs GEMINI_API_KEY and DEEPSEEK_API_KEY:

    LIVE=1 python examples/resume_agent.py
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from wire import LLMAgent, ToolCall, load_config, printable, tool
from wire.agent import read_session, save_session
from wire.sessions import export
from wire.testing.emulator import AsyncEmulatorTransport, Emulator

CONFIG = Path(__file__).parent / "resume_agent.toml"
RESUME = (
    "Ada Lovelace, mathematician in London. 1842-43: notes on the Analytical Engine, with "
    "the first program for it."
)
TASK = f"Parse this résumé, then write it as one good sentence to resume.md:\n\n{RESUME}"


def orchestrator_tools(parser: LLMAgent, folder: Path) -> list[Callable[..., Any]]:
    async def parse_resume(text: str) -> dict[str, Any]:
        """Take a résumé apart: name, place, and what was done when."""
        found = await parser.run(f"Answer with a JSON object of name, place and work.\n\n{text}")
        parsed: dict[str, Any] = json.loads(found.text)
        return parsed

    @tool(needs_approval=True)
    def resume_write(name: str, text: str) -> str:
        """Write a file."""
        (folder / Path(name).name).write_text(text, encoding="utf-8")
        return f"{len(text)} letters written"

    def file_read(name: str) -> str:
        """Read a file."""
        return (folder / Path(name).name).read_text("utf-8")

    return [parse_resume, resume_write, file_read]


def approve(call: ToolCall) -> bool | str:
    """Allows writing to this one file only."""
    return (
        call.name != "resume_write"
        or (call.arguments or {}).get("name") == "resume.md"
        or "only resume.md may be written"
    )


# --- emulated on this machine ---------------------------------------------------------------------

PARSED = {
    "name": "Ada Lovelace",
    "place": "London",
    "work": ["notes on the Analytical Engine, 1842-43"],
}
SENTENCE = "Ada Lovelace of London wrote the first program, in her notes on the Analytical Engine."
GEMINI = [
    {
        "match": {"number": 1},
        "say": {
            "text": "I'll have it parsed.",
            "calls": [{"name": "parse_resume", "args": {"text": RESUME}}],
        },
    },
    {
        "match": {"number": 2},
        "say": {
            "calls": [
                {"name": "resume_write", "args": {"name": "resume.md", "text": SENTENCE}},
                {"name": "resume_write", "args": {"name": "notes.md", "text": "x"}},
            ]
        },
    },
    {"match": {"number": 3}, "say": "The résumé is in resume.md."},
]
DEEPSEEK = [{"match": {"endpoint": "chat.completions"}, "say": json.dumps(PARSED)}]


async def main(live: bool) -> None:
    env = (
        dict(os.environ)
        if live
        else {"GEMINI_API_KEY": "fake-gemini-key", "DEEPSEEK_API_KEY": "fake-deepseek-key"}
    )
    config = load_config(CONFIG, env=env)
    print(f"left to the application: {', '.join(note.path for note in config.notes)}")
    gemini = "auto" if live else AsyncEmulatorTransport(Emulator(GEMINI))
    deepseek = "auto" if live else AsyncEmulatorTransport(Emulator(DEEPSEEK, lenient=True))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with (
            LLMAgent.from_config(
                config.agents["parser"], "You parse résumés.", http=deepseek
            ) as parser,
            LLMAgent.from_config(
                config.llm, "You write résumés.", http=gemini, approve=approve
            ) as orchestrator,
        ):
            for each in orchestrator_tools(parser, folder):
                orchestrator.register_tool(each)
            result = await orchestrator.run(
                TASK,
                stream=True,
                on_stream_delta=lambda delta: print(printable(delta.text), end="", flush=True),
            )
            print()
            for run in result.runs:
                print(f"{run.call.name}: {json.dumps(run.result.answer, ensure_ascii=False)}")
            print(f"resume.md: {(folder / 'resume.md').read_text('utf-8')}")
            save_session(folder / "session.json", orchestrator.history.messages)
            loaded = read_session(folder / "session.json")
            print(f"--- the session as saved and read again: {len(loaded.messages)} messages")
            print(export(loaded.messages, "text"))


if __name__ == "__main__":
    anyio.run(main, bool(os.environ.get("LIVE")))
