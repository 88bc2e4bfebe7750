"""What the adapters in Python share: the task of `wire conformance`, its loop, and the report."""

from __future__ import annotations

import importlib.metadata
import json
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Call:
    id: str
    name: str
    args: Any
    """Text is JSON that the client leaves to its user."""


@dataclass
class Answer:
    text: str
    stop: Any
    usage: tuple[int | None, int | None]
    calls: list[Call] = field(default_factory=list)
    is_paused: bool = False
    """Whether the answer goes back as it is, to be continued."""


LIMITS = ("length", "max_tokens", "max_output_tokens", "incomplete")
"""Stops in small letters. The last call of such an answer may be cut, so none is run."""


class Session:
    """One conversation with a client; an adapter defines the three methods."""

    client: Any = None

    def __init__(self, task: dict[str, Any]) -> None:
        self.task = task
        self.text = ""
        """What was read of the answer in progress."""

    def user(self, text: str) -> None:
        """Add a text of the user to the conversation."""
        raise NotImplementedError

    def ask(self) -> Answer:
        """Ask, and add the answer to the conversation."""
        raise NotImplementedError

    def results(self, pairs: list[tuple[Call, str]]) -> None:
        """Add the results of the calls of the answer."""
        raise NotImplementedError


def main(package: str, sessions: Mapping[str, Callable[[dict[str, Any]], Session]]) -> None:
    """Do the task of stdin with the session of its wire, and print the report."""
    task = json.load(sys.stdin)
    report: dict[str, Any] = {"client": f"{package} {importlib.metadata.version(package)}"}
    if task["wire"] not in sessions:
        print(json.dumps({**report, "skip": f"it does not speak {task['wire']}"}))
        return
    session = sessions[task["wire"]](task)
    calls: list[Call] = []
    try:
        answer = _run(session, task, calls)
    except Exception as error:
        status = getattr(error, "status_code", None) or getattr(error, "code", None)
        if isinstance(answer := getattr(error, "response", None), dict):  # of botocore
            status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode")
        report["error"] = {
            "type": type(error).__name__,
            "message": str(error),
            "status": status if isinstance(status, int) and status > 0 else None,
        }
        report["text"] = session.text
        shown = [repr(error), traceback.format_exc()]
    else:
        told = dict(zip(("input", "output"), answer.usage, strict=True))
        report |= {"text": answer.text, "usage": told}
        report["stop"] = None if answer.stop is None else str(answer.stop)
        shown = [repr(session.client)]
    report["calls"] = [{"name": each.name, "args": each.args} for each in calls]
    report["shown"] = shown if task["show"] else []
    print(json.dumps(report))


def _run(session: Session, task: dict[str, Any], calls: list[Call]) -> Answer:
    results = {each["name"]: each for each in task["tools"]}
    for turn in task["turns"]:
        session.user(turn)
        while (answer := session.ask()).calls or answer.is_paused:
            if str(answer.stop).lower() in LIMITS and not answer.is_paused:
                break
            if not answer.calls:
                continue
            for call in answer.calls:
                call.args = json.loads(call.args) if isinstance(call.args, str) else call.args
            calls += answer.calls
            session.results(
                [
                    (call, results[call.name]["results"][call.args[results[call.name]["by"]]])
                    for call in answer.calls
                ]
            )
    return answer
