"""Differences between the providers of chat completions, as data: a `Dialect` in each row of
`wire.providers`.

The default of a field is the behaviour of OpenAI's reference. The exception is what is sent back of
a received message: there the default is the minimum, because many hosts refuse unknown keys.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from wire.neutral.ids import CallIds as CallIds


@dataclass(frozen=True, slots=True)
class Refusal:
    """A field, or a value of a field, that a provider refuses.

    >>> seed = Refusal("seed", "not known here", remedy="use random_seed", ignored=True)
    >>> Dialect(refuses=(seed,)).refuses[0].path
    'seed'
    """

    path: str
    """Path of the field, such as `messages[].content[].image_url`. `=value` at the end limits it to
    this value, `=a|b` to one of several, `=` to the empty text, `=[]` to the empty list."""
    words: str
    """The server's error message; `{model}` is replaced by the model's name."""
    remedy: str = ""
    models: str = ""
    """Regular expression that matches the start of the model's name; empty for all models."""
    ignored: bool = False
    """The server answers and ignores the field: `check` reports a warning, not an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Quirks of one provider. Sources and dates of each value: docs/providers.md.

    >>> my_host = Dialect(most_stops=4, reasoning_slots=("reasoning_content",))
    >>> my_host.verbatim
    False
    """

    # --- refused requests
    refuses: tuple[Refusal, ...] = ()
    ranges: tuple[tuple[str, float, float], ...] = ()
    """Name of a field, minimum, maximum: the provider refuses numbers outside."""
    most_system_messages: int = 0
    """Maximum number of system messages; 0 for no limit."""
    most_stops: int = 0
    """Maximum number of texts in `stop`; 0 for no limit."""
    last_assistant_needs_prefix: bool = False
    """The last message may be an assistant message only if it has `prefix: true`."""
    tool_parameters: bool = False
    """A function must have `parameters`."""
    thinks: str = ""
    """Regular expression of models that think by default."""
    no_forced_call_while_thinking: bool = False
    """`tool_choice` may not be "required" or a name while the model thinks."""
    no_tools_while_reasoning: str = ""
    """Regular expression of models that refuse function tools while they reason: with an effort
    other than "none", or without an effort if the model is one of `thinks`."""

    # --- received messages that are sent back
    verbatim: bool = False
    """The provider accepts the messages that it sent, unchanged. Otherwise only the keys of the
    reference and `takes` are sent back.
    """
    takes: tuple[str, ...] = ()
    """Further keys of messages and tool calls that are sent back."""
    reasoning_slots: tuple[str, ...] = ()
    """Keys with reasoning that the provider accepts, best first. The first one that a message has
    is sent back, the others are withheld. "content" means thinking parts in the content."""
    reasoning_required: bool = False
    """An assistant message with tool calls must have the first slot, `""` if without reasoning."""
    no_text: Literal["omit", "null", "empty"] = "omit"
    """The content of a message that has tool calls only."""
    invalid_arguments: Literal["as_they_came", "wrapped"] = "as_they_came"
    """How arguments that are not a JSON object are sent back. "wrapped" sends an object with their
    text, for providers that parse the arguments in the history.
    """
    call_ids: CallIds = field(default_factory=CallIds)
    """The ids of tool calls that the provider accepts."""

    # --- responses
    think_tags: Literal["", "tags", "open_implied"] = ""
    """The content has reasoning between `<think>` and `</think>`. "open_implied": the opening tag
    is missing, so everything before `</think>` is reasoning (Q7).
    """
    cumulative_details: bool = False
    """Each text in `reasoning_details` of a stream repeats the earlier ones (Q7)."""
    sends_damaged_chunks: bool = False
    """A stream may have truncated JSON between its chunks. It is dropped and reported as a note;
    from any other host it is a `StreamInvalid` (Q3)."""
    reasoning_outside_output: bool = False
    """`completion_tokens` excludes the tokens of reasoning."""


PLAIN = Dialect()
"""The dialect of an unknown host."""
