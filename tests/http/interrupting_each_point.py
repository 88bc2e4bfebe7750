"""Interrupts one call at each point where CPython handles a signal, one point a call.

    python -m tests.http.interrupting_each_point BASE_URL direct|httpx send|stream|leave STEP

A signal is handled where a function begins, after a call, and at the end of a loop's turn. A trace
function raises KeyboardInterrupt there: the first call at its first point, the second call at its
second, until a call has no further point. Points are those of `wire/http` and of `contextlib`.
Prints how many points there were, how many of them where a function begins, and those after which a
slot stayed taken or another exception than KeyboardInterrupt arrived, as JSON.
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
from tests.library import is_library
from wire import Client, Lanes, Timeouts

SIGNAL_IS_HANDLED_AFTER = ("RESUME", "CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD")


@functools.cache
def entry(code: CodeType) -> int:
    """The offset at which a function begins. -1 for code of other modules."""
    ours = is_library(code.co_filename, "http")
    if not ours and code.co_filename != contextlib.__file__:
        return -1
    return next(step.offset for step in dis.get_instructions(code) if step.opname == "RESUME")


@functools.cache
def points(code: CodeType) -> frozenset[int]:
    """The offsets at which a signal may be handled after the function has begun."""
    return frozenset(
        after.offset
        for step, after in itertools.pairwise(dis.get_instructions(code))
        if step.opname in SIGNAL_IS_HANDLED_AFTER and step.offset != entry(code)
    )


class Interrupt:
    """A trace function that raises at the n-th point of the call."""

    def __init__(self, number: int) -> None:
        self.left, self.place, self.at_entry = number, "", False

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        if entry(frame.f_code) == -1:
            return None
        # Raised here, the interrupt comes before the function's first `try`, as a signal does. At
        # the next opcode it may be inside that block already, whose `finally` would hide a leak.
        if frame.f_lasti == entry(frame.f_code):
            self.reached(frame, at_entry=True)
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        # Python 3.13 reports the opcodes of frames that have a trace function when it is set.
        frame.f_trace = self.step
        sys.settrace(self)
        return self.step

    def step(self, frame: FrameType, event: str, _: object) -> Any:
        if event == "opcode" and frame.f_lasti in points(frame.f_code):
            self.reached(frame)
        return self.step

    def reached(self, frame: FrameType, *, at_entry: bool = False) -> None:
        """Count a point, and raise at the n-th."""
        self.left -= 1
        if not self.left:
            sys.settrace(None)
            self.place, self.at_entry = "".join(traceback.format_stack(frame, 3)), at_entry
            raise KeyboardInterrupt


def main(base_url: str, connections: Any, kind: str, step: str) -> None:
    lanes = Lanes(limit=1, connections=connections)
    timeouts = Timeouts(first_byte=5, idle=5)
    lost, others, tried, entries = [], [], 0, 0
    gc.disable()  # a slot must be free at once
    with Client(
        "gemini", api_key="fake-key", base_url=base_url, http=lanes, retry=None, timeouts=timeouts
    ) as client:
        client.send(CALL)
        for number in itertools.count(1, int(step)):
            interrupt = Interrupt(number)
            try:
                sys.settrace(interrupt)
                if kind == "send":
                    client.send(CALL)
                else:
                    with client.stream(STREAM_CALL) as chunks:  # `chunks` outlives the block
                        next(chunks)
                        if kind == "stream":
                            chunks.result()
            except KeyboardInterrupt:
                pass
            except Exception as error:
                others.append([repr(error), interrupt.place])
            finally:
                sys.settrace(None)
            if not interrupt.place:
                break
            tried += 1
            entries += interrupt.at_entry
            if lanes._slots._taken:
                lost.append(interrupt.place)
                lanes._slots._taken.clear()
    counted = {"points": tried, "entries": entries, "lost": lost, "others": others}
    print(json.dumps(counted))


if __name__ == "__main__":
    main(*sys.argv[1:])
