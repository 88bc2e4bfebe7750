"""Paths of a vendor, and the endpoint that a request asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wire.testing.emulator.answer import Answer
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


def paths(*rows: Sequence[Any], **groups: str) -> tuple[Path, ...]:
    """Compile a table of paths: host, regular expression, endpoint of each method.

    In an expression, `{name}` stands for the expression `name` of `groups`.
    """
    found: list[Path] = []
    for host, pattern, endpoints in rows:
        for name, group in groups.items():
            pattern = pattern.replace(f"{{{name}}}", group)
        found.append(Path(host, re.compile(pattern), endpoints))
    return tuple(found)


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


Handler = Callable[[Received, Route], Answer]


def handler_of(resources: Mapping[str, Any], endpoint: str) -> Handler:
    """Return the method of a resource that has the endpoint's name.

    `files.get` is `get` of the resource `files`, `countTokens` is `count_tokens` of the one without
    a name; `list` is `listed`.
    """
    resource, _, action = endpoint.rpartition(".")
    method = re.sub(r"(?<=[a-z])[A-Z]", lambda found: f"_{found[0].lower()}", action)
    handler: Handler = getattr(resources[resource], "listed" if method == "list" else method)
    return handler


def served(resources: Mapping[str, Any], request: Received, route: Route) -> Answer:
    """Answer with the method that has the endpoint's name."""
    return handler_of(resources, route.endpoint)(request, route)
