"""Sessions of Gemini Live of the emulator, on loopback."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("websockets", reason="websockets is in the extra `live`")

from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection

from tests.http.drive import EVERY, Drive
from tests.testing.emulator.live_talks import (
    EXPRESS_MODEL,
    GEMINI,
    MODEL,
    SAID,
    SOUND,
    STALLED,
    TEXT,
    TOOLS,
    VERTEX,
    VERTEX_MODEL,
    asks,
    closing,
    kinds,
    opened,
    read,
    results,
    said,
    setup,
    words,
)
from wire import Timeouts, errors, unknown
from wire.gemini import live
from wire.gemini.types import Blob, Content, FunctionResponse, Part
from wire.testing.emulator import Emulator, Server, serve
from wire.testing.emulator.media import PIXEL


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(Emulator()) as running:
        yield running


# --- turns ----------------------------------------------------------------------------------------


def test_a_text_is_answered_by_texts(server: Server) -> None:
    with opened(server) as socket:
        assert said(socket, setup(), last="setupComplete") == [{"setupComplete": {}}]
        first = said(socket, asks("I am Bo.", complete=False), asks("Hi"))
        again = said(socket, asks("And?"))
    assert kinds(first) == ["modelTurn", "generationComplete", "usageMetadata+turnComplete"]
    assert (words(first), words(again)) == (f"{SAID}Hi", f"{SAID}And?")
    detail = [{"modality": "TEXT", "tokenCount": 15}]
    assert first[-1]["usageMetadata"] == {
        "promptTokenCount": 5,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 5}],
        "responseTokenCount": 15,
        "responseTokensDetails": detail,
        "totalTokenCount": 20,
    }
    assert again[-1]["usageMetadata"]["promptTokenCount"] == 22
    body = server.requests[-1]["body"]
    assert [each["role"] for each in body["contents"]] == ["user", "user", "model", "user"]
    assert [(each["method"], each["status"]) for each in server.requests] == [
        ("GET", 101),
        ("POST", 200),
        ("POST", 200),
    ]


def test_what_is_spoken_is_silence_with_its_transcript(server: Server) -> None:
    told: dict[str, Any] = {"generationConfig": {}, "outputAudioTranscription": {}}
    with opened(server) as socket:
        got = said(socket, setup(**told), asks("Hi"))
    contents = [each["serverContent"] for each in got[1:]]
    blobs = [each["modelTurn"]["parts"][0]["inlineData"] for each in contents[1:-2:2]]
    assert "".join(each["outputTranscription"]["text"] for each in contents[:-2:2]) == f"{SAID}Hi"
    assert {each["mimeType"] for each in blobs} == {"audio/pcm;rate=24000"}
    # Fifty milliseconds a character, 16 bits at 24 kHz.
    sound = b"".join(base64.b64decode(each["data"]) for each in blobs)
    assert sound == bytes(len(f"{SAID}Hi") * 2400)
    assert got[-1]["usageMetadata"]["responseTokensDetails"][0]["modality"] == "AUDIO"
    with opened(server) as socket:
        got = said(socket, setup(generationConfig={}), asks("Hi"))
    assert kinds(got[1:]) == ["modelTurn", "generationComplete", "usageMetadata+turnComplete"]


def test_vertex_writes_its_messages_in_its_own_manner(server: Server) -> None:
    told: dict[str, Any] = {"generationConfig": {}, "outputAudioTranscription": {}}
    with opened(server, VERTEX) as socket:
        got = said(socket, setup(VERTEX_MODEL, **told), asks("Hi"))
    assert len(got[0]["setupComplete"]["sessionId"]) == 36
    transcripts = [
        each["serverContent"]["outputTranscription"]
        for each in got
        if "outputTranscription" in each.get("serverContent", {})
    ]
    assert (transcripts[0], transcripts[-1]) == ({}, {"finished": True})
    assert kinds(got[1:]) == [
        "outputTranscription",
        "modelTurn",
        "generationComplete",
        "usageMetadata+turnComplete",
    ]
    assert got[-1]["usageMetadata"]["candidatesTokenCount"] == 15
    assert server.requests[-1]["target"] == f"/v1beta1/{VERTEX_MODEL}:generateContent"


def test_thoughts_of_a_script_are_sent_and_refused_answers_have_a_reason() -> None:
    script = [
        {"match": {"model": "*native-audio*"}, "say": {"text": "Hi.", "thoughts": "Greet."}},
        {"say": {"text": "", "finish": "SAFETY"}},
    ]
    with serve(Emulator(script)) as server, opened(server) as socket:
        got = said(socket, setup(), asks("Hi"))
        rejected = said(socket, asks("Hi"))
    assert got[1]["serverContent"]["modelTurn"]["parts"][0] == {"text": "Greet.", "thought": True}
    assert got[-1]["usageMetadata"]["thoughtsTokenCount"] == 8
    assert rejected[-1]["serverContent"]["turnCompleteReason"] == "RESPONSE_REJECTED"


def test_audio_ends_where_the_client_says(server: Server) -> None:
    audio = {"realtimeInput": {"audio": SOUND}}
    ends = {"realtimeInput": {"audioStreamEnd": True}}
    with opened(server) as socket:
        got = said(socket, setup(inputAudioTranscription={}), audio, audio, ends)
        assert got[1] == {"serverContent": {"inputTranscription": {"text": "(speech)"}}}
        assert words(got) == f"{SAID}(speech)"
        typed = said(socket, ends, {"realtimeInput": {"text": "Typed."}})
        assert words(typed) == f"{SAID}Typed."
    by_hand = {"automaticActivityDetection": {"disabled": True}}
    begins, stops = ({"realtimeInput": {f"activity{each}": {}}} for each in ("Start", "End"))
    picture = {"mimeType": "image/png", "data": base64.b64encode(PIXEL).decode()}
    seen = [{"realtimeInput": {"mediaChunks": [picture, SOUND]}}, {"realtimeInput": {"text": "A."}}]
    with opened(server) as socket:
        told = setup(realtimeInputConfig=by_hand)
        said(socket, told, begins, {"realtimeInput": {"video": picture}}, *seen, stops)
    parts = server.requests[-1]["body"]["contents"][0]["parts"]
    assert parts == [{"inlineData": picture}, {"text": "(speech)"}, {"text": "A."}]


# --- calls ----------------------------------------------------------------------------------------


def called(socket: ClientConnection, *messages: Any) -> list[str]:
    calls = said(socket, *messages, last="toolCall")[-1]["toolCall"]["functionCalls"]
    assert {each["name"] for each in calls} == {"get_weather"}
    return [each["id"] for each in calls]


def test_calls_have_ids_and_wait_for_all_results(server: Server) -> None:
    question = asks("What is the weather in Paris and in Oslo?")
    with opened(server) as socket:
        one, other = called(socket, setup(tools=TOOLS), question)
        assert one.startswith("function-call-")
        socket.send(json.dumps(results(other)))
        got = said(socket, results(one))
    assert words(got).startswith('Your tool get_weather says {"sky": "sunny"} and get_weather says')
    asked = server.requests[-1]["body"]["contents"]
    assert [len(each["parts"]) for each in asked] == [1, 2, 2]


@pytest.mark.parametrize("change", [{"id": "function-call-1"}, {"id": None}])
def test_a_result_of_no_call_is_refused(server: Server, change: dict[str, Any]) -> None:
    with opened(server) as socket:
        (id,) = called(socket, setup(tools=TOOLS), asks("What is the weather in Paris?"))
        assert closing(socket, results(id, **change)) == (
            1007,
            "Request contains an invalid argument.",
        )


def test_vertex_takes_a_result_by_the_name_of_its_call(server: Server) -> None:
    with opened(server, VERTEX) as socket:
        called(socket, setup(VERTEX_MODEL, tools=TOOLS), asks("What is the weather in Paris?"))
        got = said(socket, results("", id=None))
    assert words(got) == 'Your tool get_weather says {"sky": "sunny"}.'


GREETING = {"match": {"text": "Hi"}, "say": "Hello."}


def test_results_may_come_in_parts_and_be_silent() -> None:
    with serve(Emulator([GREETING])) as server, opened(server) as socket:
        (id,) = called(socket, setup(tools=TOOLS), asks("What is the weather in Paris?"))
        socket.send(json.dumps(results(id, willContinue=True)))
        socket.send(json.dumps(results(id, scheduling="SILENT")))
        assert words(said(socket, asks("Hi"))) == "Hello."
    contents = server.requests[-1]["body"]["contents"]
    assert [list(each["parts"][0]) for each in contents[1:3]] == [
        ["functionCall"],
        ["functionResponse"],
    ]


def test_who_interrupts_cancels_calls() -> None:
    with serve(Emulator([GREETING])) as server, opened(server) as socket:
        ids = called(socket, setup(tools=TOOLS), asks("What is the weather in Paris?"))
        got = said(socket, asks("Hi"))
        assert got[0] == {"toolCallCancellation": {"ids": ids}}
        assert closing(socket, results(*ids))[0] == 1007


# --- interruption ---------------------------------------------------------------------------------


@pytest.mark.parametrize("spoken", [False, True])
def test_a_pause_of_the_script_lets_the_client_interrupt(spoken: bool) -> None:
    by_hand = {"realtimeInputConfig": {"automaticActivityDetection": {"disabled": True}}}
    interrupt = {"realtimeInput": {"activityStart": {}}} if spoken else asks("Stop.")
    with serve(Emulator([STALLED])) as server, opened(server) as socket:
        assert words(said(socket, setup(**by_hand), asks("Count."), last="modelTurn"))
        got = said(socket, interrupt)
        assert kinds(got) == ["interrupted", "usageMetadata+turnComplete"]
        if spoken:
            ends = {"realtimeInput": {"activityEnd": {}}}
            got = said(socket, {"realtimeInput": {"text": "Stop."}}, ends)
        else:
            got = read(socket)
        assert words(got) == f"{SAID}Stop."
    contents = server.requests[-1]["body"]["contents"]
    assert contents[1] == {"role": "model", "parts": [{"text": "One two three "}]}


def test_a_session_without_interruption_answers_when_it_has_spoken() -> None:
    settings = {"activityHandling": "NO_INTERRUPTION"}
    step = {**STALLED, "fault": "stall; after=1; seconds=0.3"}
    with serve(Emulator([step])) as server, opened(server) as socket:
        said(socket, setup(realtimeInputConfig=settings), asks("Count."), last="modelTurn")
        first = said(socket, {"realtimeInput": {"text": "Stop."}})
        assert words(first) == "four five six."
        assert words(read(socket)) == f"{SAID}Stop."
    texts = [each["parts"][0]["text"] for each in server.requests[-1]["body"]["contents"]]
    assert texts == ["Count.", "One two three four five six.", "Stop."]


def test_a_session_without_interruption_keeps_its_calls() -> None:
    settings = {"activityHandling": "NO_INTERRUPTION"}
    with serve(Emulator([{"match": {"text": "Stop"}, "say": "Yes."}])) as server:
        with opened(server) as socket:
            told = setup(tools=TOOLS, realtimeInputConfig=settings)
            (id,) = called(socket, told, asks("What is the weather in Paris?"))
            assert words(said(socket, {"realtimeInput": {"text": "Stop."}}, results(id))) == "Yes."
        contents = server.requests[-1]["body"]["contents"]
    assert [list(each["parts"][0]) for each in contents] == [
        ["text"],
        ["functionCall"],
        ["functionResponse"],
        ["text"],
    ]


# --- another connection ---------------------------------------------------------------------------


def test_another_connection_continues_a_session() -> None:
    now = [0.0]
    emulator = Emulator(clock=lambda: now[0])
    with serve(emulator) as server:
        with opened(server) as socket:
            told = setup(sessionResumption={"transparent": True})
            refused = closing(socket, told)
            assert refused[0] == 1007, "transparent is a field of Vertex"
        with opened(server, VERTEX) as socket:
            told = setup(VERTEX_MODEL, sessionResumption={"transparent": True})
            (update,) = said(socket, told, asks("I am Bo."), last="sessionResumptionUpdate")[-1:]
        found = update["sessionResumptionUpdate"]
        assert (found["resumable"], found["lastConsumedClientMessageIndex"]) == (True, "2")
        again = setup(VERTEX_MODEL, sessionResumption={"handle": found["newHandle"]})
        with opened(server, VERTEX) as socket:
            said(socket, again, asks("Who am I?"))
        body = server.requests[-1]["body"]
        assert [each["parts"][0]["text"] for each in body["contents"]] == [
            "I am Bo.",
            f"{SAID}I am Bo.",
            "Who am I?",
        ]
        now[0] = 2 * 60 * 60 + 1
        with opened(server, VERTEX) as socket:
            assert closing(socket, again) == (1008, "BidiGenerateContent session not found")


def test_new_settings_are_used_from_then_on(server: Server) -> None:
    update = {"contextUpdate": {"systemInstruction": {"parts": [{"text": "Be brief."}]}}}
    with opened(server) as socket:
        said(socket, setup(), update, {"contextUpdate": {"tools": {"tools": []}}}, asks("Hi"))
    assert server.requests[-1]["body"]["systemInstruction"]["parts"] == [{"text": "Be brief."}]


# --- refusals -------------------------------------------------------------------------------------

INVALID = (1007, "Request contains an invalid argument.")
FIRST = (1007, "setup must be the first message and only the first")
BY_HAND = {"realtimeInputConfig": {"automaticActivityDetection": {"disabled": True}}}
BOT = {"role": "bot", "parts": [{"text": "."}]}
REFUSED: dict[str, tuple[list[Any], tuple[int, str]]] = {
    "not JSON": (["no json"], (1007, "Invalid JSON payload received. Unable to parse the body.")),
    "a list": (["[]"], (1007, "Invalid JSON payload received. Unable to parse the body.")),
    "nothing": ([{}], INVALID),
    "no setup": ([asks("Hi")], FIRST),
    "two setups": ([setup(), setup()], FIRST),
    "no model": ([{"setup": {}}], INVALID),
    "an unknown model": (
        [setup("models/gemini-3.8-flash")],
        (
            1008,
            "models/gemini-3.8-flash is not found for API version v1beta, or is not supported for "
            "bidiGenerateContent. Call ListModels t",
        ),
    ),
    "an unknown field": (
        [setup(mood=1)],
        (
            1007,
            "Invalid JSON payload received. Unknown name \"mood\" at 'setup': Cannot find field.",
        ),
    ),
    "a wrong type": (
        [setup(tools=[{"functionDeclarations": [{"name": {}}]}])],
        (
            1007,
            "Invalid value at 'setup.tools[0].function_declarations[0].name' (TYPE_STRING), "
            "Starting an object on a scalar field",
        ),
    ),
    "two modalities": (
        [setup(generationConfig={"responseModalities": ["AUDIO", "TEXT"]})],
        INVALID,
    ),
    "a picture": ([setup(generationConfig={"responseModalities": ["IMAGE"]})], INVALID),
    "a voice for texts": (
        [setup(generationConfig={**TEXT, "speechConfig": {"languageCode": "de-DE"}})],
        (1007, "Cannot extract voices from a non-audio request."),
    ),
    "a tool without a name": (
        [setup(tools=[{"functionDeclarations": [{"description": "?"}]}])],
        (1007, "* GenerateContentRequest.tools[0].function_declarations[0].name: "),
    ),
    "an unknown role": (
        [setup(), {"clientContent": {"turns": [BOT], "turnComplete": True}}],
        (1007, "Please use a valid role: user, model."),
    ),
    "an unknown handle": (
        [setup(sessionResumption={"handle": "none"})],
        (1008, "BidiGenerateContent session not found"),
    ),
    "hands beside detection": (
        [setup(), {"realtimeInput": {"activityStart": {}}}],
        (
            1007,
            "Explicit activity control is not supported when automatic activity detection is "
            "enabled.",
        ),
    ),
    "an end without a start": ([setup(**BY_HAND), {"realtimeInput": {"activityEnd": {}}}], INVALID),
    "an end of the stream by hand": (
        [setup(**BY_HAND), {"realtimeInput": {"audioStreamEnd": True}}],
        INVALID,
    ),
    "sound that is text": (
        [setup(), {"realtimeInput": {"audio": {"mimeType": "text/plain", "data": "AAAA"}}}],
        INVALID,
    ),
    "no results": ([setup(), {"toolResponse": {"functionResponses": []}}], INVALID),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_server_closes_with_code_and_reason(server: Server, case: str) -> None:
    messages, (code, reason) = REFUSED[case]
    with opened(server) as socket:
        found = closing(socket, *messages)
    assert found[0] == code
    assert found[1].startswith(reason)
    assert len(found[1].encode()) <= 123


@pytest.mark.parametrize(
    ("path", "headers", "code", "reason"),
    [
        (GEMINI, {"x-goog-api-key": "bad-key"}, 1007, "API key not valid."),
        (GEMINI, {"x-nothing": ""}, 1008, "Method doesn't allow unregistered callers"),
        (VERTEX, {"authorization": "Bearer bad"}, 1008, "Request had invalid authentication"),
    ],
)
def test_a_wrong_key_is_told_after_the_setup(
    server: Server, path: str, headers: dict[str, str], code: int, reason: str
) -> None:
    with opened(server, path, **headers) as socket:
        found = closing(socket, setup())
    assert (found[0], found[1].startswith(reason)) == (code, True)


def test_a_token_for_one_session_has_a_path_of_its_own(server: Server) -> None:
    token = {"authorization": "Token auth_tokens/abc"}
    with opened(server, f"{GEMINI}Constrained", **token) as socket:
        assert words(said(socket, setup(), asks("Hi"))) == f"{SAID}Hi"
    with opened(server, **token) as socket:
        assert closing(socket, setup())[0] == 1008


def test_a_lenient_emulator_takes_any_model_and_field() -> None:
    with serve(Emulator(lenient=True)) as server, opened(server) as socket:
        assert words(said(socket, setup("models/gemini-9-live", mood=1), asks("Hi"))) == f"{SAID}Hi"


def test_a_path_without_a_session_is_refused(server: Server) -> None:
    with pytest.raises(InvalidStatus) as caught:
        opened(server, "/v1beta/models").__enter__()
    assert caught.value.response.status_code == 200
    with pytest.raises(InvalidStatus) as caught:
        opened(server, GEMINI.replace("Bidi", "Mono")).__enter__()
    assert caught.value.response.status_code == 404


# --- our client on it -----------------------------------------------------------------------------


@pytest.mark.parametrize("drive", EVERY)
@pytest.mark.parametrize("provider", ["gemini", "gemini@vertex"])
def test_a_session_of_live_by_our_structs(drive: Drive, server: Server, provider: str) -> None:
    turn = Content(role="user", parts=[Part(text="What is the weather in Paris?")])
    told = live.ClientMessage(
        setup=live.types.Setup(
            model=MODEL if provider == "gemini" else EXPRESS_MODEL,
            tools=json.loads(json.dumps(TOOLS)),
            output_audio_transcription={},
        )
    )
    asked = live.ClientMessage(
        client_content=live.types.ClientContent(turns=[turn], turn_complete=True)
    )

    def work(door: Any) -> tuple[str, Any]:
        with door.connect(live.socket()) as socket:
            socket.send(told)
            assert socket.next().setup_complete is not None
            socket.send(asked)
            (call,) = socket.next().tool_call.function_calls
            result = FunctionResponse(id=call.id, name=call.name, response={"sky": "sunny"})
            given = live.types.LiveToolResponse(function_responses=[result])
            socket.send(live.ClientMessage(tool_response=given))
            heard, drift = "", []
            while not (content := (message := socket.next()).server_content).turn_complete:
                drift += unknown(message)
                if content.output_transcription is not None:
                    heard += content.output_transcription.text or ""
            return heard, drift

    options: dict[str, Any] = {"base_url": server.url, "timeouts": Timeouts(idle=20)}
    if provider != "gemini":
        options |= {"project": "p", "location": "us"}
    found = drive.session(work, provider, **options)
    assert found == ('Your tool get_weather says {"sky": "sunny"}.', [])


@pytest.mark.parametrize("drive", EVERY)
def test_a_refusal_is_the_error_of_our_client(drive: Drive, server: Server) -> None:
    sound = live.types.RealtimeInput(audio=Blob(mime_type="audio/pcm", data="AAAA"))

    def work(door: Any) -> Any:
        with door.connect(live.socket()) as socket:
            socket.send(live.ClientMessage(realtime_input=sound))
            with pytest.raises(errors.WireError) as caught:
                socket.next()
        return caught.value.code, caught.value.message

    options = {"base_url": server.url, "timeouts": Timeouts(idle=20)}
    assert drive.session(work, "gemini", **options) == ("1007", FIRST[1])
