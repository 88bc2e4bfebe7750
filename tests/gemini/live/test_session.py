"""A session of Live on our client: paths of both hosts, binary messages, reasons of the end."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.drive import EVERY, Drive
from tests.http.frames import Peer, close, frame, served
from tests.http.loopback import loopback
from wire import Client, errors
from wire.gemini import live

SETUP = live.ClientMessage(setup=live.Setup(model="models/gemini-live-2.5-flash"))


@pytest.mark.parametrize("drive", EVERY)
def test_a_turn_in_binary_messages(drive: Drive) -> None:
    got: list[Any] = []

    def script(peer: Peer) -> None:
        got.append(peer.message())
        peer.send(frame("binary", b'{"setupComplete": {}}'))
        got.append(peer.message())
        peer.send(
            frame("binary", b'{"serverContent": {"outputTranscription": {"text": "Hello."}}}'),
            frame("binary", b'{"serverContent": {"turnComplete": true}}'),
            close(1008, "models/x is not found for fake-key"),
        )

    with loopback(served(script)) as server:

        def work(door: Any) -> errors.WireError:
            with door.connect(live.socket()) as socket:
                socket.send(SETUP)
                assert socket.next().setup_complete == live.SetupComplete()
                said = live.RealtimeInput(text="Hi")
                socket.send(live.ClientMessage(realtime_input=said))
                assert socket.next().server_content.output_transcription.text == "Hello."
                assert socket.next().server_content.turn_complete
                with pytest.raises(errors.APIError) as caught:
                    socket.next()
                return caught.value

        error = drive.session(work, base_url=server.url)
    assert str(error) == "gemini: 1008: models/x is not found for ***"
    assert got == [
        {"setup": {"model": "models/gemini-live-2.5-flash"}},
        {"realtimeInput": {"text": "Hi"}},
    ]
    head = server.requests[0].decode()
    service = "google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
    assert head.startswith(f"GET /ws/{service} HTTP/1.1")
    assert "x-goog-api-key: fake-key" in head


def test_vertex_has_another_service() -> None:
    options: dict[str, Any] = {"project": "p", "location": "europe-west4"}
    with Client("gemini@vertex", token=lambda: "fake-key", **options) as client:
        call = client._target.accept(live.socket(), type(live.socket()))
        assert client.preview(call).url == (
            "https://europe-west4-aiplatform.googleapis.com"
            "/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent"
        )
    with Client("gemini", api_key="fake-key", version="v1alpha") as client:
        call = client._target.accept(live.socket(), type(live.socket()))
        assert "generativelanguage.v1alpha.GenerativeService" in client.preview(call).url
