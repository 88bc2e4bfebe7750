"""Keeps keys out of the logs of httpx, httpcore and httpx2.

Their requests are logged without headers, but the headers and the reason of a response are logged
as they came, and httpx logs the URL. A server that repeats the key in one of them would put it into
the log at DEBUG or INFO (R-28, R-29).
"""

from __future__ import annotations

import logging

from wire.core.masking import Mask
from wire.core.secret import living_secrets

_PARTS = ("connection", "http11", "http2", "proxy", "socks")
_LOGGERS = (
    *("httpx", "httpx2", "hpack.hpack", "hpack.table"),
    *(f"{package}.{part}" for package in ("httpcore", "httpcore2") for part in _PARTS),
)
"""All loggers of these packages: a filter of a logger does not apply to those below it."""


class _Masked(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the text of a record. Called for records of an enabled level only."""
        text = record.getMessage()
        masked = Mask(living_secrets()).text(text)
        if masked != text:
            record.msg, record.args = masked, ()
        return True


_MASKED = _Masked()


def mask_transport_logs() -> None:
    """Mask the logs of the transports from now on. Calling it again has no effect."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_MASKED)
