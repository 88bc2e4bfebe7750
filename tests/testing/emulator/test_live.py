"""Sessions of Gemini Live of the emulator, on loopback."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("websockets", reason="websockets is in the extra `live`")

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.http.drive import EVERY, Drive
from wire import Timeouts, errors, unknown
from wire.gemini import live
from wire.gemini.types import Blob, Content, FunctionResponse, Part
from wire.testing.emulator import Emulator, Server, serve
from wire.testing.emulator.media import PIXEL

GEMINI = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
VERTEX = "/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent"
MODEL = "models/gemini-2.5-flash-native-audio-latest"
VERTEX_MODEL = "projects/p/locations/us/publishers/google/models/gemini-live-2.5-flash"
EXPRESS_MODEL = "publishers/google/models/gemini-live-2.5-flash"
"""With a key in place of a token and a project."""
TOOL = {
    "name": "get_weather",
    "description": "Weather of a city",
    "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}},
}
TOOLS = [{"functionDeclarations": [TOOL]}]
TEXT = {"responseModalities": ["TEXT"]}
SAID = "This is an emulator, and no model. You said: "
SOUND = {"mimeType": "audio/pcm;rate=16000", "data": base64.b64encode(bytes(320)).decode()}
STALLED = {"say": "One two three four five six.", "fault": "stall; after=1; seconds=60"}
"""Its first message is "One two three "."""


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(Emulator()) as running:
        yield running


def opened(server: Server, path: str = GEMINI, **headers: str) -> ClientConnection:
    url = server.url.replace("http://", "ws://") + path
    key = {"authorization": "Bearer token"} if path == VERTEX else {"x-goog-api-key": "fake-key"}
    return connect(url, additional_headers=headers or key, proxy=None)


def setup(model: str = MODEL, **more: Any) -> dict[str, Any]:
    return {"setup": {"model": model, "generationConfig": TEXT, **more}}


def asks(text: str, complete: bool = True) -> dict[str, Any]:
    turn = {"role": "user", "parts": [{"text": text}]}
    return {"clientContent": {"turns": [turn], "turnComplete": complete}}


def results(*ids: str, **more: Any) -> dict[str, Any]:
    every = [{"id": id, "name": "get_weather", "response": {"sky": "sunny"}, **more} for id in ids]
    return {"toolResponse": {"functionResponses": every}}


def read(socket: ClientConnection, last: str = "turnComplete") -> list[dict[str, Any]]:
    """What comes, up to the first message that has a key, at its top or in its content."""
    got: list[dict[str, Any]] = []
    while not got or last not in got[-1] | got[-1].get("serverContent", {}):
        data = socket.recv(timeout=20)
        assert isinstance(data, bytes), "Google sends binary frames"
        got.append(json.loads(data))
    return got


def said(socket: ClientConnection, *messages: Any, last: str = "turnComplete") -> list[Any]:
    for each in messages:
        socket.send(json.dumps(each))
    return read(socket, last)


def words(messages: list[dict[str, Any]]) -> str:
    turns = (each.get("serverContent", {}).get("modelTurn", {}) for each in messages)
    return "".join(part.get("text", "") for turn in turns for part in turn.get("parts", ()))


def kinds(messages: list[dict[str, Any]]) -> list[str]:
    """The kinds of messages, runs of one kind as one."""
    found: list[str] = []
    for each in messages:
        kind = "+".join(key for key in each if key != "serverContent")
        for key, value in each.get("serverContent", {}).items():
            kind = "+".join(filter(None, [kind, key]))
            if key == "modelTurn":
                kind = "thought" if value["parts"][0].get("thought") else "modelTurn"
        if found[-1:] != [kind]:
            found.append(kind)
    return found


def closing(socket: ClientConnection, *messages: Any) -> tuple[int, str]:
    """Why the server closes the session."""
    for each in messages:
        socket.send(each if isinstance(each, (str, bytes)) else json.dumps(each))
    with pytest.raises(ConnectionClosed) as caught:
        while True:
            socket.recv(timeout=20)
    assert caught.value.rcvd is not None
    return caught.value.rcvd.code, caught.value.rcvd.reason


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
        [setup(), {"clientContent": {"turns": [{"role": "bot", "parts": [{"text": "."}]}]}}],
        INVALID,
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
    if case == "an unknown role":
        messages = [messages[0], {"clientContent": {**messages[1]["clientContent"]}}]
        messages[1]["clientContent"]["turnComplete"] = True
        reason = "Please use a valid role: user, model."
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


# --- recorded conversations -----------------------------------------------------------------------

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "realtime.jsonl.gz"
_OUTPUT = {"outputTranscription", "modelTurn"}


def recorded() -> list[Any]:
    with gzip.open(CORPUS, "rt", encoding="utf-8", newline="\n") as lines:
        found = [json.loads(line) for line in lines]
    return [each for each in found if each["endpoint"] == "live"]


def phases(messages: list[dict[str, Any]]) -> list[Any]:
    """The kinds of messages in order; a run of speech and transcripts is one, as a set.

    How speech is cut, and what comes of it before its transcript, differs from turn to turn.
    """
    found: list[Any] = []
    for kind in kinds(messages):
        if kind not in _OUTPUT:
            # A connection without search sends empty metadata, and an empty content.
            found += [each for each in [kind.removesuffix("+groundingMetadata")] if each]
        elif found and isinstance(found[-1], set):
            found[-1].add(kind)
        else:
            found.append({kind})
    return found


def step_of(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The step of a script that says what was recorded."""
    say: dict[str, Any] = {"text": "", "thoughts": "", "calls": []}
    for each in messages:
        content = each.get("serverContent", {})
        say["text"] += content.get("outputTranscription", {}).get("text", "")
        for part in content.get("modelTurn", {}).get("parts", ()):
            say["thoughts"] += part.get("text", "") if part.get("thought") else ""
        for call in each.get("toolCall", {}).get("functionCalls", ()):
            say["calls"].append({"name": call["name"], "args": call["args"]})
    return {"say": say}


def test_recorded_conversations_are_answered_as_they_were() -> None:
    if not CORPUS.exists():
        pytest.skip("the corpus of recorded traffic is not beside this checkout")
    records = recorded()
    assert len(records) >= 5
    for record in records:
        compare(record)


def compare(record: dict[str, Any]) -> None:
    groups: list[tuple[list[Any], list[Any]]] = [([], [])]
    for each in record["messages"]:
        sent, got = groups[-1]
        if each["direction"] == "sent" and got:
            groups.append(([], []))
        groups[-1][each["direction"] != "sent"].append(json.loads(each["data"]))
    script = [step_of(got) for _, got in groups[1:]]
    is_vertex = record["model"].startswith("publishers/")
    with serve(Emulator(script)) as server:
        with opened(server, VERTEX if is_vertex else GEMINI) as socket:
            ids: dict[str, str] = {}
            for sent, got in groups:
                text = "\n".join(map(json.dumps, sent))
                for old, new in ids.items():
                    text = text.replace(old, new)
                last = next(iter(got[-1]))
                found = said(
                    socket,
                    *map(json.loads, text.splitlines()),
                    last="turnComplete" if last == "serverContent" else last,
                )
                ours, theirs = phases(found), phases(got)
                assert len(ours) == len(theirs), (record["id"], ours, theirs)
                for one, other in zip(ours, theirs, strict=True):
                    assert one == other or other <= one, (record["id"], ours, theirs)
                for old, new in zip(calls_of(got), calls_of(found), strict=True):
                    ids[old["id"]] = new["id"]


def calls_of(messages: list[dict[str, Any]]) -> list[Any]:
    return [call for each in messages for call in each.get("toolCall", {}).get("functionCalls", ())]
