"""`wire chat`: a conversation on a terminal, with tools that a person approves."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from wire.cli.asking import report_notes, write_event
from wire.cli.options import Command, chat_of, json_option, model_options, whole
from wire.cli.terminal import is_terminal, report, write, write_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wire.agent.agent import Agent
    from wire.agent.model import AgentEvent
    from wire.neutral.messages import Message, ToolCall

_HELP = """\
/save [FILE]  save the conversation; FILE may be left out with --session
/clear        begin a new conversation
/help         show these lines
/quit         end, as Ctrl-D does
A line that ends with \\ goes on in the next one. Ctrl-C ends an answer, or discards the line."""


def _options(command: argparse.ArgumentParser) -> None:
    model_options(command)
    command.add_argument("--system", metavar="TEXT", help="the system prompt")
    command.add_argument(
        "--tool",
        metavar="MODULE:FUNCTION",
        action="append",
        default=[],
        help="a function that the model may call, of a module in this folder or installed; may be "
        "repeated",
    )
    command.add_argument("--yes", action="store_true", help="run the calls of tools without asking")
    command.add_argument(
        "--session", metavar="FILE", help="continue the conversation of a file that /save wrote"
    )
    command.add_argument(
        "--max-tokens", type=whole(1), metavar="N", help="longest answer, in tokens"
    )
    json_option(command, "each answer and each call of a tool as a line")


def _chat(chosen: argparse.Namespace) -> int:
    from wire.agent.agent import Agent
    from wire.history import HistoryManager

    tools = [load_tool(name) for name in chosen.tool]
    history = HistoryManager(_saved(chosen.session))
    with chat_of(chosen, {"max_tokens": chosen.max_tokens}) as chat:
        chat.client.require_key()  # before the person has typed a prompt
        agent = Agent(
            chat,
            chosen.system or "",
            tools=tools,
            history=history,
            approve=Approval(all=chosen.yes),
            max_tokens=chosen.max_tokens,
        )
        if is_interactive():
            # Editing of lines, and the earlier ones at the arrow keys. Windows has no such module.
            try:
                importlib.import_module("readline")
            except ImportError:
                pass
            write(f"{chat.provider}:{chat.model}. /help lists commands, Ctrl-D ends.", dim=True)
        Conversation(agent, chosen.session, json=chosen.json).run()
    return 0


def _saved(path: str | None) -> Iterable[Message]:
    from wire.core.errors import ConfigurationError
    from wire.sessions import read_session

    if path is None:
        return ()
    try:
        return read_session(path).messages
    except ConfigurationError as problem:
        raise ConfigurationError(f"session: {problem.message}") from None


def load_tool(name: str) -> Any:
    """Load the function of `module:function`; modules of the current folder come first.

    Raises `ConfigurationError` that names the tool.
    """
    from wire.core.errors import ConfigurationError, WireError, one_line
    from wire.tools import Toolbox

    module, _, function = name.partition(":")
    if not module or not function:
        raise ConfigurationError(f"tool: expected MODULE:FUNCTION, not {name!r}")
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = importlib.import_module(module)
    except Exception as cause:  # the module is the user's code
        problem = one_line(f"{type(cause).__name__}: {cause}")
        raise ConfigurationError(f"tool: {name}: {module} cannot be imported: {problem}") from None
    made = getattr(found, function, None)
    if made is None:
        raise ConfigurationError(f"tool: {name}: {module} has no {function}")
    try:
        Toolbox([made])
    except WireError as problem:
        raise ConfigurationError(f"tool: {name}: {problem.message}") from None
    return made


def is_interactive() -> bool:
    """Return whether a person types the prompts and reads the answers."""
    return is_terminal(sys.stdin) and is_terminal()


# --- the conversation -----------------------------------------------------------------------------


class Conversation:
    """Reads prompts and commands line by line, and writes the answers."""

    def __init__(self, agent: Agent, session: str | None, *, json: bool) -> None:
        self._agent, self._session, self._json = agent, session, json
        self._notes: set[str] = set()

    def run(self) -> None:
        """Answer prompts until the input ends.

        A person goes on after an error. A program at a pipe gets the error of the first answer that
        failed, and so the exit status.
        """
        from wire.core.errors import ConfigurationError, WireError

        while (line := self._prompt()) is not None and line.strip() not in ("/quit", "/exit"):
            try:
                if line.startswith("/"):
                    self._command(line)
                elif line.strip():
                    self._answer(line)
            except (KeyboardInterrupt, WireError) as error:
                if not is_interactive():
                    raise
                if isinstance(error, KeyboardInterrupt):
                    write("\n[interrupted]", dim=True)
                elif isinstance(error, ConfigurationError):
                    report(error.message)
                else:
                    write("")
                    report(f"{type(error).__name__}: {error}")

    def _prompt(self) -> str | None:
        """Read the next prompt; return `None` at the end of the input.

        Ctrl-C discards the line that was typed.
        """
        while True:
            try:
                return read_prompt()
            except KeyboardInterrupt:
                if not is_interactive():
                    raise
                write("")

    def _answer(self, text: str) -> None:
        """Stream the answer to one prompt, with the calls of tools that the model makes."""
        known = len(self._agent.history.notes)
        with self._agent.stream(text) as events:
            for event in events:
                self._write(event)
            result = events.result
        for note in self._agent.history.notes[known:]:
            report(f"note: {note}")
        if result.reason.startswith("max_") or result.reason == "guard":
            report(f"note: the run ended by its limit {result.reason}")
        elif result.reply is not None and not result.reply.stop.complete:
            report(f"note: the answer is not whole: {result.reason}")

    def _write(self, event: AgentEvent) -> None:
        from wire.agent.model import MessageJoined
        from wire.neutral.messages import Done
        from wire.neutral.reply_json import reply_json
        from wire.tools import ToolRun, format_call

        if isinstance(event, ToolRun):
            result = event.result
            if self._json:
                call = {"name": event.call.name, "arguments": event.call.arguments}
                outcome = {"result": result.content, "error": result.error}
                write_json({"event": "ToolRun", **call, **outcome})
            else:
                failed = "failed: " if result.error else ""
                write(f"[{format_call(event.call)} -> {failed}{result.content}]", dim=True)
        elif isinstance(event, Done):
            if self._json:
                write_json({"event": "Done", **reply_json(event.reply)})
                return
            if event.reply.text:
                write("")
            report_notes(event.reply, self._notes)
        elif not self._json and not isinstance(event, MessageJoined):
            write_event(event, json=False)

    def _command(self, line: str) -> None:
        """Run a line that begins with a slash. Raises `ConfigurationError` that names it."""
        from wire.core.errors import ConfigurationError
        from wire.sessions import save_session

        name, _, rest = line.strip().partition(" ")
        if name == "/help":
            write(_HELP)
        elif name == "/clear":
            self._agent.reset()
        elif name == "/save":
            path = rest.strip() or self._session
            if not path:
                raise ConfigurationError("/save: give the name of a file")
            save_session(path, self._agent.history.messages)
            # stderr, so that stdout has the answers alone.
            report(f"saved {len(self._agent.history)} messages in {path}")
        else:
            remedy = "/help lists them, and a space before / makes it a prompt"
            raise ConfigurationError(f"{name}: no such command; {remedy}")


def read_prompt() -> str | None:
    """Read a prompt, which may have several lines; return `None` at the end of the input."""
    lines: list[str] = []
    question = "> " if is_interactive() else ""
    while (line := read_line(question)) is not None:
        if not line.endswith("\\"):
            return "\n".join([*lines, line])
        lines.append(line[:-1])
        question = "  " if question else ""
    return "\n".join(lines) if lines else None


def read_line(question: str) -> str | None:
    """Read a line of the input; return `None` at its end.

    Raises `ConfigurationError` if it is not UTF-8.
    """
    from wire.core.errors import ConfigurationError

    try:
        if question:
            return input(question)
        line = sys.stdin.readline()
    except EOFError:
        write("")
        return None
    except UnicodeDecodeError as cause:
        raise ConfigurationError(f"stdin: byte {cause.start} is not UTF-8") from None
    return line.rstrip("\r\n") if line else None


# --- approval -------------------------------------------------------------------------------------


class Approval:
    """Asks before each call of a tool. The question shows the call with all its arguments."""

    def __init__(self, *, all: bool) -> None:
        self._all = all
        self._names: set[str] = set()

    def __call__(self, call: ToolCall) -> bool | str:
        """Return whether the call may run, or why it may not."""
        from wire.tools import format_call

        if self._all or call.name in self._names:
            return True
        if not is_interactive():
            return "not approved: there is no terminal to ask on; --yes approves all calls"
        try:
            reply = input(f"run {format_call(call)} ? [y]es, [N]o, [a]lways: ").strip().lower()
        except EOFError:
            write("")
            reply = ""
        if reply in ("a", "always"):
            self._names.add(call.name)
        return reply in ("y", "yes", "a", "always") or "the user refused this call"


COMMANDS = (Command("chat", "talk with a model, which may call your functions", _options, _chat),)
