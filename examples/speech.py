"""Streams spoken answers, the last one into a WAV file: `python examples/speech.py [FILE]`.

Runs offline against the emulator, whose script plays four samples of silence. With
OPENAI_API_KEY and without `http=` and `api_key=`, the same lines go to OpenAI.
"""

from __future__ import annotations

import base64
import sys
import wave

from wire import Chat, Done, MediaDelta, Message, printable
from wire.testing.emulator import Emulator, EmulatorTransport

SPEECH = {
    "modalities": ["text", "audio"],
    "audio": {"voice": "alloy", "format": "pcm16"},  # the only format that OpenAI streams
}


def main(path: str = "") -> None:
    messages = [Message.user("Is it ebb or flood?")]
    pcm = bytearray()
    http = EmulatorTransport(Emulator(script()))
    with Chat("openai@chat:gpt-audio", api_key="fake-key", http=http) as chat:
        for question in ("How long?", None):
            with chat.stream(messages=messages, options={"openai": SPEECH}) as events:
                pcm.clear()
                for event in events:
                    match event:
                        case MediaDelta(data=data, transcript=transcript):
                            pcm += data  # or into a player
                            print(printable(transcript), end="", flush=True)
                        case Done(reply):
                            messages.append(reply.message)
                print(f" ({len(pcm)} bytes)")
            if question is not None:
                messages.append(Message.user(question))
    if path:
        with wave.open(path, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(24_000)
            file.writeframes(pcm)


def script() -> list[dict[str, object]]:
    """Two spoken answers, as a stream of OpenAI has them."""
    silence = base64.b64encode(bytes(4)).decode()
    answers = []
    for number, words in enumerate((["Ebb", "."], ["Two ", "hours."]), 1):
        deltas: list[dict[str, object]] = [{"id": f"audio_{number}"}]
        deltas += [{"transcript": word, "data": silence} for word in words]
        chunks = [{"choices": [{"index": 0, "delta": {"audio": each}}]} for each in deltas]
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        answers.append({"stream": [*chunks, end]})
    return answers


if __name__ == "__main__":
    main(*sys.argv[1:2])
