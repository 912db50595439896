"""Opens models in servers of other containers (`serving`): finds a free server, and sends it the model's files."""

import logging
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from evaluator.core.canonical_json import JsonValue
from evaluator.planners.language_models import ModelError, ModelUnusableError
from evaluator.sandbox.isolation.address import Address
from gpu_jobs.model_server import protocol as wire
from gpu_jobs.model_server.channel import (
    Channel,
    ChannelClosedError,
    ChannelError,
    ServerEndedError,
    ServerLostError,
)
from gpu_jobs.model_server.client import DEADLINES, Deadlines, NoServerFreeError, RemoteModel
from gpu_jobs.model_server.delivery import Delivered, DeliveryError, deliver, is_plain, soon
from gpu_jobs.model_server.isolation.code import model_files

logger = logging.getLogger(__name__)

PATIENCE = "PLANARENA_MODEL_SERVER_SECONDS"
_PATIENCE_SECONDS = 900.0
_CONNECT_SECONDS, _HELLO_SECONDS = 5.0, 10.0
DELIVERY_SECONDS = 1800.0
_TRIES = 3
_POLL_SECONDS = 1.0


class RemoteChannel(Channel):
    """A channel to a supervisor, which reports the end of the model's process; any other end is the platform's."""

    def send(self, data: bytes, *, deadline: float | None = None) -> None:
        """See `Channel.send`."""
        try:
            super().send(data, deadline=deadline)
        except ChannelClosedError as error:
            # The supervisor's last message may still be unread.
            with suppress(ChannelError, ValidationError):
                last = super().receive(most=wire.MOST_ANSWER_BYTES, deadline=soon(1.0))
                raise ServerEndedError(wire.Ended.model_validate_json(last).why) from None
            raise ServerLostError(f"the connection ended ({error})") from None

    def receive(self, *, most: int, deadline: float | None = None) -> bytes:
        """See `Channel.receive`."""
        try:
            return super().receive(most=most, deadline=deadline)
        except ChannelClosedError as error:
            raise ServerLostError(f"the connection ended ({error})") from None


class RemoteServer:
    """A model server in another container (`client.RunningServer`)."""

    def __init__(self, connection: socket.socket, *, address: Address) -> None:
        self.channel: Channel = RemoteChannel(connection)
        self.address = address

    def close(self) -> None:
        """Close the connection, which frees the server."""
        self.channel.close()

    def end_in_words(self) -> str:
        """Unused: the channel's exceptions have the reason."""
        return "its connection ended"

    def output(self) -> str:
        """A reference to its log in the cluster."""
        return f"in the log of the model server at {self.address}"


@dataclass(frozen=True, slots=True)
class _Placed:
    folder: Path
    server: RemoteServer
    delivered: Delivered


class RemoteOpener:
    """Opens models in model servers of other containers (`opening.ModelOpener`, `opening.Delivers`)."""

    def __init__(
        self,
        address: Address,
        *,
        patience_seconds: float = _PATIENCE_SECONDS,
        deadlines: Deadlines = DEADLINES,
        poll_seconds: float = _POLL_SECONDS,
    ) -> None:
        """Args:
        address: of the servers.
        patience_seconds: how long to look for a free server, whose pod may wait for a GPU.
        deadlines: of the model.
        poll_seconds: interval of attempts.
        """
        self.is_shared = not address.path
        self._address = address
        self._patience = patience_seconds
        self._deadlines = deadlines
        self._poll = poll_seconds
        self._placed: _Placed | None = None

    def deliver(self, folder: Path) -> None:
        """Send a model's files to a free server.

        Raises:
            ModelUnusableError: the folder contains files that no server accepts.
            ModelError: there is no free server, or it was lost; a retry may succeed.
        """
        self.drop()
        server, delivered = self.placed(folder)
        self._placed = _Placed(folder, server, delivered)

    def __call__(self, folder: Path, *, name: str, device: str, source: Mapping[str, JsonValue]) -> RemoteModel:
        """See `opening.ModelOpener`. The server's device is used."""
        del device
        if self._placed is None or self._placed.folder != folder:
            self.deliver(folder)
        placed, self._placed = self._placed, None
        assert placed is not None
        return RemoteModel(
            placed.server, folder=folder, inside=placed.delivered.folder, name=name, device=placed.delivered.device,
            source=source, threads=placed.delivered.threads, deadlines=self._deadlines,
        )  # fmt: skip

    def drop(self) -> None:
        """Release a server with a model's files that was not opened."""
        if self._placed is not None:
            self._placed.server.close()
            self._placed = None

    def placed(self, folder: Path) -> tuple[RemoteServer, Delivered]:
        """A free server that has received a model's files. Raises as `deliver` does."""
        files = plain_files(folder)
        for tries_left in reversed(range(_TRIES)):
            server = self._free_server()
            try:
                reply = deliver(files, channel=server.channel, deadline=soon(DELIVERY_SECONDS))
            except (ChannelError, DeliveryError, OSError) as error:
                server.close()
                logger.warning("%s: the model's files were not delivered: %s", self._address, error)
                if not tries_left:
                    raise ModelError(f"The model's files did not reach the model server: {error}.") from None
                continue
            if isinstance(reply, Delivered):
                return server, reply
            server.close()
            raise (ModelUnusableError if reply.unusable else ModelError)(reply.message)
        raise AssertionError("the last try returns or raises")

    def _free_server(self) -> RemoteServer:
        until = time.monotonic() + self._patience
        while True:
            problem = "it has no address"
            try:
                for address in self._address.resolve():
                    try:
                        return greeted(address)
                    except (OSError, ChannelError, ValidationError) as error:
                        problem = _in_words(error)
            except OSError as error:
                problem = _in_words(error)
            if time.monotonic() >= until:
                raise NoServerFreeError(
                    f"No model server was free at {self._address} within {self._patience:g} seconds ({problem})."
                )
            time.sleep(min(self._poll, max(0.0, until - time.monotonic())))


def greeted(address: Address, *, hello_seconds: float = _HELLO_SECONDS) -> RemoteServer:
    """A connection to a server after its `Hello`.

    Raises:
        OSError: nothing listens there.
        ChannelError: it serves another worker, or is not a model server.
        ValidationError: the message is not `Hello`.
    """
    server = RemoteServer(address.connected(seconds=_CONNECT_SECONDS), address=address)
    try:
        data = server.channel.receive(most=wire.MOST_SMALL_BYTES, deadline=soon(hello_seconds))
        hello = wire.Hello.model_validate_json(data)
        if hello.version != wire.VERSION:
            raise ChannelError(f"it has version {hello.version} of the protocol, not {wire.VERSION}")
    except BaseException:
        server.close()
        raise
    return server


def plain_files(folder: Path) -> dict[str, Path]:
    """The files to deliver.

    Raises:
        ModelUnusableError: a name is not allowed, or a file is a link out of the folder.
    """
    files = model_files(folder)
    for name in files:
        if not is_plain(name):
            raise ModelUnusableError(f"The model has a file with the name {name[:100]!r}, which is not allowed.")
    if not files:
        raise ModelUnusableError("The model has no files.")
    return files


def patience_seconds() -> float:
    """The value of `PLANARENA_MODEL_SERVER_SECONDS`."""
    text = os.environ.get(PATIENCE, "")
    return float(text) if text.isdecimal() and int(text) else _PATIENCE_SECONDS


def _in_words(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return "it does not send Hello"
    return str(error) or type(error).__name__
