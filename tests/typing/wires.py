"""Each wire is held to the contract, as mypy and pyright see it; nothing here is run."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from typing import assert_type

from tests.typing import wire_without_check
from tests.wires import fourth_wire
from wire import anthropic, converse, gemini, ollama, openai
from wire.core.call import Call, StreamCall
from wire.gemini import interactions
from wire.neutral.messages import Event, Reply
from wire.neutral.request import Request
from wire.wires.contract import WIRES, Wire

GEMINI: Wire = gemini
OPENAI: Wire = openai
ANTHROPIC: Wire = anthropic
CONVERSE: Wire = converse
OLLAMA: Wire = ollama
INTERACTIONS: Wire = interactions
FOURTH: Wire = fourth_wire

# Both type checkers complain of a comment that silences nothing: these lines are errors.
WITHOUT_CHECK: Wire = wire_without_check  # type: ignore[assignment]
NO_WIRE: Wire = object()  # type: ignore[assignment]


def asked(request: Request) -> None:
    """Calls have the same type whatever the wire is."""
    for wire in WIRES.values():
        assert_type(wire.call(request, "m", wire.ROWS[0]), Call[Reply])
        assert_type(wire.stream_call(request, "m"), StreamCall[Event, Reply])
