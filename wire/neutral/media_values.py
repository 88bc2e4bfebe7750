"""What the requests and results of images, speech and transcripts share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wire.core import json_values
from wire.core.bodies import wrong_type
from wire.core.errors import RuleError, Violation
from wire.core.secret import quoted
from wire.neutral.messages import Media

if TYPE_CHECKING:
    from wire.catalogue.cost import Cost


def checked_text(path: str, text: object) -> str:
    """Return a text that can be sent. Raises `RuleError` for anything else, and an empty one."""
    if not isinstance(text, str):
        raise wrong_type(path, text, "text")
    if not text.strip():
        raise _refused(path, "expected a text that is not empty")
    if not text.isascii():
        json_values.checked(text, path)
    return text


def check_kind(path: str, media: Media, kinds: Sequence[str], expected: str) -> None:
    """Raise `RuleError` for media of another kind; a URL may have no type."""
    if not isinstance(media.media_type, str):
        raise wrong_type(f"{path}.media_type", media.media_type, "text")
    if media.media_type and media.media_type.partition("/")[0] not in kinds:
        raise _refused(path, f"expected {expected}, not {quoted(media.media_type)}")


def _refused(path: str, problem: str) -> RuleError:
    return RuleError(violations=[Violation(path, problem)])


class Priced:
    """A result of one call, which has a cost.

    It has `model`, `provider`, `usage`, and `source`, the struct of the wire.
    """

    __slots__ = ()

    @property
    def cost(self: Any) -> Cost:
        """The cost in USD, as the host reports it or by the catalogue's prices.

        `total` is `None`, and `reason` says why, if neither is known.
        """
        from wire.catalogue.cost import cost_of_answer  # loads a file at its first use

        return cost_of_answer(self.source, self.usage, self.provider, (self.model,), "")
