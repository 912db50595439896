"""A command in a fork of the daemon: takes over the caller's streams, folder, environment and signals."""

import io
import os
import signal
import socket
import sys
from typing import Any

from evaluator.cli.warm.channel import receive, send


def begin(connection: socket.socket, *, stamp: str) -> list[str] | None:
    """Become the command that a caller asks for, once it says so. Returns its arguments.

    None, and nothing was changed that matters, if the caller has other conditions or hung up.

    Args:
        connection: to the caller.
        stamp: of this process.
    """
    request, descriptors = receive(connection)
    if request.get("stamp") != stamp or len(descriptors) != 4:
        send(connection, {"other": True})
        return None
    *streams, folder = descriptors
    os.fchdir(folder)
    os.close(folder)
    os.umask(request["umask"])
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    _renew_streams()
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = [request["program"], *request["arguments"]]
    sys.path[:] = request["path"]
    for number in request["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    _renew_consoles()
    send(connection, {"ready": os.getpid()})
    receive(connection)
    return list(request["arguments"])


def _renew_streams() -> None:
    """Streams of the new descriptors, as Python makes them when it starts."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        kept, is_input = getattr(sys, name), name == "stdin"
        buffers = is_input or not kept.write_through
        file: Any = open(number, "rb" if is_input else "wb", buffering=-1 if buffers else 0, closefd=False)  # noqa: SIM115
        stream = io.TextIOWrapper(
            file, encoding=kept.encoding, errors=kept.errors, newline=None if is_input else "\n",
            line_buffering=buffers and (name == "stderr" or file.isatty()), write_through=not buffers,
        )  # fmt: skip
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _renew_consoles() -> None:
    """Consoles look at the terminal and the environment when they are made."""
    from rich.console import Console

    from evaluator.core.commands import usage

    Console.__init__(usage.out)
    Console.__init__(usage.log, stderr=True)
