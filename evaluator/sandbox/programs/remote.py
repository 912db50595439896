"""Client of `serving`: a process of programs in another pod or container."""

import json
import os
import socket
from collections.abc import Sequence
from dataclasses import asdict
from typing import Protocol

from pydantic import TypeAdapter, ValidationError

from evaluator.sandbox.isolation.address import Address, parse_address
from evaluator.sandbox.programs.frames import FrameError, receive, send
from evaluator.sandbox.programs.wire import Layer, Limits, Settings
from evaluator.sandbox.programs.worker import Ending, Worker, WorkerError

VARIABLE = "PLANARENA_PROGRAMS"
"""Address of the server of programs; if empty, programs run in processes of this machine."""
_START_SECONDS = 60.0
"""While all connections of a server are in use, wait for one to close."""
_SPARE_SECONDS = 15.0
_MOST_HELLO = 64 * 1024
_ENDING = TypeAdapter(Ending)


class Running(Protocol):
    """A local or remote process of programs. Not thread-safe."""

    layers: frozenset[Layer]
    """Active layers."""
    missing: dict[Layer, str]
    """Failed layers, with the reason."""

    @property
    def pid(self) -> int:
        """The process id; 0 if remote."""
        ...

    def run(self, request: str, *, most_bytes: int) -> tuple[bytes, Ending]:
        """Run one program; see `Worker.run`."""
        ...

    def close(self) -> None:
        """Kill the process."""
        ...


def opened(*, layers: frozenset[Layer], limits: Limits, library: Sequence[str]) -> Running:
    """A process of programs, local or remote as `VARIABLE` says.

    Raises:
        WorkerError: it does not start, or cannot be reached.
    """
    address = os.environ.get(VARIABLE, "").strip()
    if not address:
        return Worker(layers=layers, limits=limits, library=library)
    try:
        return RemoteWorker(parse_address(address), limits=limits, library=library)
    except ValueError as error:
        raise WorkerError(f"{VARIABLE}: {error}.") from None


class RemoteWorker:
    """A connection to a server of programs, reopened after it was closed."""

    def __init__(self, address: Address, *, limits: Limits, library: Sequence[str]) -> None:
        """Connect.

        Raises:
            WorkerError: the server cannot be reached, or refuses.
        """
        self._address, self._limits = address, limits
        self._settings = Settings(layers=(), limits=asdict(limits), library=tuple(library))
        self._connection = self._connected()

    @property
    def pid(self) -> int:
        """0: not a process of this machine."""
        return 0

    def run(self, request: str, *, most_bytes: int) -> tuple[bytes, Ending]:
        """Run one program. Programs have no side effects, so one that the server lost is sent again once.

        Raises:
            WorkerError: the server cannot be reached, or does not answer. It must be closed.
        """
        try:
            return self._answer(request, most_bytes=most_bytes)
        except WorkerError:
            self.close()
            self._connection = self._connected()
            return self._answer(request, most_bytes=most_bytes)

    def close(self) -> None:
        """Close the connection, which kills the process."""
        self._connection.close()

    def _connected(self) -> socket.socket:
        try:
            connection = next(self._address.resolve()).connected(seconds=_START_SECONDS)
        except (OSError, StopIteration) as error:
            raise WorkerError(f"The server of programs at {self._address} cannot be reached: {error}.") from None
        try:
            connection.settimeout(_START_SECONDS)
            send(connection, self._settings.dumps().encode())
            hello = json.loads(receive(connection, most_bytes=_MOST_HELLO))
            if "error" in hello:
                raise WorkerError(str(hello["error"])[:1000])
            self.layers = frozenset(map(Layer, hello["layers"]))
            self.missing = {Layer(name): str(why)[:200] for name, why in hello["missing"].items()}
        except (OSError, FrameError, ValueError, KeyError, TypeError, AttributeError, WorkerError) as error:
            connection.close()
            raise WorkerError(f"The server of programs at {self._address} does not start one ({error}).") from None
        return connection

    def _answer(self, request: str, *, most_bytes: int) -> tuple[bytes, Ending]:
        try:
            self._connection.settimeout(self._limits.wall_seconds + _SPARE_SECONDS)
            send(self._connection, json.dumps({"program": request, "most_bytes": most_bytes}).encode())
            ending = _ENDING.validate_json(receive(self._connection, most_bytes=_MOST_HELLO), strict=True)
            return receive(self._connection, most_bytes=most_bytes), ending
        except (OSError, FrameError, ValidationError) as error:
            raise WorkerError(f"The server of programs at {self._address} does not answer ({error}).") from None
