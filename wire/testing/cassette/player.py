"""Answers requests from a loaded cassette. Each interaction is played once (C-19)."""

from __future__ import annotations

import os
import threading
from collections import defaultdict, deque
from typing import NamedTuple

from wire.core.files import read_whole
from wire.errors import CassetteError
from wire.testing.cassette.bodies import body_bytes, body_chunks
from wire.testing.cassette.file import End, load
from wire.testing.cassette.leaks import Known
from wire.testing.cassette.matching import closest, compared, listed
from wire.testing.cassette.sent import Sent


class Played(NamedTuple):
    """A recorded response."""

    status: int
    headers: dict[str, str]
    chunks: list[bytes]
    end: End


class Player:
    """Answers requests from a loaded cassette."""

    def __init__(self, path: str | os.PathLike[str], again: str) -> None:
        self._name = os.fspath(path)
        self._again = again.format(path=self._name)
        try:
            data = read_whole(path, CassetteError)
        except CassetteError as error:
            raise CassetteError(f"{error.message}; {self._again}") from None
        self._interactions = load(data, self._name).interactions
        self._recorded = [
            compared(each.request.method, each.request.url, body_bytes(each.request.body))
            for each in self._interactions
        ]
        self._left: defaultdict[str, deque[int]] = defaultdict(deque)
        for index, each in enumerate(self._recorded):
            self._left[each.key].append(index)
        self._lock = threading.Lock()

    def play(self, sent: Sent) -> Played:
        """Returns the next recorded response of a matching request.

        Raises `CassetteError` with the differences to the closest recorded request.
        """
        request = compared(sent.method, sent.url, sent.body)
        with self._lock:
            left = self._left.get(request.key)
            index = left.popleft() if left else None
        if index is None:
            known = Known()
            known.learn_request(sent.url, sent.headers)
            known.learn_environment(os.environ)
            raise CassetteError(known.masked(self._unmatched(sent)))
        response = self._interactions[index].response
        return Played(response.status, response.headers, body_chunks(response.body), response.end)

    def _unmatched(self, sent: Sent) -> str:
        request = compared(sent.method, sent.url, sent.body)
        times = sum(each.key == request.key for each in self._recorded)
        if times:
            reason = (
                f"it is recorded {times} time{'s' if times > 1 else ''}, and each was played once"
            )
        elif (near := closest(request, self._recorded)) is not None:
            reason = f"the closest is interactions[{near[0]}], different in {listed(near[1])}"
        else:
            reason = "the cassette is empty"
        return (
            f"{self._name}: no recorded response to {request.method} {request.url}: {reason}; "
            f"{self._again}"
        )
