"""The headers of a response, with values hidden that look like credentials (R-29, R-34).

Loaded when somebody reads them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from wire.core.credentials import hidden_in_url, without_known
from wire.core.errors import one_line
from wire.core.printable import printable_line
from wire.core.rate_limits import rate_limit_headers
from wire.core.secret import sealed_headers, shown_headers

_AFTER_PATH = re.compile(r"[?#;]")
_USER = re.compile(r"(?<![^/\\])[^/\\]*@")
"""From a slash, or the beginning, to the last `@` before the next slash."""


def shown(headers: Mapping[str, str]) -> dict[str, str]:
    """Hide header values that look like credentials; those of the client are masked already.

    >>> shown({"content-type": "text/plain", "set-cookie": "a=b"})
    {'content-type': 'text/plain', 'set-cookie': '***'}
    """
    texts = {
        **shown_headers(sealed_headers(headers)),
        # Names of headers that count tokens look like names of credentials.
        **{name: without_known(value) for name, value in rate_limit_headers(headers).items()},
    }
    return {
        printable_line(str(name)): printable_line(
            shown_location(value) if name == "location" else hidden_in_url(value)
        )
        for name, value in texts.items()
    }


def shown_location(location: str) -> str:
    """Return the target of a redirect without user, query and fragment, which may grant access.

    It is not parsed, since a server may send any text.
    """
    base = _AFTER_PATH.split(location, maxsplit=1)[0]
    hidden = "?***" if len(base) < len(location) else ""
    return one_line(_USER.sub("***@", base), 200) + hidden
