"""What a fresh process does first, with several threads at once; `test_decoders.py` starts it.

Each scene prints what the threads saw. Where tables of msgspec are built by two threads at a time,
the process ends with a segmentation fault instead.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import pkgutil
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, TypedDict

import httpx
import msgspec

import wire
from wire.core import decoders
from wire.neutral.output import OutputType

THREADS = 8


def together(work: Callable[[], Any]) -> list[Any]:
    """The different results of threads that begin at the same moment."""
    barrier, results = threading.Barrier(THREADS), []

    def run() -> None:
        barrier.wait()
        results.append(work())

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == THREADS
    return [each for index, each in enumerate(results) if each not in results[:index]]


# --- calls of a wire ------------------------------------------------------------------------------

MODELS = {
    "gemini": "gemini:gemini-3-pro-preview",
    "openai": "openai:gpt-4.1",
    "anthropic": "anthropic:claude-opus-4-8",
}


def gemini_answer(text: str) -> Any:
    content = {"role": "model", "parts": [{"text": text}]}
    return {"candidates": [{"content": content, "finishReason": "STOP"}]}


def openai_answer(text: str) -> Any:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "chat_1", "object": "chat.completion", "choices": [choice]}


def anthropic_answer(text: str) -> Any:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


ANSWERS = {"gemini": gemini_answer, "openai": openai_answer, "anthropic": anthropic_answer}


class Harbour(msgspec.Struct):
    name: str
    depth: float | None = None


class Ship(msgspec.Struct):
    name: str
    home: Harbour


@dataclasses.dataclass
class Tide:
    harbour: Harbour
    hours: list[int]


class Berth(msgspec.Struct):
    harbour: Harbour
    tide: Tide


class Report(TypedDict):
    berths: list[Berth]


SHIP = '{"name": "Ada", "home": {"name": "Brest"}}'


def chat_of(name: str) -> Any:
    answer = httpx.Response(200, json=ANSWERS[name](SHIP))
    transport = httpx.MockTransport(lambda request: answer)
    return wire.Chat(MODELS[name], api_key="fake-key", http=transport)


def built(name: str) -> str:
    """A request that is made and not sent."""
    body = chat_of(name).call("hi").body.decode()
    return "hi" if '"hi"' in body else body


def asked(name: str) -> str:
    return chat_of(name).ask("hi").text


def fitted(name: str) -> Any:
    """An answer as a type of the user's."""
    return chat_of(name).ask("hi", output=Ship).output


def with_tool(name: str) -> Any:
    """A tool whose parameters are types of the user's."""

    def moor(berth: Berth, tide: Tide, report: Report) -> str:
        """Moor a ship."""
        raise AssertionError

    chat = chat_of(name)
    chat.call("hi", tools=[moor])
    return chat.request("hi", tools=[moor]).tools[0].parameters["required"]


CALLS = {"built": built, "asked": asked, "fitted": fitted, "with a tool": with_tool}


# --- every struct ---------------------------------------------------------------------------------


OF_DASK = {"cloudpickle", "distributed"}
"""Packages of the extra `[dask]`, which is not installed where `make test` runs."""


def modules() -> Iterator[types.ModuleType]:
    """All modules of the library that can be imported here."""
    for found in pkgutil.walk_packages(wire.__path__, "wire."):
        if found.name.endswith("__main__"):
            continue
        try:
            yield importlib.import_module(found.name)
        except ModuleNotFoundError as cause:
            if cause.name not in OF_DASK:
                raise


def structs() -> list[type[msgspec.Struct]]:
    """Each struct of the library, those that hold others first."""
    found = {
        each
        for module in modules()
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, msgspec.Struct)
        if each.__module__.startswith("wire.")
    }
    return sorted(found, key=lambda kind: (-len(kind.__struct_fields__), kind.__qualname__))


def every_struct() -> int:
    """Decode each struct with all its fields, so that the whole table of it is read."""
    kinds = structs()
    barrier = threading.Barrier(THREADS)

    def work() -> None:
        for kind in kinds:
            config = kind.__struct_config__
            tag = {config.tag_field: config.tag} if config.tag_field else {}
            body = msgspec.json.encode({**tag, **dict.fromkeys(kind.__struct_encode_fields__)})
            barrier.wait()
            try:
                decoders.decoder(kind).decode(body)
            except Exception:
                pass  # a field is never null, or is a function, or the struct has a rule of its own

    together(work)
    return len(kinds)


def imported() -> list[str]:
    """Which tables of msgspec the imports build."""
    found: list[str] = []

    def profile(frame: types.FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename == decoders.__file__ and frame.f_back is not None:
            found.append(f"{code.co_name}, called by {frame.f_back.f_code.co_filename}")

    sys.setprofile(profile)
    list(modules())
    sys.setprofile(None)
    return found


# --- a table that is half built -------------------------------------------------------------------

SOURCE = """
from __future__ import annotations
import dataclasses, typing, msgspec

{0}
class Inner{1}:
    x: slow(){2}

{0}
class Outer{1}:
    a: int{2}
    inner: Inner | None{2}
    b: int{2}
"""

FORMS = {
    "struct": ("", "(msgspec.Struct)", " = 0"),
    "dataclass": ("@dataclasses.dataclass", "", " = 0"),
    "TypedDict": ("", "(typing.TypedDict, total=False)", ""),
}


def half_built(form: str, work: Callable[[Any], Any], meanwhile: Callable[[], None]) -> None:
    """`work(Outer)`; `meanwhile()` runs while `Outer` is half built."""
    module = types.ModuleType("half_built")
    sys.modules[module.__name__] = module

    def slow() -> type:
        if "done" not in vars(module):
            vars(module)["done"] = True
            meanwhile()
        return int

    vars(module)["slow"] = slow
    exec(SOURCE.format(*FORMS[form]), vars(module))
    work(module.Outer)


def read(kind: Any) -> Any:
    """The shortest way to an answer of a type, for a type of this library."""
    return msgspec.to_builtins(decoders.decoder(kind).decode(b'{"a": 1, "b": 2}'))


def read_users(kind: Any) -> Any:
    """The same for a type of the user's."""
    return msgspec.to_builtins(OutputType(kind).read('{"a": 1, "b": 2}'))


DOORS: dict[str, Callable[[Any], Any]] = {
    "decoder": decoders.decoder,
    "convert": lambda kind: decoders.convert({}, kind),
    "json_schema": decoders.json_schema,
    "schema_components": lambda kind: decoders.schema_components(kind, lambda other: {}, "{name}"),
    "converter": lambda kind: decoders.converter(kind, lambda other, value: value),
}


def second_thread(form: str, door: str) -> list[Any]:
    """What a second thread reads while the first one builds: it must wait, and see the whole."""
    kinds: list[Any] = []
    results: list[Any] = []
    trying, answered = threading.Event(), threading.Event()

    def second() -> None:
        trying.set()
        results.append((read if form == "struct" else read_users)(kinds[0]))
        answered.set()

    thread = threading.Thread(target=second)

    def meanwhile() -> None:
        thread.start()
        trying.wait()
        answered.wait(0.2)  # as long as a thread that does not wait would need

    def work(kind: Any) -> None:
        kinds.append(kind)
        DOORS[door](kind)

    half_built(form, work, meanwhile)
    thread.join()
    return results


def forked() -> str:
    """What a child reads that was forked while another thread was building."""
    kinds: list[Any] = []
    building, was_forked = threading.Event(), threading.Event()

    def meanwhile() -> None:
        building.set()
        was_forked.wait(0.2)

    def work(kind: Any) -> None:
        kinds.append(kind)
        decoders.decoder(kind)

    thread = threading.Thread(target=half_built, args=("struct", work, meanwhile))
    thread.start()
    building.wait()
    ours, childs = os.pipe()
    child = os.fork()
    if not child:
        import signal

        signal.alarm(20)
        os.write(childs, repr(read(kinds[0])).encode())
        os._exit(0)
    was_forked.set()
    thread.join()
    status = os.waitpid(child, 0)[1]
    os.close(childs)
    with os.fdopen(ours) as pipe:
        return f"{pipe.read()} {os.waitstatus_to_exitcode(status)}"


def first_call(wire_name: str, name: str) -> int:
    """One call as the first of a process, which is a child of this one; its exit code."""
    child = os.fork()
    if not child:
        sys.setswitchinterval(1e-5)  # the GIL changes hands often enough to hit each gap
        print(name, together(lambda: CALLS[name](wire_name)), flush=True)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(scene: str, *words: str) -> None:
    if scene in MODELS:
        sys.exit(max(abs(first_call(scene, name)) for name in CALLS))
    elif scene == "every":
        sys.setswitchinterval(1e-5)
        print(every_struct())
    elif scene == "second":
        for door in DOORS:
            print(door, *second_thread(words[0], door), flush=True)
    else:
        print({"imported": imported, "forked": forked}[scene]())


if __name__ == "__main__":
    main(*sys.argv[1:])
