"""The setting `compaction`: a long conversation is replaced by a summary of it.

Messages and Responses do it on the server; an agent does it itself for the other hosts.
"""

from __future__ import annotations

from typing import Any

from wire.core.arguments import whole_number
from wire.core.bodies import wrong_type
from wire.core.errors import RuleError, Violation
from wire.core.fields import Fields
from wire.core.memory import MetadataStruct, Note
from wire.core.provider import Provider


class Compaction(MetadataStruct, frozen=True, kw_only=True, metaclass=Fields):
    """When and how a conversation is compacted.

    >>> Compaction(trigger=100_000).trigger
    100000

    Raises `RuleError` for a trigger or a `keep` that is not a number from 1 up, and for
    instructions that are not a text.
    """

    trigger: int | None = None
    """Tokens of a request from which on it is compacted. By default, that of the vendor; of an
    agent that compacts itself, 80 % of the model's window."""
    instructions: str = ""
    """Tells what the summary keeps, in place of the default instructions. Responses takes none."""
    model: Any = None
    """For agents: the chat, or the name of the model, that writes the summaries where the host does
    not. By default, the agent's own."""
    keep: int = 2
    """For agents that compact themselves: the last replies of the model that stay, with what they
    answer and the results of their calls."""

    def __post_init__(self) -> None:
        if self.trigger is not None:
            whole_number("compaction.trigger", self.trigger, least=1)
        whole_number("compaction.keep", self.keep, least=1)
        if not isinstance(self.instructions, str):
            raise wrong_type("compaction.instructions", self.instructions, "text")


def compaction_of(given: Any) -> Compaction | None:
    """Return a value of the setting as a `Compaction`; `None` for `None` and `False`.

    >>> compaction_of(200_000).trigger, compaction_of(True).trigger, compaction_of(False)
    (200000, None, None)

    Raises `RuleError` for any other value.
    """
    if given is None or given is False:
        return None
    if given is True:
        return Compaction()
    if isinstance(given, int):
        return Compaction(trigger=given)
    if not isinstance(given, Compaction):
        raise wrong_type("compaction", given, "number of tokens, True or a Compaction")
    return given


def of_request(given: Any) -> Compaction | None:
    """Return the value of a request, which has no model of its own. Raises `RuleError`."""
    compaction = compaction_of(given)
    if compaction is not None and compaction.model is not None:
        problem = "only an agent asks another model for a summary"
        raise RuleError(violations=[Violation("compaction.model", problem, remedy="leave it out")])
    return compaction


def not_sent(provider: Provider) -> Note:
    """Return the note of a request for a host that does not compact."""
    host = provider.name or "this host"
    remedy = "an agent with compaction= asks for a summary itself"
    return Note("compaction", f"not sent: {host} does not compact for this model; {remedy}")


def trigger_for(compaction: Compaction, least: int, notes: list[Note]) -> int | None:
    """Return the trigger that a host takes, which is at least so many tokens."""
    if compaction.trigger is not None and compaction.trigger < least:
        words = f"changed to {least:,}: the host takes no less than that"
        notes.append(Note("compaction.trigger", words))
        return least
    return compaction.trigger
