"""A process of programs in another pod or container, as `serving` offers it."""

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
"""Where programs run; empty: in processes of this machine."""
_START_SECONDS = 60.0
"""For a server with all connections in use, until one is closed."""
_SPARE_SECONDS = 15.0
_MOST_HELLO = 64 * 1024
_ENDING = TypeAdapter(Ending)


class Running(Protocol):
    """A process of programs, wherever it is. Not for use by several threads at a time."""

    layers: frozenset[Layer]
    """Those that hold."""
    missing: dict[Layer, str]
    """Those that do not, and why."""

    @property
    def pid(self) -> int:
        """The id of the process; 0 for one elsewhere."""
        ...

    def run(self, request: str, *, most_bytes: int) -> tuple[bytes, Ending]:
        """Run one program; see `Worker.run`."""
        ...

    def close(self) -> None:
        """End the process."""
        ...


def opened(*, layers: frozenset[Layer], limits: Limits, library: Sequence[str]) -> Running:
    """A process of programs where the environment says.

    Raises:
        WorkerError: it does not start, or cannot be reached.
    """
    where = os.environ.get(VARIABLE, "").strip()
    if not where:
        return Worker(layers=layers, limits=limits, library=library)
    try:
        return RemoteWorker(parse_address(where), limits=limits, library=library)
    except ValueError as error:
        raise WorkerError(f"{VARIABLE}: {error}.") from None


class RemoteWorker:
    """A connection to a server of programs, which is opened again when it was closed."""

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
        """No process of this machine."""
        return 0

    def run(self, request: str, *, most_bytes: int) -> tuple[bytes, Ending]:
        """Run one program. Programs have no effects, so one that the server lost is sent a second time.

        Raises:
            WorkerError: the server cannot be reached, or does not answer. It must be closed.
        """
        try:
            return self._asked(request, most_bytes=most_bytes)
        except WorkerError:
            self.close()
            self._connection = self._connected()
            return self._asked(request, most_bytes=most_bytes)

    def close(self) -> None:
        """Close the connection, which ends the process."""
        self._connection.close()

    def _connected(self) -> socket.socket:
        try:
            found = next(iter(self._address.found()))
            connection = found.connected(seconds=_START_SECONDS)
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

    def _asked(self, request: str, *, most_bytes: int) -> tuple[bytes, Ending]:
        try:
            self._connection.settimeout(self._limits.wall_seconds + _SPARE_SECONDS)
            send(self._connection, json.dumps({"program": request, "most_bytes": most_bytes}).encode())
            ending = _ENDING.validate_json(receive(self._connection, most_bytes=_MOST_HELLO), strict=True)
            return receive(self._connection, most_bytes=most_bytes), ending
        except (OSError, FrameError, ValidationError) as error:
            raise WorkerError(f"The server of programs at {self._address} does not answer ({error}).") from None
