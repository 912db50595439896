"""Names of servers that strangers choose, resolved in a bounded number of threads.

`getaddrinfo` takes no timeout and cannot be cancelled, and whoever chose the name may run a name server that never
answers: each such look-up costs a thread until the system gives up, which takes it up to a minute. `NameResolver` is
the only caller of `getaddrinfo` for such names. It bounds look-ups under way and calls that wait for them, in total and
by the caller on whose behalf they are made, so that nobody's names delay the look-ups of others.
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
"""The addresses of a host and port, in the order of preference. Raises `OSError`."""


class NameUnresolvedError(Exception):
    """No answer in time, or too many look-ups are under way; the message is a clause. It may resolve later."""


def system_look_up(host: str, port: int) -> list[str]:
    """The addresses that the system's resolver gives. Blocks for as long as name servers make it.

    Raises:
        OSError: the name does not resolve.
    """
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)  # noqa: TID251 - in a thread of NameResolver
    except UnicodeError as error:
        # Names that cannot be encoded are no error of the system to Python.
        raise socket.gaierror(socket.EAI_NONAME, "it cannot be the name of a host") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def numeric_address(host: str) -> str | None:
    """The address that a host is written as, in any form that the system accepts (`0x7f.1`); None: it is a name.

    Asks no name server.
    """
    try:
        found = socket.getaddrinfo(  # noqa: TID251 - with this flag it never waits
            host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
        )
    except (OSError, UnicodeError):
        return None
    return str(found[0][4][0])


@dataclass(slots=True)
class _UnderWay:
    """A look-up in its thread."""

    caller: str
    answer: "Future[list[str]]" = field(default_factory=Future)


class NameResolver:
    """Resolves names for callers, each of whom has a share of its threads and of the calls that wait for them.

    Calls for one name at the same time share a look-up.
    """

    def __init__(self, *, most: int = 64, share: int = 4, look_up: LookUp = system_look_up) -> None:
        """
        Args:
            most: look-ups under way, and calls that wait for one; of all callers.
            share: the same of one caller.
            look_up: asks the name servers; tests give a fake.
        """
        self._most, self._share = most, share
        self._look_up = look_up
        self._lock = threading.Lock()
        self._under_way: dict[tuple[str, int], _UnderWay] = {}
        self._waiting: Counter[str] = Counter()

    def addresses(self, *, host: str, port: int, seconds: float | None, caller: str = "") -> list[str]:
        """The addresses of a name.

        Args:
            seconds: how long to wait at most; None: as long as the system does.
            caller: on whose behalf, as an id; empty: nobody's in particular, bounded by the total alone.

        Raises:
            NameUnresolvedError: there was no answer in time, or too many look-ups are under way; nothing was waited
                for in that case.
            OSError: the name does not resolve.
        """
        with self._asked(host=host, port=port, caller=caller) as answer:
            try:
                return answer.result(timeout=seconds)
            except TimeoutError:
                if answer.done():
                    raise
                raise NameUnresolvedError(f"the name {host} was not resolved in time") from None

    async def addresses_async(self, *, host: str, port: int, seconds: float | None) -> list[str]:
        """As `addresses`, for nobody in particular; the event loop goes on meanwhile."""
        with self._asked(host=host, port=port, caller="") as answer:
            try:
                async with asyncio.timeout(seconds):
                    return await asyncio.wrap_future(answer)
            except TimeoutError:
                if answer.done():
                    raise
                raise NameUnresolvedError(f"the name {host} was not resolved in time") from None

    def load(self) -> tuple[int, int]:
        """Look-ups under way, and calls that wait for one."""
        with self._lock:
            return len(self._under_way), self._waiting.total()

    @contextmanager
    def _asked(self, *, host: str, port: int, caller: str) -> "Iterator[Future[list[str]]]":
        """The answer to come; counts as waiting inside the block."""
        key = (host.lower(), port)
        with self._lock:
            if caller:
                self._check(self._waiting, caller=caller)
            under_way = self._under_way.get(key)
            if under_way is None:
                self._check(Counter(one.caller for one in self._under_way.values()), caller=caller)
                under_way = self._under_way[key] = _UnderWay(caller)
                # From now on nobody who waits for it can cancel it for the others.
                under_way.answer.set_running_or_notify_cancel()
                look_up = threading.Thread(
                    target=self._run, args=(key, host, port, under_way.answer), name="resolving", daemon=True
                )
                look_up.start()
            self._waiting[caller] += 1
        try:
            yield under_way.answer
        finally:
            with self._lock:
                self._waiting[caller] -= 1
                # Forgets those who wait for nothing.
                self._waiting += Counter()

    def _check(self, counted: Counter[str], *, caller: str) -> None:
        if counted.total() >= self._most or (caller and counted[caller] >= self._share):
            raise NameUnresolvedError("too many names are being resolved at the moment")

    def _run(self, key: tuple[str, int], host: str, port: int, answer: "Future[list[str]]") -> None:
        found: list[str] = []
        problem: BaseException | None = None
        try:
            found = self._look_up(host, port)
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            problem = error
        with self._lock:
            del self._under_way[key]
        if problem is None:
            answer.set_result(found)
        else:
            answer.set_exception(problem)


NAMES = NameResolver()
"""The resolver of this process."""
