"""Rules of the media in messages.

Each function checks the rule whose id its docstring begins with, and yields one violation for each
breach. Message texts are ours: hosts differ in what they say.
"""

from __future__ import annotations

from collections.abc import Iterator

from wire.anthropic.rules.rule_input import RuleInput, violation
from wire.catalogue.abilities import unread
from wire.core.errors import Violation


def images_are_read(request: RuleInput) -> Iterator[Violation]:
    """A48: (warning) the model reads the images of the messages.

    Hosts of other vendors' models differ in what they do with an image that is not read.
    """
    problem = unread(request.model, "image")
    for turn in request.turns if problem else ():
        for block in turn.of("image"):
            yield violation(block.path, problem, "A48", "use another model", "warning")
