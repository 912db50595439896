"""Resolution of untrusted host names in a bounded number of threads.

`getaddrinfo` has no timeout and cannot be cancelled, and the name server of an untrusted name may never answer: such a
look-up blocks a thread until the system gives up, which takes up to a minute. `NameResolver` bounds the running
look-ups and the calls that wait for them, in total and per caller, so that the names of one user do not delay others.
"""

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field

LookUp = Callable[[str, int], list[str]]
"""The addresses of a host and port, in order of preference. Raises `OSError`."""


class NameUnresolvedError(Exception):
    """No answer in time, or too many running look-ups; the message is a clause. The name may resolve later."""


def system_look_up(host: str, port: int) -> list[str]:
    """The addresses from the system's resolver. Blocks until the name servers answer.

    Raises:
        OSError: the name does not resolve.
    """
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)  # noqa: TID251 - in a thread of NameResolver
    except UnicodeError as error:
        # Python does not raise OSError for names that cannot be encoded.
        raise socket.gaierror(socket.EAI_NONAME, "it cannot be the name of a host") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def numeric_address(host: str) -> str | None:
    """The address of a host in any numeric form that the system accepts (`0x7f.1`); None for a name.

    Does not query name servers.
    """
    try:
        entries = socket.getaddrinfo(  # noqa: TID251 - does not block with this flag
            host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
        )
    except (OSError, UnicodeError):
        return None
    return str(entries[0][4][0])


@dataclass(slots=True)
class _Running:
    """A look-up in its thread."""

    caller: str
    answer: "Future[list[str]]" = field(default_factory=Future)


class NameResolver:
    """Resolves names, with limits in total and per caller. Concurrent calls for a name share a look-up."""

    def __init__(self, *, most: int = 64, share: int = 4, look_up: LookUp = system_look_up) -> None:
        """
        Args:
            most: running look-ups, and waiting calls, of all callers.
            share: the same per caller.
            look_up: queries the name servers.
        """
        self._most, self._share = most, share
        self._look_up = look_up
        self._lock = threading.Lock()
        self._running: dict[tuple[str, int], _Running] = {}
        self._waiting: Counter[str] = Counter()

    def addresses(self, *, host: str, port: int, seconds: float | None, caller: str = "") -> list[str]:
        """The addresses of a name.

        Args:
            seconds: longest wait; None for that of the system.
            caller: id of the user; empty: only the total limit applies.

        Raises:
            NameUnresolvedError: no answer in time, or, without waiting, too many running look-ups.
            OSError: the name does not resolve.
        """
        with self._look_up_of(host=host, port=port, caller=caller) as answer:
            try:
                return answer.result(timeout=seconds)
            except TimeoutError:
                if answer.done():
                    raise
                raise NameUnresolvedError(f"the name {host} was not resolved in time") from None

    async def addresses_async(self, *, host: str, port: int, seconds: float | None) -> list[str]:
        """Asynchronous `addresses`, without a caller."""
        with self._look_up_of(host=host, port=port, caller="") as answer:
            try:
                async with asyncio.timeout(seconds):
                    return await asyncio.wrap_future(answer)
            except TimeoutError:
                if answer.done():
                    raise
                raise NameUnresolvedError(f"the name {host} was not resolved in time") from None

    def load(self) -> tuple[int, int]:
        """Number of running look-ups, and of waiting calls."""
        with self._lock:
            return len(self._running), self._waiting.total()

    @contextmanager
    def _look_up_of(self, *, host: str, port: int, caller: str) -> "Iterator[Future[list[str]]]":
        """The future answer; the call counts as waiting inside the block."""
        key = (host.lower(), port)
        with self._lock:
            if caller:
                self._check(self._waiting, caller=caller)
            running = self._running.get(key)
            if running is None:
                self._check(Counter(other.caller for other in self._running.values()), caller=caller)
                running = self._running[key] = _Running(caller)
                # A waiting call can no longer cancel it for the others.
                running.answer.set_running_or_notify_cancel()
                threading.Thread(
                    target=self._run, args=(key, host, port, running.answer), name="resolving", daemon=True
                ).start()
            self._waiting[caller] += 1
        try:
            yield running.answer
        finally:
            with self._lock:
                self._waiting[caller] -= 1
                self._waiting += Counter()  # drops callers with a count of zero

    def _check(self, counts: Counter[str], *, caller: str) -> None:
        if counts.total() >= self._most or (caller and counts[caller] >= self._share):
            raise NameUnresolvedError("too many names are being resolved at the moment")

    def _run(self, key: tuple[str, int], host: str, port: int, answer: "Future[list[str]]") -> None:
        addresses: list[str] = []
        problem: BaseException | None = None
        try:
            addresses = self._look_up(host, port)
        except BaseException as error:  # noqa: BLE001 - raised in the waiting calls
            problem = error
        with self._lock:
            del self._running[key]
        if problem is None:
            answer.set_result(addresses)
        else:
            answer.set_exception(problem)


NAMES = NameResolver()
"""The resolver of this process."""
