"""`python -m evaluator.cli.warm.serving STAMP MINUTES`: the daemon. Imports what commands need, waits, and forks.

It has one thread, and computes nothing: a fork has no threads but the one that forks, so that a library that waited for
its threads would wait for ever. It reads nothing that a caller sends.
"""

import atexit
import gc
import os
import select
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from evaluator.cli.warm.channel import ChannelError, check_peer, checked_folder, folder_of, send, socket_in, stop
from evaluator.cli.warm.child import begin
from evaluator.cli.warm.conditions import COMMANDS, code_stamp
from evaluator.core.process import import_without_collection, settle_process
from evaluator.core.suites.plug_ins import suite_packages

BLOCKED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
"""Signals that wait in a fork until it is the command."""
_LOOK_SECONDS = 30.0
"""How often it looks whether another daemon has taken its place."""
_MOST_AT_ONCE = 32
_ALSO = (
    "evaluator.cli.comparison",
    "evaluator.planners.bundled",
    "evaluator.planners.named",
    "evaluator.planners.strategies.registry",
    "evaluator.interop.imports.planner",
    "evaluator.episodes.execution",
    "evaluator.scoring.metrics.aggregate",
    "evaluator.scoring.uncertainty",
    "evaluator.reliability.command",
    "evaluator.execution.engine.opening",
    "evaluator.miniature.lilliput_samples",
    "evaluator.execution.engine.pool",
    "pydantic.type_adapter",
    "rich._emoji_codes",
    "typer._click.decorators",
)
"""What commands import only when they need it."""


def preload() -> None:
    """Import what commands need, and nothing that starts a thread."""
    from evaluator.cli.main import member, program, quieten

    quieten()
    settle_process(os.environ)
    for command in sorted(COMMANDS):
        member(program(), command)
    for name in _ALSO:
        import_without_collection(name)
    from evaluator.execution.experts.implementations import implementation_of
    from evaluator.execution.experts.profile import load_profile

    for spec in load_profile("lilliput").experts.values():
        implementation_of(spec.implementation).factory()
    from PIL import Image

    Image.preinit()


def has_one_thread() -> bool:
    """Whether this process has one thread after a fork. OpenBLAS, which numpy loads, ends its own before each fork, and
    starts them again where they are needed."""
    if (pid := os.fork()) == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return len(list(Path("/proc/self/task").iterdir())) == 1


def leave_at_once(code: object) -> None:
    """End a fork as the interpreter would, but without taking apart what was loaded, which takes three times as long as
    a small evaluation. Returns where that is not the same."""
    if not (code is None or isinstance(code, int)):
        return
    # As in `Py_FinalizeEx`: waits for threads, pools of executors included. Neither has a public name: only the end of
    # the interpreter calls them, and that end is what this avoids.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return
    os._exit((code or 0) & 0xFF)


@dataclass(slots=True)
class _Fork:
    """A command that runs."""

    pid: int
    watch: int
    """A descriptor that is readable once the process has ended."""
    connection: socket.socket
    """To the caller."""
    has_ended: bool = False


class Daemon:
    """Listens, forks, and tells callers how their forks ended."""

    def __init__(self, *, folder: Path, idle_seconds: float) -> None:
        """Args:
        folder: of the socket; a daemon that listens there is told to end.
        idle_seconds: time without a command after which it ends.
        """
        self._path = socket_in(folder)
        self._idle_seconds = idle_seconds
        self._forks: list[_Fork] = []
        self._poll = select.poll()
        own = folder / f"daemon.{os.getpid()}"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(own))
        self._listener.listen(_MOST_AT_ONCE)
        self._inode = own.stat().st_ino
        own.rename(self._path)
        self._listens = True
        self._poll.register(self._listener, select.POLLIN)
        signal.signal(signal.SIGTERM, lambda *_: self._end())

    def next_child(self) -> socket.socket | None:
        """Serve until there is nothing to do. Returns the connection to the caller in a fork, and None at the end."""
        last = time.monotonic()
        while self._forks or (self._listens and time.monotonic() - last < self._idle_seconds):
            for number, _ in self._poll.poll(1000 * min(self._idle_seconds, _LOOK_SECONDS)):
                if self._listens and number == self._listener.fileno():
                    connection = self._accepted()
                    if connection is not None and not self._is_parent(connection):
                        return connection
                else:
                    self._settle(number)
                last = time.monotonic()
            if self._listens and not self._is_current():
                self._end()
        self._end()
        return None

    def _accepted(self) -> socket.socket | None:
        connection, _ = self._listener.accept()
        try:
            check_peer(connection)
        except ChannelError:
            connection.close()
            return None
        if len(self._forks) >= _MOST_AT_ONCE:
            connection.close()
            return None
        return connection

    def _is_parent(self, connection: socket.socket) -> bool:
        """Fork. True in this process, False in the new one, where signals are blocked and nothing else is open."""
        signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
        pid = os.fork()
        if pid == 0:
            self._listener.close()
            for fork in self._forks:
                os.close(fork.watch)
                fork.connection.close()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            return False
        signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED)
        fork = _Fork(pid=pid, watch=os.pidfd_open(pid), connection=connection)
        self._forks.append(fork)
        self._poll.register(fork.watch, select.POLLIN)
        # Only whether the caller hangs up: what it sends is for the fork.
        self._poll.register(connection, select.POLLRDHUP)
        return True

    def _settle(self, number: int) -> None:
        """React to the end of a fork or of its caller."""
        fork = next((fork for fork in self._forks if number in {fork.watch, fork.connection.fileno()}), None)
        if fork is None:
            return
        if number == fork.watch:
            # It stays a zombie until the caller hangs up, so that nobody else gets its number, to which the caller
            # sends signals.
            ended = os.waitid(os.P_PID, fork.pid, os.WEXITED | os.WNOWAIT)
            self._poll.unregister(fork.watch)
            fork.has_ended = True
            with suppress(OSError):
                if ended is not None:
                    is_exit = ended.si_code == os.CLD_EXITED
                    send(fork.connection, {"code" if is_exit else "signal": ended.si_status})
            return
        if not fork.has_ended:
            # A caller that is killed takes its fork with it, as if both were one.
            os.kill(fork.pid, signal.SIGKILL)
            self._poll.unregister(fork.watch)
        self._poll.unregister(fork.connection)
        os.waitpid(fork.pid, 0)
        os.close(fork.watch)
        fork.connection.close()
        self._forks.remove(fork)

    def _is_current(self) -> bool:
        """Whether the socket in the folder is this daemon's."""
        try:
            return self._path.stat().st_ino == self._inode
        except OSError:
            return False

    def _end(self) -> None:
        """Take no more commands; leave at once if none runs."""
        if self._listens:
            self._listens = False
            self._poll.unregister(self._listener)
            if self._is_current():
                self._path.unlink()
            self._listener.close()
        if not self._forks:
            os._exit(0)


def main() -> None:
    """Serve; in a fork, run the command and exit as it does."""
    given, minutes = sys.argv[1], float(sys.argv[2])
    if next(suite_packages(), None) is not None:
        sys.exit("suites of other packages are loaded with PlanArena's, and may be edited in place")
    preload()
    if code_stamp() != given.partition("-")[0]:
        sys.exit("the code has changed while it was loaded")
    if not has_one_thread():
        sys.exit("what was loaded has threads, which forks would lack")
    gc.collect()
    # What was loaded is never garbage; examining it would copy its pages in every fork.
    gc.freeze()
    folder = checked_folder(folder_of(os.environ), create=True)
    stop(os.environ)
    connection = Daemon(folder=folder, idle_seconds=60 * minutes).next_child()
    if connection is None:
        return
    try:
        with connection:
            arguments = begin(connection, stamp=given)
    except (ChannelError, OSError):
        os._exit(1)
    if arguments is None:
        os._exit(0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED)
    from evaluator.cli.main import main as run

    try:
        run(arguments)
    except SystemExit as end:
        leave_at_once(end.code)
        raise


if __name__ == "__main__":
    main()
