"""`around=` and sessions over WebSocket: a session is one call, from its opening to its end."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

pytest.importorskip("websockets", reason="websockets is in the extra `live`")

from tests.around.test_around import Seen
from tests.http.drive import EVERY, Drive
from tests.http.frames import Peer, accepted, close, served, text
from tests.http.loopback import loopback, whole
from tests.telemetry import Telemetry
from wire import Pace, Timeouts, errors
from wire.around import Around, Change, FirstEvent, Give, Outgoing
from wire.openai import realtime
from wire.openai.realtime import ClientEvent

CALL = realtime.socket("gpt-realtime")
UPDATE = ClientEvent(type="session.update")


def echo(peer: Peer) -> None:
    peer.send(text({"type": "session.created"}))
    while peer.message() is not None:
        peer.send(text({"type": "session.updated"}))


def talk(door: Any) -> Any:
    with door.connect(CALL) as socket:
        socket.next()
        socket.send(UPDATE)
        socket.next()
    return socket.account


def session(drive: Drive, work: Any, script: Any = echo, **options: Any) -> Any:
    with loopback(script if script.__code__.co_argcount > 1 else served(script)) as server:
        return drive.session(work, provider="openai", base_url=f"{server.url}/v1", **options)


@pytest.mark.parametrize("drive", EVERY)
def test_a_session_and_its_moments(drive: Drive) -> None:
    seen = Seen()
    account = session(drive, talk, around=seen)
    assert seen.names == ["AttemptStarted", "HeadReceived", "FirstEvent", "CallEnded", "closed"]
    (outgoing,) = seen.outgoing
    assert (outgoing.is_session, outgoing.is_stream, outgoing.model) == (
        True,
        False,
        "gpt-realtime",
    )
    assert outgoing.request is None
    ended = seen.moments[-1]
    assert ended.result is None
    assert ended.account is account
    assert (account.sent_events, account.events, account.status) == (1, 2, 101)
    assert account.sent == len(b'{"type":"session.update"}')


@pytest.mark.parametrize("drive", EVERY)
def test_an_opening_that_is_repeated_and_an_end_by_an_error(drive: Drive) -> None:
    seen = Seen()

    def script(number: int, request: bytes) -> list[Any]:
        if not number:
            return [whole({}, 503)]
        return [accepted(request), text({"type": "x"}), close(1011, "Internal")]

    def work(door: Any) -> None:
        with door.connect(CALL) as socket:
            socket.next()
            with pytest.raises(errors.ServerError, match="Internal"):
                socket.next()

    session(drive, work, script, around=seen)
    assert seen.names == [
        *("AttemptStarted", "HeadReceived", "AttemptRefused", "AttemptFailed"),
        *("AttemptStarted", "HeadReceived", "FirstEvent", "CallFailed", "closed"),
    ]
    assert seen.moments[-1].error.message == "Internal"


@pytest.mark.parametrize("drive", EVERY)
def test_an_opening_that_fails(drive: Drive) -> None:
    seen = Seen()
    with pytest.raises(errors.NotFoundError):
        session(drive, talk, lambda number, request: [whole({}, 404)], around=seen)
    assert seen.names == [
        *("AttemptStarted", "HeadReceived", "AttemptFailed", "CallFailed", "closed")
    ]


@pytest.mark.parametrize("drive", EVERY)
def test_an_opening_may_be_changed_and_a_session_not_be_given(drive: Drive) -> None:
    def with_header(outgoing: Outgoing) -> Around:
        call = msgspec.structs.replace(outgoing.call, headers={"x-tide": "high"})
        yield Change(call)

    heads: list[bytes] = []

    def script(number: int, request: bytes) -> Any:
        heads.append(request)
        return served(echo)(number, request)

    session(drive, talk, script, around=with_header)
    assert b"x-tide: high" in heads[0].lower()

    def giving(outgoing: Outgoing) -> Around:
        yield Give("anything")

    with pytest.raises(errors.ConfigurationError, match="giving yielded a Give after its start"):
        session(drive, talk, around=giving)


@pytest.mark.parametrize("drive", EVERY)
def test_an_error_of_a_function_ends_the_session(drive: Drive) -> None:
    def refusing(outgoing: Outgoing) -> Around:
        while True:
            if isinstance((yield), FirstEvent):
                raise errors.BadRequestError("not today")

    def work(door: Any) -> None:
        with door.connect(CALL) as socket:
            for _ in range(2):
                with pytest.raises(errors.BadRequestError, match="not today"):
                    socket.next()

    session(drive, work, around=refusing)


@pytest.mark.parametrize("drive", EVERY)
def test_a_session_is_one_span_with_its_account(drive: Drive) -> None:
    telemetry = Telemetry()
    account = session(drive, talk, around=telemetry.tracing())
    (span,) = telemetry.spans
    assert span.name == "session gpt-realtime"
    found = {key: value for key, value in span.attributes.items() if key.startswith("wire.")}
    assert found == {
        "wire.attempts": 1,
        "wire.provider": "openai",
        "wire.session.bytes_received": account.received,
        "wire.session.bytes_sent": account.sent,
        "wire.session.messages_received": 2,
        "wire.session.messages_sent": 1,
    }
    assert [each.name for each in span.events] == ["wire.attempt", "wire.head", "wire.first_chunk"]


@pytest.mark.parametrize("drive", EVERY)
def test_a_session_that_fails_sets_the_status_of_its_span(drive: Drive) -> None:
    telemetry = Telemetry()

    def work(door: Any) -> None:
        with pytest.raises(errors.BadRequestError), door.connect(CALL) as socket:
            socket.next()

    session(drive, work, lambda peer: peer.send(close(1007, "Bad")), around=telemetry.tracing())
    (span,) = telemetry.spans
    assert span.attributes["error.type"] == "BadRequestError"
    assert not span.status.is_ok


@pytest.mark.parametrize("drive", EVERY)
@pytest.mark.parametrize("around", [None, Seen()], ids=["alone", "with around"])
def test_a_session_is_one_line_of_the_log(
    drive: Drive, around: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "wire")
    session(drive, talk, around=around)
    (record,) = [each for each in caplog.records if each.name == "wire"]
    facts = vars(record)
    assert (facts["outcome"], facts["model"], facts["events"]) == ("answered", "gpt-realtime", 2)
    assert facts["sent_events"] == 1
    assert "1 message sent" in record.getMessage()


@pytest.mark.parametrize("drive", EVERY)
def test_a_session_holds_a_place_of_the_pace_until_its_end(drive: Drive) -> None:
    pace = Pace(concurrent=1)
    short = msgspec.structs.replace(CALL, timeouts=Timeouts(total=0.2))

    def work(door: Any) -> None:
        with door.connect(CALL) as socket:
            socket.next()
            with pytest.raises(errors.TotalClock, match="waited for its turn"):
                door.connect(short).__enter__()
        with door.connect(CALL) as socket:
            assert socket.next().type == "session.created"

    session(drive, work, around=pace)
