"""Interrupts one call at each point where CPython handles a signal, one point a call.

    python -m tests.http.interrupting_each_point BASE_URL direct|httpx send|stream

A signal is handled where a function begins, after a call, and at the end of a loop's turn. A trace
function raises KeyboardInterrupt there: the first call at its first point, the second call at its
second, until a call has no further point. Points are those of `wire/http` and of `contextlib`.
Prints how many points there were, and those after which a slot stayed taken or another exception
than KeyboardInterrupt arrived, as JSON.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import gc
import itertools
import json
import sys
import traceback
from types import CodeType, FrameType
from typing import Any

from tests.http.drive import CALL, STREAM_CALL
from wire import Client, Lanes, Timeouts

SIGNAL_IS_HANDLED_AFTER = ("RESUME", "CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD")


@functools.cache
def points(code: CodeType) -> frozenset[int]:
    """The offsets of a function at which a signal may be handled."""
    if "wire/http" not in code.co_filename and code.co_filename != contextlib.__file__:
        return frozenset()
    steps = list(dis.get_instructions(code))
    return frozenset(
        after.offset
        for step, after in itertools.pairwise(steps)
        if step.opname in SIGNAL_IS_HANDLED_AFTER
    )


class Interrupt:
    """A trace function that raises at the n-th point of the call."""

    def __init__(self, number: int) -> None:
        self.left, self.place = number, ""

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        if not points(frame.f_code):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self.step

    def step(self, frame: FrameType, event: str, _: object) -> Any:
        if event == "opcode" and frame.f_lasti in points(frame.f_code):
            self.left -= 1
            if not self.left:
                sys.settrace(None)
                self.place = "".join(traceback.format_stack(frame, 3))
                raise KeyboardInterrupt
        return self.step


def main(base_url: str, connections: Any, kind: str) -> None:
    lanes = Lanes(limit=1, connections=connections)
    timeouts = Timeouts(first_byte=5, idle=5)
    lost, others, number = [], [], 0
    gc.disable()  # a slot must be free at once
    with Client(
        "gemini", api_key="fake-key", base_url=base_url, http=lanes, retry=None, timeouts=timeouts
    ) as client:
        client.send(CALL)
        while True:
            number += 1
            interrupt = Interrupt(number)
            try:
                sys.settrace(interrupt)
                if kind == "send":
                    client.send(CALL)
                else:
                    with client.stream(STREAM_CALL) as chunks:  # `chunks` outlives the block
                        chunks.result()
            except KeyboardInterrupt:
                pass
            except Exception as error:
                others.append([repr(error), interrupt.place])
            finally:
                sys.settrace(None)
            if not interrupt.place:
                break
            if lanes._slots._taken:
                lost.append(interrupt.place)
                lanes._slots._taken.clear()
    print(json.dumps({"points": number - 1, "lost": lost, "others": others}))


if __name__ == "__main__":
    main(*sys.argv[1:])
