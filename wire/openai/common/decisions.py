"""Decisions as calls, in both shapes that hosts of this wire have.

Paths are relative to a base URL that ends in the version. Sources: openai 3.57.0,
resources/decisions.py; openrouter 1.3.84, systemone.py; both read on 2026-11-29.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from wire.core.arguments import checked_arguments
from wire.core.bodies import checked_body, wrong_type
from wire.core.call import Call
from wire.core.errors import ConfigurationError, RuleError, Violation
from wire.core.memory import WireStruct
from wire.core.provider import Provider
from wire.openai.common.decision_rules import decision_violations, system_one_violations
from wire.openai.common.dialect import Dialect
from wire.openai.common.endpoints import JSON, plain
from wire.openai.common.rows import ROWS, provider_row
from wire.openai.common.types.decisions import (
    Decision,
    DecisionRequest,
    SystemOneRequest,
    SystemOneResponse,
)

W = TypeVar("W", bound=WireStruct)
R = TypeVar("R", bound=WireStruct)


@checked_arguments()
def decisions(request: DecisionRequest) -> Call[Decision]:
    """Build a call that answers closed questions about one input, with probabilities.

    >>> from wire.openai import DecisionQuestion
    >>> urgent = DecisionQuestion(type="predicate", instructions="It is urgent.")
    >>> decisions(DecisionRequest(model="gpt-6-luna", input="Help!", questions=[urgent])).path
    '/decisions'

    Raises `RuleError` with the path of each value that OpenAI refuses, and for one that JSON cannot
    encode. The client raises `ConfigurationError` for a host that has no such endpoint.
    """
    return _call(Decision, request, DecisionRequest, decision_violations, "/decisions", "list")


@checked_arguments()
def system_one(request: SystemOneRequest) -> Call[SystemOneResponse]:
    """Build a call that answers closed questions about a state, as OpenRouter has it.

    >>> from wire.openai import SystemOneQuestion
    >>> urgent = SystemOneQuestion(type="noul", instructions="It is urgent.")
    >>> asked = SystemOneRequest(model="typesafe/jev-1", state="Help!", questions={"a": urgent})
    >>> system_one(asked).path
    '/systemone'

    Raises as `decisions`.
    """
    return _call(
        SystemOneResponse, request, SystemOneRequest, system_one_violations, "/systemone", "map"
    )


def _call(
    answer: type[W],
    request: R,
    kind: type[R],
    violations: Callable[[R], Iterable[Violation]],
    path: str,
    shape: str,
) -> Call[W]:
    if not isinstance(request, kind):
        raise wrong_type("request", request, kind.__name__)
    body, read = checked_body(request)
    found = list(violations(read))
    if found:
        raise RuleError(violations=found)
    host_rules = functools.partial(_only_where_it_is, shape)
    return plain(answer, "POST", path, body, headers=JSON, host_rules=host_rules)


def _only_where_it_is(shape: str, call: Call[Any], provider: Provider) -> Call[Any]:
    """Return the call. Raises `ConfigurationError` for a host that lacks the endpoint."""
    if shape_of(provider) != shape:
        having = ", ".join(row.name for row in ROWS if row.dialect.decisions == shape)
        raise ConfigurationError(
            f"call: this host has no endpoint {call.method} {call.path_prefix}{call.path}; "
            f"these have it: {having}",
            provider=provider.name,
        )
    return call


def shape_of(provider: Provider | str) -> str:
    """Return the shape of the decisions of a host; empty if it has none.

    A row of Responses has those of its chat completions.
    """
    return _dialect(provider).decisions


def reads_images(provider: Provider | str) -> bool:
    """Return whether models of a host with decisions of System One may read images."""
    return _dialect(provider).decision_images


def _dialect(provider: Provider | str) -> Dialect:
    if not (isinstance(provider, Provider) and isinstance(provider.dialect, Dialect)):
        name = provider if isinstance(provider, str) else provider.name
        provider = provider_row(name.removesuffix("@responses"))
    dialect: Dialect = provider.dialect
    return dialect
