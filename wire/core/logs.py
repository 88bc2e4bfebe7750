"""The loggers of this library.

A record may hold the name that a model gave to a tool, or the message of an exception that quotes
what the model wrote. A handler writes both as they are, and the traceback too. So the records are
made safe to print before any handler gets them (R-34).
"""

from __future__ import annotations

import logging
import numbers
import traceback
from pathlib import PurePath

from wire.core.printable import printable_line, printable_lines

# Without a handler of the program, Python prints warnings and errors on stderr, tracebacks of tools
# among them: in the middle of what a program shows its user.
logging.getLogger("wire").addHandler(logging.NullHandler())


def logger(name: str) -> logging.Logger:
    """Return the logger of that name, whose records have no control characters.

    The template of a record stays, so that records can be grouped by it.
    """
    made = logging.getLogger(name)
    made.addFilter(_printable_record)  # adding it twice has no effect
    return made


def log_failure(log: logging.Logger, text: str, *facts: object, error: BaseException) -> None:
    """Log an exception: its class and place at WARNING, its message and traceback at DEBUG.

    A message may quote what a model, a server or a user wrote (R-33). `text` ends with a place for
    what failed.
    """
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    log.warning(text, *facts, f"{type(error).__name__}{place}")
    log.debug(text, *facts, error, exc_info=error)


def _printable_record(record: logging.LogRecord) -> bool:
    if isinstance(record.args, tuple):
        record.args = tuple(
            each if isinstance(each, numbers.Number) else printable_line(str(each))
            for each in record.args
        )
    if record.exc_info and record.exc_info[1] is not None and not record.exc_text:
        # Formatters use this text instead of formatting the traceback.
        record.exc_text = printable_lines(
            "".join(traceback.format_exception(record.exc_info[1]))
        ).rstrip()
    return True
