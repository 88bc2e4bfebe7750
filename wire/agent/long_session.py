"""Long sessions of agents: when a run is compacted, and by whom. Without I/O.

The server compacts if it can. Otherwise the agent asks a chat for a summary before the request that
would be over the trigger, and requests have the summary in place of the messages that it stands
for. The state of the run keeps them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from wire.agent.context_cache import AsyncCachedChat, CachedChat
from wire.agent.run_state import RunState
from wire.agent.steps import Steps
from wire.catalogue.abilities import context_window
from wire.chat.chat import AsyncChat, Chat
from wire.core.errors import StreamIncomplete
from wire.core.memory import notes
from wire.history import Compacted, cut_for_summary, estimate_tokens, summary_request
from wire.neutral.compaction import Compaction
from wire.neutral.messages import Message, Reply
from wire.neutral.request import Request
from wire.wires.contract import WIRES

_SHARE = 0.8
"""The share of the model's window from which on a run is compacted."""
_UNKNOWN_WINDOW = 128_000
"""Tokens. The window of a model that the catalogue does not know."""


class Summarize(NamedTuple):
    """A request for a summary, which is due before the next request of the run."""

    messages: tuple[Message, ...]
    settings: dict[str, Any]
    cut: int


class LongSession:
    """The compactions of one agent."""

    def __init__(self, compaction: Compaction) -> None:
        self.compaction = compaction
        self.known: tuple[Compacted, Message] | None = None
        """The last summary, and the last message that it stands for: the next run begins with it
        if the conversation still has this message there."""
        self._of_servers: dict[tuple[str, str], bool] = {}
        self.own: Any = None
        """The chat that was made from the name of a model, and is closed with the agent."""

    def summarizer(self, model: Any, kind: type[Chat] | type[AsyncChat]) -> Any:
        """Return the chat that is asked for summaries: by default the model of the agent."""
        given = self.compaction.model
        if not isinstance(given, str):
            return model if given is None else given
        if self.own is None:
            self.own = kind(given)
        return self.own

    def sent_to(self, model: object) -> Compaction | None:
        """Return the setting for the requests to a model; `None` if its server does not compact."""
        chats = _chats_of(model)
        if not chats or not all(map(self._server_compacts, chats)):
            return None
        return msgspec.structs.replace(self.compaction, model=None)

    def _server_compacts(self, chat: Any) -> bool:
        """Return whether the server of a chat compacts, by the notes of a request."""
        key = chat.provider, chat.model
        if key not in self._of_servers:
            request = Request(messages=(Message.user("Hi"),), compaction=Compaction())
            call = WIRES[chat.row.wire].call(request, chat.model, chat.row)
            self._of_servers[key] = all(note.path != "compaction" for note in notes(call))
        return self._of_servers[key]

    def begun(self, state: RunState) -> RunState:
        """Return the state of a new run with the summary of the run before."""
        if self.known is None or state.compacted is not None:
            return state
        compacted, last = self.known
        count = compacted.count
        if len(state.messages) < count or state.messages[count - 1] is not last:
            return state
        return msgspec.structs.replace(state, compacted=compacted)

    def due(self, steps: Steps, model: object, settings: Mapping[str, Any]) -> Summarize | None:
        """Return the request for a summary, if the run is over the trigger."""
        state = steps.state
        if self.sent_to(model) is not None or _tokens(steps) < self._trigger(model):
            return None
        cut = cut_for_summary(state.messages, self.compaction.keep)
        before = state.compacted
        if cut <= (0 if before is None else before.count):
            return None
        messages = summary_request(state.messages, cut, before, self.compaction.instructions)
        kept: tuple[str, ...] = ("system", "tools", "headers", "caching", "retry")
        if self.compaction.model is not None:
            kept = ("tools",)  # the others are those of the agent's model
        chosen = {name: settings[name] for name in kept if name in settings}
        if "tools" in chosen and _chats_of(model):
            chosen["tool_choice"] = "none"
        return Summarize(messages, chosen, cut)

    def summarized(self, steps: Steps, due: Summarize, reply: Reply) -> None:
        """Report the summary. Raises `StreamIncomplete` for a reply that is not a whole text."""
        if not reply.text.strip() or reply.stop.reason != "end":
            why = reply.stop.raw or reply.stop.reason
            raise StreamIncomplete(
                f"compaction: the model's summary is not whole (finish {why})",
                retryable=True,
                partial=reply,
            )
        compacted = Compacted(due.cut, reply.text)
        self.known = compacted, steps.state.messages[due.cut - 1]
        steps.compacted(compacted, reply)

    def _trigger(self, model: object) -> int:
        if self.compaction.trigger is not None:
            return self.compaction.trigger
        windows = [context_window(chat.provider, chat.model) for chat in _chats_of(model)]
        return int(_SHARE * min((each or _UNKNOWN_WINDOW for each in windows), default=100_000))


def _chats_of(model: object) -> tuple[Any, ...]:
    """Return the chats that may answer; none for a model of one's own."""
    chat = model.chat if isinstance(model, CachedChat | AsyncCachedChat) else model
    several = getattr(chat, "chats", None)
    if isinstance(several, tuple):
        return several
    return (chat,) if isinstance(chat, Chat | AsyncChat) else ()


def _tokens(steps: Steps) -> int:
    """Return the tokens of the next request: by the last reply's usage, as far as it counts them.

    What came after that reply is estimated, and all messages if the reply was before the summary.
    """
    messages, compacted = steps.state.messages, steps.state.compacted
    reply = steps.last_reply
    estimated = sum(map(estimate_tokens, compacted.applied(messages) if compacted else messages))
    if reply is None or reply.usage is None:
        return estimated
    counted = reply.usage.input + reply.usage.output
    after = 0
    for message in reversed(messages):
        if message.role == "assistant":
            break
        after += estimate_tokens(message)
    return max(estimated, counted + after)
