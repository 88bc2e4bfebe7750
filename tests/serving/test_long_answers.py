"""An answer of the backend that takes several requests is one answer of the gateway."""

from __future__ import annotations

import pytest

from tests.joined import joined
from tests.serving.running import MODELS, base_url, gateway
from wire import Chat, TextDelta
from wire.testing.emulator import Emulator

WORDS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"


@joined("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("client", MODELS)
def test_a_long_answer_is_whole(client: str, stream: bool) -> None:
    emulator = Emulator([{"say": {"text": WORDS, "hops": 3}}])
    with gateway("gemini", emulator) as server:
        options = {"api_key": "fake-key", "base_url": base_url(server, client), "retry": None}
        with Chat(MODELS[client], **options) as chat:
            if stream:
                with chat.stream("Count.") as events:
                    told = "".join(each.text for each in events if isinstance(each, TextDelta))
                    reply = events.reply()
                assert told == WORDS
            else:
                reply = chat.ask("Count.")
    assert (reply.text, reply.stop.reason, reply.stop.complete) == (WORDS, "end", True)
    assert reply.hops == ()
    assert len(emulator.requests) == 3
    assert reply.usage is not None
    assert reply.usage.output >= 15
