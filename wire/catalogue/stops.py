"""What each vendor's stop word means, whether the answer is whole with it, and who acts next.

One row for each word of a wire. `gemini.block` are the reasons why a prompt was blocked,
`chat.native` the words of a host behind a gateway, in small letters, and `responses.item` the calls
that the client must run and that have no neutral form. Nothing reads `interactions`, `bedrock` and
`ollama` yet.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from wire.core.errors import APIError, WireError
from wire.core.memory import MetadataStruct, Note
from wire.core.printable import short

StopReason: TypeAlias = Literal["end", "tool_calls", "pause", "length", "filter", "error", "other"]
Next: TypeAlias = Literal[
    "nothing",
    "send_back",
    "continue_token",
    "poll",
    "run_tools",
    "raise_limit",
    "compact_then_send",
    "retry",
    "ask_user",
]
Evidence: TypeAlias = Literal["documented", "recorded", "thread", "inferred", "unknown"]


class StopWord(msgspec.Struct, frozen=True):
    """One stop word of a wire."""

    wire: str
    word: str
    reason: StopReason
    whole: bool
    """Whether the reply is the whole answer of the model to the last message."""
    next: Next
    source: str = ""
    date: str = ""
    evidence: Evidence = "unknown"


NEXT: dict[StopReason, Next] = {
    "end": "nothing",
    "tool_calls": "run_tools",
    "pause": "send_back",
    "length": "raise_limit",
    "filter": "nothing",
    "error": "retry",
    "other": "nothing",
}
"""Who acts next after most words of a reason."""

_Source: TypeAlias = tuple[str, str, Evidence]

_GENAI: _Source = ("google-genai 3.4.0", "2026-11-24", "documented")
_GENAI_SEEN: _Source = ("google-genai 3.4.0; recorded answers", "2026-11-24", "recorded")
_GENAI_READ: _Source = ("google-genai 3.4.0", "2026-11-24", "inferred")
_OPENAI: _Source = ("openai 3.54.0", "2026-11-24", "documented")
_OPENAI_SEEN: _Source = ("openai 3.54.0; recorded answers", "2026-11-24", "recorded")
_OPENAI_READ: _Source = ("openai 3.54.0", "2026-11-24", "inferred")
_HOSTS: _Source = ("recorded answers of hosts", "2026-11-24", "recorded")
_HOSTS_SAY: _Source = ("hosts' references; @ai-sdk 4.0.121", "2026-11-24", "documented")
_HOSTS_READ: _Source = ("clients of vLLM and GLM", "2026-11-21", "thread")
_ANTHROPIC: _Source = ("anthropic 2.12.0", "2026-11-24", "documented")
_ANTHROPIC_SEEN: _Source = ("anthropic 2.12.0; recorded answers", "2026-11-24", "recorded")
_BEDROCK: _Source = ("botocore 1.44.5", "2026-11-24", "documented")
_OLLAMA: _Source = ("Ollama, API reference", "2026-11-24", "documented")

ROWS: tuple[StopWord, ...] = (
    StopWord("gemini", "STOP", "end", True, "nothing", *_GENAI_SEEN),
    StopWord("gemini", "MAX_TOKENS", "length", False, "raise_limit", *_GENAI_SEEN),
    StopWord("gemini", "CONTINUATION", "pause", False, "continue_token", *_GENAI),
    StopWord("gemini", "SAFETY", "filter", False, "nothing", *_GENAI_SEEN),
    StopWord("gemini", "RECITATION", "filter", False, "nothing", *_GENAI_SEEN),
    StopWord("gemini", "LANGUAGE", "filter", False, "nothing", *_GENAI),
    StopWord("gemini", "BLOCKLIST", "filter", False, "nothing", *_GENAI),
    StopWord("gemini", "PROHIBITED_CONTENT", "filter", False, "nothing", *_GENAI),
    StopWord("gemini", "SPII", "filter", False, "nothing", *_GENAI),
    StopWord("gemini", "MODEL_ARMOR", "filter", False, "nothing", *_GENAI_SEEN),
    StopWord("gemini", "ESCALATION", "filter", False, "nothing", *_GENAI),
    StopWord("gemini", "PUP_LIMITED_DISABLED", "error", False, "nothing", *_GENAI),
    StopWord("gemini", "IMAGE_SAFETY", "filter", False, "nothing", *_GENAI),
    StopWord("gemini", "IMAGE_PROHIBITED_CONTENT", "filter", False, "nothing", *_GENAI),
    StopWord("gemini", "IMAGE_RECITATION", "filter", False, "nothing", *_GENAI),
    StopWord("gemini", "IMAGE_OTHER", "error", False, "retry", *_GENAI),
    StopWord("gemini", "NO_IMAGE", "error", False, "retry", *_GENAI),
    StopWord("gemini", "MALFORMED_FUNCTION_CALL", "error", False, "retry", *_GENAI),
    StopWord("gemini", "UNEXPECTED_TOOL_CALL", "error", False, "retry", *_GENAI_SEEN),
    StopWord("gemini", "TOO_MANY_TOOL_CALLS", "other", False, "send_back", *_GENAI_READ),
    StopWord("gemini", "MISSING_THOUGHT_SIGNATURE", "error", False, "nothing", *_GENAI),
    StopWord("gemini", "MALFORMED_RESPONSE", "error", False, "retry", *_GENAI),
    StopWord("gemini", "OTHER", "other", False, "nothing", *_GENAI_SEEN),
    StopWord("gemini", "FINISH_REASON_UNSPECIFIED", "other", False, "nothing", *_GENAI),
    StopWord("gemini.block", "SAFETY", "filter", False, "nothing", *_GENAI_SEEN),
    StopWord("gemini.block", "OTHER", "filter", False, "nothing", *_GENAI),
    StopWord("gemini.block", "BLOCKLIST", "filter", False, "nothing", *_GENAI),
    StopWord("gemini.block", "PROHIBITED_CONTENT", "filter", False, "nothing", *_GENAI),
    StopWord("gemini.block", "IMAGE_SAFETY", "filter", False, "nothing", *_GENAI),
    StopWord("gemini.block", "MODEL_ARMOR", "filter", False, "nothing", *_GENAI_SEEN),
    StopWord("gemini.block", "JAILBREAK", "filter", False, "nothing", *_GENAI),
    StopWord("chat", "stop", "end", True, "nothing", *_OPENAI_SEEN),
    StopWord("chat", "length", "length", False, "raise_limit", *_OPENAI_SEEN),
    StopWord("chat", "tool_calls", "tool_calls", True, "run_tools", *_OPENAI_SEEN),
    StopWord("chat", "function_call", "tool_calls", True, "run_tools", *_OPENAI_SEEN),
    StopWord("chat", "content_filter", "filter", False, "nothing", *_OPENAI_SEEN),
    StopWord("chat", "end", "end", True, "nothing", *_HOSTS),
    StopWord("chat", "eos", "end", True, "nothing", *_HOSTS),
    StopWord("chat", "end_turn", "end", True, "nothing", *_HOSTS),
    StopWord("chat", "max_tokens", "length", False, "raise_limit", *_HOSTS),
    StopWord("chat", "tool_use", "tool_calls", True, "run_tools", *_HOSTS),
    StopWord("chat", "model_length", "length", False, "compact_then_send", *_HOSTS_SAY),
    StopWord("chat", "error", "error", False, "retry", *_HOSTS_SAY),
    StopWord("chat", "insufficient_system_resource", "error", False, "retry", *_HOSTS_SAY),
    StopWord("chat", "function_call_filter", "error", False, "retry", *_HOSTS),
    StopWord("chat", "sensitive", "filter", False, "nothing", *_HOSTS_READ),
    StopWord("chat", "network_error", "error", False, "retry", *_HOSTS_READ),
    StopWord(
        "chat", "model_context_window_exceeded", "length", False, "compact_then_send", *_HOSTS_READ
    ),
    StopWord("chat", "abort", "error", False, "retry", *_HOSTS_READ),
    StopWord("chat", "engine_overloaded", "error", False, "retry", *_HOSTS_READ),
    StopWord("chat.native", "length", "length", False, "raise_limit", *_HOSTS),
    StopWord("chat.native", "max_tokens", "length", False, "raise_limit", *_HOSTS),
    StopWord("chat.native", "max_output_tokens", "length", False, "raise_limit", *_HOSTS),
    # OpenRouter sends the token as encrypted reasoning, which goes back with the message.
    StopWord("chat.native", "continuation", "pause", False, "send_back", *_HOSTS_SAY),
    StopWord("responses", "completed", "end", True, "nothing", *_OPENAI_SEEN),
    StopWord("responses", "incomplete", "other", False, "nothing", *_OPENAI_READ),
    StopWord("responses", "max_output_tokens", "length", False, "raise_limit", *_OPENAI_SEEN),
    StopWord("responses", "content_filter", "filter", False, "nothing", *_OPENAI),
    StopWord("responses", "max_messages", "length", False, "send_back", *_OPENAI_READ),
    # The server makes the successor by itself, on the same socket.
    StopWord("responses", "steered", "pause", False, "nothing", *_OPENAI_READ),
    StopWord("responses", "failed", "error", False, "retry", *_OPENAI_SEEN),
    StopWord("responses", "in_progress", "pause", False, "poll", *_OPENAI_SEEN),
    StopWord("responses", "queued", "pause", False, "poll", *_OPENAI_SEEN),
    StopWord("responses", "cancelled", "other", False, "nothing", *_OPENAI),
    StopWord("responses.item", "computer_call", "other", False, "run_tools", *_OPENAI),
    StopWord("responses.item", "local_shell_call", "other", False, "run_tools", *_OPENAI),
    StopWord("responses.item", "shell_call", "other", False, "run_tools", *_OPENAI),
    StopWord("responses.item", "apply_patch_call", "other", False, "run_tools", *_OPENAI),
    StopWord("responses.item", "tool_search_call", "other", False, "run_tools", *_OPENAI),
    StopWord("responses.item", "mcp_approval_request", "other", False, "ask_user", *_OPENAI),
    StopWord("messages", "end_turn", "end", True, "nothing", *_ANTHROPIC_SEEN),
    StopWord("messages", "stop_sequence", "end", True, "nothing", *_ANTHROPIC_SEEN),
    StopWord("messages", "tool_use", "tool_calls", True, "run_tools", *_ANTHROPIC_SEEN),
    StopWord("messages", "max_tokens", "length", False, "raise_limit", *_ANTHROPIC_SEEN),
    StopWord("messages", "pause_turn", "pause", False, "send_back", *_ANTHROPIC_SEEN),
    StopWord("messages", "refusal", "filter", False, "nothing", *_ANTHROPIC_SEEN),
    StopWord(
        "messages",
        "model_context_window_exceeded",
        "length",
        False,
        "compact_then_send",
        *_ANTHROPIC,
    ),
    StopWord("messages", "compaction", "pause", False, "compact_then_send", *_ANTHROPIC),
    StopWord("interactions", "completed", "end", True, "nothing", *_GENAI_SEEN),
    StopWord("interactions", "requires_action", "tool_calls", True, "run_tools", *_GENAI_SEEN),
    StopWord("interactions", "requires_continuation", "pause", False, "continue_token", *_GENAI),
    StopWord("interactions", "in_progress", "pause", False, "poll", *_GENAI_SEEN),
    StopWord("interactions", "queued", "pause", False, "poll", *_GENAI),
    StopWord("interactions", "incomplete", "length", False, "raise_limit", *_GENAI_SEEN),
    StopWord("interactions", "budget_exceeded", "length", False, "nothing", *_GENAI),
    StopWord("interactions", "failed", "error", False, "retry", *_GENAI),
    StopWord("interactions", "cancelled", "other", False, "nothing", *_GENAI),
    StopWord("bedrock", "end_turn", "end", True, "nothing", *_BEDROCK),
    StopWord("bedrock", "stop_sequence", "end", True, "nothing", *_BEDROCK),
    StopWord("bedrock", "tool_use", "tool_calls", True, "run_tools", *_BEDROCK),
    StopWord("bedrock", "max_tokens", "length", False, "raise_limit", *_BEDROCK),
    StopWord(
        "bedrock", "model_context_window_exceeded", "length", False, "compact_then_send", *_BEDROCK
    ),
    StopWord("bedrock", "guardrail_intervened", "filter", False, "nothing", *_BEDROCK),
    StopWord("bedrock", "content_filtered", "filter", False, "nothing", *_BEDROCK),
    StopWord("bedrock", "malformed_model_output", "error", False, "retry", *_BEDROCK),
    StopWord("bedrock", "malformed_tool_use", "error", False, "retry", *_BEDROCK),
    StopWord("ollama", "stop", "end", True, "nothing", *_OLLAMA),
    StopWord("ollama", "length", "length", False, "raise_limit", *_OLLAMA),
    StopWord("ollama", "load", "end", True, "nothing", *_OLLAMA),
    StopWord("ollama", "unload", "end", True, "nothing", *_OLLAMA),
)

_BY_WORD = {(row.wire, row.word): row for row in ROWS}


def known(wire: str, word: str) -> StopWord | None:
    """Return the row of a stop word; `None` if it has none."""
    return _BY_WORD.get((wire, word))


def reason_of(word: str) -> StopReason:
    """Return the reason of a word whose wire is not known; a reason means itself.

    >>> reason_of("stop"), reason_of("end"), reason_of("BORED")
    ('end', 'end', 'other')
    """
    meant: dict[str, StopReason] = {row.word: row.reason for row in reversed(ROWS)}
    meant.update((reason, reason) for reason in NEXT)
    return meant.get(word, "other")


def words_of(wire: str) -> frozenset[str]:
    """Return the stop words of a wire."""
    return frozenset(row.word for row in ROWS if row.wire == wire)


def stop_word(wire: str, word: str | None, *, calls: bool = False) -> StopWord:
    """Return what a stop word means; nobody is to act after one without a row.

    `calls` says whether the reply has calls for the client: on every wire, an end is then none.

    >>> stop_word("gemini", "STOP", calls=True).next, stop_word("gemini", "BORED").reason
    ('run_tools', 'other')
    """
    row = _BY_WORD.get((wire, word or "")) or StopWord(wire, word or "", "other", False, "nothing")
    if calls and row.reason == "end":
        return msgspec.structs.replace(row, reason="tool_calls", next="run_tools")
    return row


# --- the stop of a reply --------------------------------------------------------------------------


class Stop(MetadataStruct, frozen=True):
    """Why the model stopped.

    >>> Stop("length", raw="MAX_TOKENS").reason
    'length'
    """

    reason: StopReason
    """The reason in words that all vendors share. After `pause`, the answer goes on once somebody
    acts: `next` says who, and how."""
    raw: str | None = None
    """The vendor's stop reason; `None` if the vendor sent none."""
    message: str = ""
    """Text of an error, or of a refusal, which is a text of the message as well."""
    sequence: str | None = None
    """The text of `stop` that ended the reply; `None` if none did, or the vendor does not say which
    one."""
    then: Next | None = None
    """`next`, where another acts than after most replies with this reason."""
    token: str | None = None
    """The vendor's token with which the same request goes on."""

    @property
    def complete(self) -> bool:
        """Whether the reply is the model's whole answer to the last message.

        >>> Stop("end").complete, Stop("length").complete
        (True, False)
        """
        return self.reason in ("end", "tool_calls")

    @property
    def next(self) -> Next:
        """Who acts next, and how.

        `nothing`: nobody has to. `run_tools`: the client runs the calls. `send_back`: the message
        is sent back as the last one. `continue_token`: the same request is sent with `token`.
        `poll`: the response is read again later. `raise_limit`: the request needs a higher limit.
        `compact_then_send`: the conversation has to become shorter. `retry`: the request is sent
        again. `ask_user`: a person decides.
        """
        return self.then or NEXT[self.reason]


def stopped(
    row: StopWord,
    raw: str | None,
    message: str = "",
    sequence: str | None = None,
    token: str | None = None,
) -> tuple[Stop, tuple[Note, ...]]:
    """Build the stop of a reply from the row of the vendor's word `raw`; note an unknown word."""
    act: Next = "nothing" if row.next == "continue_token" and not token else row.next
    then = None if NEXT[row.reason] == act else act
    notes: tuple[Note, ...] = ()
    if row.word and row.evidence == "unknown":
        words = f"{short(row.word)} is unknown here; the reply may be incomplete"
        notes = (Note("stop", words),)
    return Stop(row.reason, raw, message, sequence, then, token), notes


def partial_stop(stop: Stop, error: WireError | None) -> Stop:
    """Return the `stop` of an incomplete reply; `error` is the one that ended its stream, if any.

    `end`, `tool_calls` and `pause` become `other`, because with them the reply would look complete.
    """
    if isinstance(error, APIError):
        return Stop("error", stop.raw, error.message, token=stop.token)
    if stop.reason in ("end", "tool_calls", "pause"):
        return msgspec.structs.replace(stop, reason="other", then=None)
    return stop
