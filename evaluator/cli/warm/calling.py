"""The command's side: hand arguments, environment and streams to a fork of the daemon, and end as it does.

Imports only the standard library.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType

from evaluator.cli.warm.channel import ChannelError, connect, receive, send
from evaluator.cli.warm.conditions import environment_of_daemon, may_use, minutes_of, stamp
from evaluator.core.commands.exit_codes import ExitCode

_READY_SECONDS = 1.0
"""How long a command waits for its fork. Then it runs by itself."""
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True, slots=True)
class Call:
    """A command that may run in a fork of the daemon, as its process was when it began."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    stamp: str

    @classmethod
    def of(cls, *, command: str, arguments: Sequence[str], environment: Mapping[str, str]) -> "Call | None":
        """The call of a command; None if it must run without the daemon.

        Args:
            command: its name.
            arguments: all words of the command line.
            environment: the process's own.
        """
        if not may_use(command=command, arguments=arguments, environment=environment):
            return None
        return cls(arguments=list(arguments), environment=dict(environment), stamp=stamp(environment))

    def run(self) -> int | None:
        """Run it in a fork of the user's daemon, if there is one that fits.

        Returns:
            Its exit code; None if it did not begin and must run here. Ends by a signal if the fork does.
        """
        try:
            connection = connect(self.environment, seconds=_READY_SECONDS)
        except ChannelError:
            return None
        with connection:
            return self._run(connection)

    def start_daemon(self) -> int | None:
        """Start a daemon for such calls in the background; it takes the place of the user's. Returns its process."""
        minutes = minutes_of(self.environment)
        if minutes is None:
            return None
        process = subprocess.Popen(  # noqa: S603 - this program
            [sys.executable, "-m", "evaluator.cli.warm.serving", self.stamp, str(minutes)],
            # Not the caller's folder, which could not be unmounted then, and has no modules.
            cwd="/",
            env=environment_of_daemon(self.environment)
            | {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        # It outlives this process, which has nothing to wait for.
        process.returncode = 0
        return process.pid

    def _run(self, connection: socket.socket) -> int | None:
        folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
        mask = os.umask(0)
        os.umask(mask)
        ignored = [number for number in _FORWARDED if signal.getsignal(number) is signal.SIG_IGN]
        request = {
            "stamp": self.stamp, "arguments": self.arguments, "environment": self.environment, "umask": mask,
            "program": sys.argv[0], "path": sys.path, "ignored": ignored,
        }  # fmt: skip
        try:
            send(connection, request, descriptors=[0, 1, 2, folder])
            answer, _ = receive(connection)
            child = int(answer["ready"])
            # The fork waits for `begin`, so that its number is still its own.
            handle = os.pidfd_open(child)
        except (ChannelError, OSError, KeyError, TypeError, ValueError):
            # The fork waits for the order to begin, so nothing has run.
            return None
        finally:
            os.close(folder)
        _forward(child)
        connection.settimeout(None)
        try:
            send(connection, {"begin": True})
            ended, _ = receive(connection)
        except (ChannelError, OSError):
            # Nobody else would: the daemon, whose child it is, is gone.
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            sys.stderr.write("planarena: the daemon was ended during the command, and the command with it\n")
            return ExitCode.INFRASTRUCTURE
        finally:
            os.close(handle)
        if killed := int(ended.get("signal", 0)):
            if killed != signal.SIGKILL:
                signal.signal(killed, signal.SIG_DFL)
            os.kill(os.getpid(), killed)
        return int(ended.get("code", ExitCode.INFRASTRUCTURE))


def _forward(child: int) -> None:
    """Have signals reach the fork, which is in no terminal's group of processes. It stops and continues with this one.

    Its number is its own until this process has hung up, since the daemon waits for that.
    """

    def forward(number: int, _frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(child, number)

    def stop(_number: int, _frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGCONT)

    for number in _FORWARDED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, forward)
    signal.signal(signal.SIGTSTP, stop)
