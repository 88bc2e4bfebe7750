"""What a provider of chat completions does differently, as named fields: one `Dialect` in each row
of `wire.providers`.

A field at its default says what OpenAI's reference says, but for what goes back of a received
message: there the default is the careful one, since many hosts refuse keys that they do not know.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from wire.neutral.ids import CallIds as CallIds


@dataclass(frozen=True, slots=True)
class Refusal:
    """A field of the request that is answered with an error."""

    path: str
    """Keys from the top, such as `messages[].content[].image_url`. `=value` at the end means this
    value only, `=a|b` any of several, `=` the empty text, `=[]` the empty list."""
    words: str
    """What the server says; `{model}` stands for the model's name."""
    remedy: str = ""
    models: str = ""
    """Regular expression that the model's name begins with; empty for all."""
    ignored: bool = False
    """The server answers, and does not do what the field says: a warning of `check`, not an
    error.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Quirks of one provider. Sources and dates of each value: docs/providers.md."""

    # --- what it refuses
    refuses: tuple[Refusal, ...] = ()
    ranges: tuple[tuple[str, float, float], ...] = ()
    """Field, least, most: other numbers are refused."""
    most_system_messages: int = 0
    """0 for no limit."""
    most_stops: int = 0
    """Texts in `stop`; 0 for no limit."""
    last_assistant_needs_prefix: bool = False
    """The conversation may end with an assistant message only if that has `prefix: true`."""
    tool_parameters: bool = False
    """A function without `parameters` is refused."""
    thinks: str = ""
    """Regular expression of models that think unless they are told not to."""
    no_forced_call_while_thinking: bool = False
    """`tool_choice` may not be "required" or a name while the model thinks."""
    no_tools_while_reasoning: str = ""
    """Regular expression of models that take no function tools while they reason: with an effort
    other than "none", and without any if the model `thinks`."""

    # --- what goes back of a message that it sent
    verbatim: bool = False
    """Takes its own messages as they came; otherwise only the keys of the reference and `takes` go
    back.
    """
    takes: tuple[str, ...] = ()
    """Further keys of messages and tool calls that go back."""
    reasoning_slots: tuple[str, ...] = ()
    """Slots of reasoning that it takes back, best first: the first one that a message has goes
    back, the others are withheld. "content" stands for parts of thinking in the content."""
    reasoning_required: bool = False
    """An assistant message with tool calls is refused without the first slot; `""` where there was
    no reasoning.
    """
    no_text: Literal["omit", "null", "empty"] = "omit"
    """What stands for the content of a message that is nothing but calls."""
    invalid_arguments: Literal["as_they_came", "wrapped"] = "as_they_came"
    """Arguments that are no JSON object: wrapped, they go back as the one text in an object, for
    hosts that parse the history.
    """
    call_ids: CallIds = field(default_factory=CallIds)

    # --- what it sends
    think_tags: Literal["", "tags", "open_implied"] = ""
    """Reasoning stands in the content between `<think>` and `</think>`; or all before `</think>` is
    reasoning (Q7).
    """
    cumulative_details: bool = False
    """Each text of `reasoning_details` holds those before it (Q7)."""
    reasoning_outside_output: bool = False
    """`completion_tokens` does not count the tokens of reasoning."""


PLAIN = Dialect()
"""Of a host that nothing is known about."""
