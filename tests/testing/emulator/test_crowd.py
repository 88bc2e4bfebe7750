"""Which connection gives way: by what it waits for, by its address, by how long it has waited."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.serving.server import GatewayServer
from wire.testing.emulator import server
from wire.testing.emulator.crowd import Crowd, Phase, Repeated, peer_of
from wire.testing.emulator.limits import EmulatorLimits
from wire.testing.emulator.server import Server, _crowd


def crowd(most: int, share: int = 99, leaving: int = 2) -> Crowd[str]:
    return Crowd(most, lambda peer: share, leaving)


def test_the_peer_with_the_most_gives_way() -> None:
    full = crowd(6)
    for each in ("b1", "a1", "a2", "a3", "b2", "a4"):
        full.enter(each, each[0])
    gone = [full.enter(each, "c")[1] for each in ("c1", "c2", "c3", "c4")]
    assert gone == [["a1"], ["a2"], ["b1"], ["c1"]]


def test_what_most_wait_for_gives_way_so_that_newcomers_stay() -> None:
    full = crowd(5)
    for each in ("a1", "a2", "a3", "a4"):
        full.enter(each, "a")
        full.move(each, Phase.BODY)
    full.enter("b1", "b")
    assert full.enter("c1", "c") == (0, ["a1"])
    full.move("a2", Phase.READER)
    full.move("a3", Phase.READER)
    full.move("a4", Phase.READER)
    assert full.enter("d1", "d") == (0, ["a2"])


def test_a_peer_over_its_share_closes_its_own_or_is_refused() -> None:
    full = crowd(9, share=2)
    for each in ("b1", "b2", "a1", "a2"):
        full.enter(each, each[0])
    assert full.enter("a3", "a") == (0, ["a1"])
    full.move("a2", Phase.ANSWER)
    full.move("a3", Phase.ANSWER)
    assert full.enter("a4", "a") == (429, [])
    assert full.phase("a4") is Phase.LEAVING
    assert full.enter("c1", "c") == (0, [])


def test_refused_ones_take_no_place_and_are_few() -> None:
    full = crowd(1)
    full.enter("a", "a")
    full.move("a", Phase.ANSWER)
    assert [full.enter(each, "b") for each in "bcde"] == [
        *((503, []), (503, [])),
        *((503, ["b"]), (503, ["c"])),
    ]
    full.leave("a")
    assert full.enter("f", "b") == (0, [])


def test_one_that_has_left_stays_away() -> None:
    empty = crowd(1)
    assert empty.move("a", Phase.HEAD) == []
    empty.leave("a")
    assert (len(empty), empty.longest(), empty.phase("a")) == (0, None, Phase.LEAVING)


STEPS = st.lists(st.tuples(st.integers(0, 30), st.sampled_from("abc"), st.sampled_from(Phase)))


@given(STEPS, st.integers(1, 8), st.integers(1, 8))
def test_there_are_never_more_than_there_are_places(
    steps: list[tuple[int, str, Phase]], most: int, share: int
) -> None:
    full = Crowd[int](most, lambda peer: share, 2)
    gone: set[int] = set()
    for number, (member, peer, phase) in enumerate(steps):
        if phase is Phase.HEAD:
            refused, going = full.enter(number, peer)
            assert refused in (0, 429, 503)
        else:
            going = full.move(member, phase)
        gone.update(going)
        assert gone.isdisjoint(full)
        assert len(full) - full.count(Phase.LEAVING) <= most
        assert full.count(Phase.LEAVING) <= 2
    assert len(full) == sum(map(full.count, Phase))


@joined(
    ("address", "peer"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::/64"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("/run/socket", "/run/socket"),
    ],
)
def test_addresses_that_one_peer_has(address: str, peer: str) -> None:
    assert peer_of(address) == peer


def test_another_machine_gets_three_quarters_of_the_places() -> None:
    room = _crowd(EmulatorLimits(max_connections=8), 1.0)
    assert [room._share(each) for each in ("127.0.0.1", "192.0.2.1")] == [8, 6]
    room = _crowd(EmulatorLimits(max_connections=8, max_connections_per_peer=2), 1.0)
    assert [room._share(each) for each in ("127.0.0.1", "192.0.2.1")] == [2, 2]


def test_lines_of_different_kinds_are_counted_apart() -> None:
    lines = Repeated(10.0)
    said = [
        lines.line(kind, f"{kind}!", at) for at, kind in ((0, "a"), (1, "b"), (2, "a"), (11, "b"))
    ]
    assert said == ["a!", "b!", "", "b!"]


def test_few_descriptors_are_few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the 1,024 of Linux, 500 streams of one address fit into the emulator and the gateway."""
    monkeypatch.setattr(server, "_descriptors", lambda: 1024)
    places = [
        _crowd(EmulatorLimits(), kind.part_of_descriptors) for kind in (Server, GatewayServer)
    ]
    assert [each.most for each in places] == [768, 512]
    assert [each._share("127.0.0.1") for each in places] == [768, 512]
    monkeypatch.setattr(server, "_descriptors", lambda: 20_000)
    assert _crowd(EmulatorLimits(), 0.5).most == 2000
