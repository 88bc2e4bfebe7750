"""Depth and number of values of a JSON body, found before anything decodes it.

A decoder makes an object of each value: 1 MB of `{},` costs hundreds of MB, and deep brackets
cost a frame each.
"""

from __future__ import annotations

import re

from wire.testing.emulator.limits import EmulatorLimits

# A text is one token. Its last alternatives take a text that does not end, so that its quotes do
# not begin a search each.
_TOKENS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{},]', re.DOTALL)
_BEGIN = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*+[\[{]")


def json_excess(body: bytes, limits: EmulatorLimits) -> str:
    """Return the reason why a body is too deep or too large to be decoded; empty if it is not.

    A body that does not begin as a list or an object, such as an uploaded file, is none.

    >>> json_excess(b'{"a": ["[["]}', EmulatorLimits())
    ''
    >>> json_excess(b"[[1]]", EmulatorLimits(max_json_depth=1))
    'Message too deep. Max recursion depth reached: 1 levels.'
    """
    if _BEGIN.match(body) is None:
        return ""
    opening = body.count(b"{") + body.count(b"[")
    # Brackets in texts are counted too: the upper bound often shows that no limit is exceeded.
    if opening <= limits.max_json_depth and opening + body.count(b",") <= limits.max_json_values:
        return ""
    depth = values = texts = 0
    for token in _TOKENS.finditer(body):
        first = body[token.start()]
        if first == 0x22:  # a quote
            texts += 1
            # A list of texts without commas is not JSON: it has to end all the same.
            if texts > 2 * limits.max_json_values:
                return _too_many(limits)
        elif first in b"]}":
            depth -= 1
        else:
            values += 1
            depth += first != 0x2C
            if depth > limits.max_json_depth:
                levels = limits.max_json_depth
                return f"Message too deep. Max recursion depth reached: {levels} levels."
            if values > limits.max_json_values:
                return _too_many(limits)
    return ""


def _too_many(limits: EmulatorLimits) -> str:
    return f"The request has more than {limits.max_json_values} values."
