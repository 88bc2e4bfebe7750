"""Paths of a vendor, and the endpoint that a request asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wire.testing.emulator.received import Received


@dataclass(frozen=True, slots=True)
class Route:
    """An endpoint, and what the path says about it."""

    endpoint: str
    """The name that scripts match: `generateContent`, `chat.completions`, `messages`,
    `files.get`. Empty if the path does not have the method.
    """
    host: str = ""
    """Which of the vendor's hosts the path belongs to, such as `vertex`."""
    version: str = ""
    name: str = ""
    """The model, or the id of a file or cached content."""
    parent: str = ""
    """Vertex: `projects/.../locations/.../`."""
    prefix: str = ""
    """The prefix of the path of a call, such as `/api/paas/v4`; each provider has its own."""
    generates: bool = False
    """Whether the endpoint asks for output of a model."""

    @property
    def takes_files(self) -> bool:
        """Whether a body may be a file of any kind, and not JSON for the endpoint."""
        return self.endpoint.endswith(".upload")


@dataclass(frozen=True, slots=True)
class Path:
    """A path as a regular expression, and the endpoint of each HTTP method.

    The groups `version`, `name`, `parent`, `prefix` and `action` are optional. `{action}` in an
    endpoint stands for the action, `{list}` for `get` if there is a name, else for `list`.
    """

    host: str
    pattern: re.Pattern[str]
    endpoints: Mapping[str, str]


def paths(*rows: tuple[str, str, Mapping[str, str]]) -> tuple[Path, ...]:
    """Compile a table of paths: host, regular expression, endpoint of each method."""
    return tuple(Path(host, re.compile(pattern), endpoints) for host, pattern, endpoints in rows)


def match(rows: Iterable[Path], request: Received, generating: frozenset[str]) -> Route | None:
    """Return the route of the first path that fits, or `None`.

    `generating` has the names of the endpoints of models.
    """
    for row in rows:
        parts = row.pattern.fullmatch(request.path)
        if parts is None:
            continue
        groups = dict.fromkeys(("version", "name", "parent", "prefix", "action"), "")
        groups |= {key: value or "" for key, value in parts.groupdict().items()}
        listed = "get" if groups["name"] else "list"
        endpoint = row.endpoints.get(request.method, "").format(**groups, list=listed)
        return Route(
            endpoint,
            row.host,
            groups["version"],
            groups["name"].removeprefix("models/"),
            groups["parent"],
            groups["prefix"],
            generates=endpoint in generating,
        )
    return None
