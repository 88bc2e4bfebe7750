"""Answers that take several requests: they are one answer, and nothing of them is read twice."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from typing import Any

import pytest

from tests.chat.test_chat import Door
from tests.chat.test_chat import door as door
from tests.joined import joined
from wire import Chat, Client, Done, Message, TextDelta, Timeouts, gemini
from wire.around import Around, CallEnded
from wire.catalogue.stops import Stop
from wire.core.memory import PARTIAL, notes
from wire.core.retry import NONE, Retry
from wire.errors import ConnectionLost, OutputError, ServerError, StreamIncomplete
from wire.gemini import continuation
from wire.http.sending import Attempt
from wire.neutral.messages import Event, Reply, Text, ToolCall
from wire.testing.emulator import Emulator, EmulatorTransport

WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty twenty-one twenty-two twenty-three twenty-four"
)
THREE = {"say": {"text": WORDS, "hops": 3}}
TOKENS = ["dG9rZW4x", "dG9rZW4y", "dG9rZW4z"]
AGAIN: dict[str, Any] = {"retry": Retry(base=0.0)}


def answer(text: str, finish: str | None = None, token: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": [{"text": text}], "role": "model"}}
    if finish is not None:
        candidate["finishReason"] = finish
    if token is not None:
        candidate["continuationToken"] = token
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    return {"candidates": [candidate], "usageMetadata": usage}


def streams(*bodies: list[dict[str, Any]] | str) -> Emulator:
    left = iter(bodies)

    def step(request: Any) -> dict[str, Any]:
        body = next(left)
        return {"fault": body, "stream": []} if isinstance(body, str) else {"stream": body}

    return Emulator(step, lenient=True)


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def bodies(emulator: Emulator) -> list[Any]:
    return [request["body"] for request in emulator.requests]


def both(door: Door, make: Any, *args: Any, **options: Any) -> list[Reply]:
    """The same answer whole and as a stream, each from an emulator of its own."""
    whole = door.ask(make(), *args, **options)
    events, streamed = door.stream(make(), *args, **options)
    assert [type(event) for event in events].count(Done) == 1
    assert text_of(events) == streamed.text
    return [whole, streamed]


# --- whole answers --------------------------------------------------------------------------------


def test_three_requests_are_one_answer(door: Door) -> None:
    for reply in both(door, lambda: Emulator([THREE]), "Count."):
        assert (reply.text, reply.stop) == (WORDS, Stop("end", "STOP"))
        assert [hop.stop.reason for hop in reply.hops] == ["pause", "pause", "end"]
        assert [str(note) for note in reply.notes] == [
            "the answer took 3 requests; its parts are joined"
        ]
        usages = [hop.usage for hop in reply.hops]
        assert reply.usage == sum(usages, type(usages[0])())
        # Each request counts what was written before it; the first has the prompt alone.
        assert usages[0].input < usages[1].input < usages[2].input
        total = sum(hop.cost.total for hop in reply.hops)
        assert reply.cost.total == total > reply.hops[0].cost.total > 0
        assert reply.answer is reply.hops[-1].answer


def test_the_same_request_is_sent_with_the_token_and_nothing_else(door: Door) -> None:
    for stream in (False, True):
        emulator = Emulator([THREE])
        (door.stream if stream else door.ask)(emulator, "Count.", max_tokens=60_000)
        first, *others = bodies(emulator)
        assert "continuationToken" not in first
        assert first["generationConfig"] == {"maxOutputTokens": 60_000}
        tokens = [body.pop("continuationToken") for body in others]
        assert others == [first, first]
        assert len(set(tokens)) == 2


def test_parts_are_joined_in_order_and_not_merged(door: Door) -> None:
    model = "gemini:gemini-3.8-flash"
    for reply in both(door, lambda: Emulator([THREE]), "Count.", model=model):
        of_hops = [part for hop in reply.hops for part in hop.message.parts]
        assert list(reply.message.parts) == of_hops
        assert len([part for part in of_hops if isinstance(part, Text) and part.text]) == 3
        again = Chat(model, api_key="fake-key")
        sent = json.loads(again.call(messages=[Message.user("Count."), reply.message, NEXT]).body)
        parts = sent["contents"][1]["parts"]
        assert "".join(part["text"] for part in parts) == WORDS
        assert [part.get("thoughtSignature", "") for part in parts] == [
            part.signature for part in of_hops if isinstance(part, Text)
        ]
        again.close()


NEXT = Message.user("Go on.")


def test_calls_wait_for_the_last_request(door: Door) -> None:
    def tide(port: str) -> str:
        """When the tide is high."""
        return port

    calls = [{"name": "tide", "args": {"port": port}} for port in ("Brest", "Dover")]
    say = {"say": {"text": WORDS, "hops": 3, "calls": calls}}
    for reply in both(door, lambda: Emulator([say]), "When?", tools=[tide]):
        assert (reply.stop.reason, reply.text) == ("tool_calls", WORDS)
        assert [call.arguments for call in reply.tool_calls] == [
            {"port": "Brest"},
            {"port": "Dover"},
        ]
        assert all(not hop.tool_calls for hop in reply.hops[:2])


def test_calls_of_two_requests_have_ids_of_their_own(door: Door) -> None:
    def body(port: str, finish: str, token: str | None) -> dict[str, Any]:
        made = answer("", finish, token)
        call = {"functionCall": {"name": "tide", "args": {"port": port}}}
        made["candidates"][0]["content"]["parts"] = [call]
        return made

    hops = [body("Brest", "CONTINUATION", TOKENS[0]), body("Dover", "STOP", None)]
    whole = door.ask(streams(*([each] for each in hops)), "When?")
    events, streamed = door.stream(streams(*([each] for each in hops)), "When?")
    ids = [[call.id for call in reply.tool_calls] for reply in (whole, streamed)]
    assert [len(set(each)) for each in ids] == [2, 2]
    told = [event.call for event in events if hasattr(event, "call")]
    assert told == list(streamed.tool_calls)
    assert all(isinstance(call, ToolCall) for call in told)


@dataclass
class Port:
    name: str
    depth: int


def test_an_output_is_read_from_all_requests(door: Door) -> None:
    text = '{"name": "the port of Brest at the end of the land", "depth": 12}'
    say = {"say": {"text": text, "hops": 3}}
    for reply in both(door, lambda: Emulator([say]), "Which?", output=Port):
        assert reply.output == Port("the port of Brest at the end of the land", 12)
        assert (len(reply.hops), reply.reasks) == (3, ())


def test_an_output_that_does_not_fit_is_asked_for_again(door: Door) -> None:
    wrong = {"say": {"text": '{"name": "the port of Brest", "depth": "deep"}', "hops": 2}}
    right = {"say": {"text": '{"name": "the port of Brest", "depth": 12}', "hops": 2}}
    reply = door.ask(Emulator([wrong, right], lenient=True), "Which?", output=Port)
    assert (reply.output, len(reply.reasks), len(reply.hops)) == (
        Port("the port of Brest", 12),
        1,
        2,
    )
    assert reply.cost.total == reply.reasks[0].cost.total + sum(h.cost.total for h in reply.hops)
    with pytest.raises(OutputError):
        door.ask(Emulator([wrong]), "Which?", output=Port, output_retries=0)


def test_those_around_see_each_request_of_a_whole_answer(door: Door) -> None:
    seen: list[Any] = []

    def watch(call: Any) -> Around:
        while True:
            seen.append((yield))

    door.ask(Emulator([THREE]), "Count.", chat={"around": watch})
    ended = [each.result.stop.reason for each in seen if isinstance(each, CallEnded)]
    assert ended == ["pause", "pause", "end"]


@joined(
    ("model", "most", "streams"),
    [
        ("gemini-4-argon", 90_000, True),
        ("gemini-4-argon", 32_768, False),
        ("gemini-4-argon", None, False),
        ("gemini-3.8-flash", 65_000, False),
    ],
)
def test_a_high_limit_is_asked_for_as_a_stream(
    door: Door, model: str, most: int | None, streams: bool
) -> None:
    with Chat(f"gemini:{model}", api_key="fake-key") as chat:
        target = chat.call("Count.", max_tokens=most).target
    assert target.endswith(":streamGenerateContent?alt=sse" if streams else ":generateContent")
    emulator = Emulator([THREE], lenient=True)
    reply = door.ask(emulator, "Count.", model=f"gemini:{model}", max_tokens=most)
    assert (reply.text, len(reply.hops), reply.stop) == (WORDS, 3, Stop("end", "STOP"))
    assert (reply.notes[0].path == "max_tokens") == streams


# --- where it ends --------------------------------------------------------------------------------

ENDS = {
    "the token that was sent comes back": (
        [answer("a", "CONTINUATION", TOKENS[0]), answer("b", "CONTINUATION", TOKENS[0])],
        "ab",
        Stop("pause", "CONTINUATION", then="continue_token", token=TOKENS[0]),
    ),
    "no token": (
        [answer("a", "CONTINUATION", TOKENS[0]), answer("b", "CONTINUATION")],
        "ab",
        Stop("pause", "CONTINUATION", then="nothing"),
    ),
    "no token at all": (
        [answer("a", "CONTINUATION")],
        "a",
        Stop("pause", "CONTINUATION", then="nothing"),
    ),
    "nothing was made": (
        [
            answer("a", "CONTINUATION", TOKENS[0]),
            {
                "candidates": [{"finishReason": "CONTINUATION", "continuationToken": TOKENS[1]}],
                "usageMetadata": {"promptTokenCount": 15, "totalTokenCount": 15},
            },
        ],
        "a",
        Stop("pause", "CONTINUATION", then="continue_token", token=TOKENS[1]),
    ),
    "the budget is spent": (
        [answer("a", "CONTINUATION", TOKENS[0]), answer("b", "MAX_TOKENS", TOKENS[1])],
        "ab",
        Stop("length", "MAX_TOKENS", token=TOKENS[1]),
    ),
    "filtered": (
        [answer("a", "CONTINUATION", TOKENS[0]), answer("b", "SAFETY", TOKENS[1])],
        "ab",
        Stop("filter", "SAFETY"),
    ),
    "all of the next part is filtered": (
        [
            answer("a", "CONTINUATION", TOKENS[0]),
            {"candidates": [{"finishReason": "SAFETY"}]},
        ],
        "a",
        Stop("filter", "SAFETY"),
    ),
    "the prompt is blocked": (
        [answer("a", "CONTINUATION", TOKENS[0]), {"promptFeedback": {"blockReason": "SAFETY"}}],
        "a",
        Stop("filter", "SAFETY"),
    ),
    "only thoughts were made, then it ended": (
        [
            answer("a", "CONTINUATION", TOKENS[0]),
            {
                "candidates": [{"finishReason": "CONTINUATION", "continuationToken": TOKENS[1]}],
                "usageMetadata": {"promptTokenCount": 15, "thoughtsTokenCount": 9},
            },
            answer("b", "STOP"),
        ],
        "ab",
        Stop("end", "STOP"),
    ),
}


@joined(("hops", "text", "stop"), ENDS.values(), ids=ENDS)
def test_an_answer_ends(door: Door, hops: list[Any], text: str, stop: Stop) -> None:
    for stream in (False, True):
        emulator = streams(*([hop] for hop in hops))
        reply = door.stream(emulator, "Hi")[1] if stream else door.ask(emulator, "Hi")
        assert (reply.text, reply.stop, len(emulator.requests)) == (text, stop, len(hops))
        assert len(reply.hops) == (len(hops) if len(hops) > 1 else 0)


def test_there_is_a_most_of_requests(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(continuation, "MOST_HOPS", 3)
    endless = [[answer("a", "CONTINUATION", f"dG9r{number:04}")] for number in range(9)]
    for stream in (False, True):
        emulator = streams(*endless)
        reply = door.stream(emulator, "Hi")[1] if stream else door.ask(emulator, "Hi")
        assert (reply.text, reply.stop.reason, len(emulator.requests)) == ("aaa", "pause", 3)


def test_an_answer_of_several_candidates_is_not_followed(door: Door) -> None:
    made = answer("a", "CONTINUATION", TOKENS[0])
    made["candidates"].append({**made["candidates"][0], "index": 1})
    for stream in (False, True):
        emulator = streams([made], [answer("b", "STOP")])
        if stream:
            reply = door.stream(emulator, "Hi")[1]
        else:
            emulator = Emulator([{"answer": made}])
            reply = door.ask(emulator, "Hi")
        assert (reply.stop.reason, reply.stop.token) == ("pause", TOKENS[0])
        assert len(emulator.requests) == 1


def test_an_error_of_a_further_request_has_the_answer_so_far(door: Door) -> None:
    broken = {"fault": "500", "match": {"number": 2}}
    for stream in (False, True):
        emulator = Emulator([{**THREE, "match": {"number": 1}}, broken])
        with pytest.raises(ServerError) as raised:
            (door.stream if stream else door.ask)(emulator, "Count.")
        partial = raised.value.partial
        assert isinstance(partial, Reply)
        assert WORDS.startswith(partial.text)
        assert partial.text
        assert not partial.stop.complete
        assert partial.stop.token is not None
        assert len(emulator.requests) == 2


def test_a_further_request_that_fails_is_retried(door: Door) -> None:
    broken = {"fault": "503", "match": {"number": 2}}
    for stream in (False, True):
        emulator = Emulator([{**THREE, "match": {"number": 1}}, broken])
        ask = door.stream if stream else door.ask
        asked = ask(emulator, "Count.", chat=AGAIN)
        reply = asked[1] if isinstance(asked, tuple) else asked
        assert (reply.text, len(reply.hops), len(emulator.requests)) == (WORDS, 3, 4)


# --- streams that break off -----------------------------------------------------------------------


@joined("fault", ["cut; after=2", "cut; after=3", "end; after=2", "reset; after=3"])
def test_a_stream_that_broke_off_after_a_token_goes_on_there(door: Door, fault: str) -> None:
    emulator = Emulator([{"say": {"text": WORDS, "hops": 2}, "fault": fault}])
    events, reply = door.stream(emulator, "Count.", chat=AGAIN)
    assert text_of(events) == reply.text == WORDS
    assert len(emulator.requests) == len(reply.hops) == 3
    assert reply.stop == Stop("end", "STOP")
    assert PARTIAL not in reply.notes


def test_a_further_request_that_broke_off_at_once_is_sent_again(door: Door) -> None:
    first = [answer("a", "CONTINUATION", TOKENS[0])]
    emulator = streams(first, "cut; after=0", [answer("b", "STOP")])
    events, reply = door.stream(emulator, "Hi", chat=AGAIN)
    assert (text_of(events), reply.text, len(emulator.requests)) == ("ab", "ab", 3)
    assert [body.get("continuationToken") for body in bodies(emulator)] == [None, *TOKENS[:1] * 2]


def test_a_text_that_no_token_covers_is_not_asked_for_again(door: Door) -> None:
    """The server would repeat it."""
    chunks = [answer("a", None, TOKENS[0]), answer("b")]
    emulator = streams(chunks, [answer("b", "STOP")])
    with pytest.raises(StreamIncomplete) as raised:
        door.stream(emulator, "Hi", chat=AGAIN)
    partial = raised.value.partial
    assert isinstance(partial, Reply)
    assert (partial.text, partial.stop.complete, partial.stop.token) == ("ab", False, TOKENS[0])
    assert len(emulator.requests) == 1


def test_a_stream_that_broke_off_before_the_first_token_is_an_error(door: Door) -> None:
    emulator = Emulator([{**THREE, "fault": "cut; after=1"}])
    with pytest.raises(ConnectionLost) as raised:
        door.stream(emulator, "Count.", chat=AGAIN)
    assert isinstance(raised.value.partial, Reply)
    assert PARTIAL in raised.value.partial.notes
    assert len(emulator.requests) == 1


def test_without_retries_a_stream_that_broke_off_is_an_error(door: Door) -> None:
    emulator = Emulator([{**THREE, "fault": "cut; after=2"}])
    with pytest.raises(ConnectionLost) as raised:
        door.stream(emulator, "Count.", chat={"retry": NONE})
    assert raised.value.partial.stop.token is not None  # type: ignore[union-attr]


def test_each_request_has_its_own_total_time_and_one_sent_again_the_rest_of_it(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    totals: list[float | None] = []
    resumed = Attempt.resumed

    def seen(self: Attempt, *args: Any, **options: Any) -> Attempt:
        attempt = resumed(self, *args, **options)
        totals.append(attempt.clocks.total)
        return attempt

    monkeypatch.setattr(Attempt, "resumed", seen)
    emulator = Emulator([{"say": {"text": WORDS, "hops": 2}, "fault": "cut; after=2"}])
    timeouts = Timeouts(total=500.0)
    door.stream(emulator, "Count.", chat={**AGAIN, "timeouts": timeouts})
    again, further = totals
    assert again is not None
    assert again < 500.0
    assert further == 500.0


def test_the_reply_so_far_is_of_all_requests() -> None:
    with Chat(
        "gemini:gemini-3.8-flash",
        api_key="fake-key",
        http=EmulatorTransport(Emulator([THREE])),
    ) as chat:
        seen = []
        with chat.stream("Count.") as events:
            for event in events:
                if isinstance(event, TextDelta):
                    seen.append((event.text, events.partial()))
            assert events.reply().text == WORDS
    text = ""
    for piece, partial in seen:
        text += piece
        assert partial.text.startswith(text)
        assert (partial.stop.complete, PARTIAL in partial.notes) == (False, True)


# --- switched off ---------------------------------------------------------------------------------


@joined("of_chat", [False, True])
def test_a_long_answer_is_not_followed_if_that_is_switched_off(door: Door, of_chat: bool) -> None:
    off = {"continue_long": False}
    options: dict[str, Any] = {"chat": off} if of_chat else off
    for stream in (False, True):
        emulator = Emulator([THREE])
        asked = (door.stream if stream else door.ask)(emulator, "Count.", **options)
        reply = asked[1] if isinstance(asked, tuple) else asked
        assert WORDS.startswith(reply.text)
        assert (reply.stop.reason, reply.stop.next, reply.hops) == ("pause", "continue_token", ())
        assert len(emulator.requests) == 1
        # The token goes back by hand.
        token = {"gemini": {"continuationToken": reply.stop.token}}
        rest = door.ask(emulator, "Count.", options=token)
        assert reply.text + rest.text == WORDS


def test_a_part_of_an_output_is_not_asked_for_again(door: Door) -> None:
    say = {"say": {"text": '{"name": "the port of Brest", "depth": 12}', "hops": 2}}
    for stream in (False, True):
        emulator = Emulator([say])
        with pytest.raises(OutputError, match="it stopped with 'CONTINUATION'"):
            ask = door.stream if stream else door.ask
            ask(emulator, "Which?", output=Port, continue_long=False)
        assert len(emulator.requests) == 1


# --- the raw door ---------------------------------------------------------------------------------


def test_the_raw_door_has_the_field_and_sends_one_request() -> None:
    request = gemini.GenerateContentRequest(contents=gemini.contents("Count."))
    emulator = Emulator([THREE])
    with Client("gemini", api_key="fake-key", http=EmulatorTransport(emulator)) as client:
        first = client.send(gemini.generate_content("gemini-3.8-flash", request))
        token = first.candidates[0].continuation_token  # type: ignore[index]
        again = gemini.GenerateContentRequest(
            contents=gemini.contents("Count."), continuation_token=token
        )
        assert gemini.check(again, "gemini-3.8-flash") == []
        second = client.send(gemini.generate_content("gemini-3.8-flash", again))
        call = gemini.stream_generate_content("gemini-3.8-flash", again)
        with client.stream(call) as chunks:
            assert chunks.result().text == second.text
    assert WORDS.startswith((first.text or "") + (second.text or ""))
    assert bodies(emulator)[1]["continuationToken"] == token
    assert len(emulator.requests) == 3
    assert notes(second) == ()


def test_a_call_that_follows_can_be_pickled() -> None:
    with Chat("gemini:gemini-3.8-flash", api_key="fake-key") as chat:
        assert pickle.loads(pickle.dumps(chat.call("Hi"))).follow is continuation.follow
