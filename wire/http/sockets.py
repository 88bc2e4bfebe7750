"""Functions on the socket of a connection, whichever event loop owns it."""

from __future__ import annotations

import errno
import math
import os
import select
import socket
from typing import Any


def shut_down(connection: Any) -> bool:
    """Shut a socket down: closing it would not wake a thread that waits in `recv`.

    Returns false if `connection` has no open socket: it was closed, or TLS has taken it over.
    """
    if connection is None:
        return False
    try:
        descriptor = connection.fileno()
        if descriptor < 0:
            return False
        if isinstance(connection, socket.socket):
            # Not `SSLSocket.shutdown`, which removes TLS from the socket. A reader would then take
            # the encrypted bytes that have arrived for the response.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
        else:
            with socket.fromfd(descriptor, socket.AF_INET, socket.SOCK_STREAM) as copy:
                # The event loop may have closed the socket after `fileno`. Its descriptor may then
                # be that of another connection, which must not be shut down.
                if connection.fileno() != descriptor:
                    return False
                copy.shutdown(socket.SHUT_RDWR)
    except ValueError:
        return False  # closed meanwhile
    except OSError as error:
        # Without EBADF, the other side has closed it, and the reader wakes in any case.
        return error.errno != errno.EBADF
    return True


def has_arrived(connection: Any) -> bool:
    """Return whether a socket has bytes to read, or has reached its end. A closed socket has."""
    try:
        descriptor = connection.fileno()
        if hasattr(select, "poll"):  # `select` refuses descriptors above 1023
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            return bool(poll.poll(0))
        return bool(select.select([descriptor], [], [], 0)[0])
    except (OSError, ValueError):
        return True


def is_ready(connection: Any, seconds: float, *, writes: bool = False) -> bool:
    """Wait until a socket has bytes to read; with `writes`, also until it takes bytes.

    Returns false after so many seconds. A closed socket is ready.
    """
    wait = None if seconds == math.inf else max(0.0, seconds)
    try:
        descriptor = connection.fileno()
        if hasattr(select, "poll"):  # `select` refuses descriptors above 1023
            poll = select.poll()
            poll.register(descriptor, select.POLLIN | (select.POLLOUT if writes else 0))
            return bool(poll.poll(None if wait is None else math.ceil(wait * 1000)))
        written = [descriptor] if writes else []
        return any(select.select([descriptor], written, [], wait))
    except (OSError, ValueError):
        return True


def inode(connection: Any) -> int | None:
    """Return the inode of a socket: another file may reuse the descriptor after it is closed."""
    try:
        return os.fstat(connection.fileno()).st_ino if os.name == "posix" else None
    except (AttributeError, OSError):
        return None


def cut_off(connection: Any, known_inode: int | None) -> None:
    """Close this process's descriptor of a socket, and nothing else.

    Nothing is sent, not even TLS's close_notify, and the connection is not shut down, because
    another process may still use it.
    """
    if isinstance(connection, socket.socket):
        connection.close()
    elif known_inode is not None and known_inode == inode(connection):
        # The socket belongs to an event loop that has ended or is the parent's, and cannot close it
        # now. The loop may still close the descriptor later. /dev/null takes the number until then;
        # otherwise that close could hit an unrelated new file.
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, connection.fileno(), inheritable=False)
        os.close(null)
