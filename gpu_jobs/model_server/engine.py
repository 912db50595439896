"""Another engine, such as vLLM, that serves the files which a model server has received, in a container beside it.

Both containers share a folder. The engine's runs a loop in a shell: it starts the engine when it finds the file
`serve`, ends it when that file is gone, and keeps the file `running` from before the one until after the other. So one
container serves one model after the other, and never two workers at once. When its pod is ended it leaves `stopped`.
"""

import logging
import time
from contextlib import suppress
from pathlib import Path

from gpu_jobs.model_server import protocol as wire
from gpu_jobs.model_server.channel import Channel, ChannelClosedError, ChannelError, ChannelTimeoutError
from gpu_jobs.model_server.delivery import Delivered, soon

logger = logging.getLogger(__name__)

PORT_OFFSET = 1
"""The engine listens on the port after the model server's."""
_LOOK_SECONDS = 0.5
_NOTICED_SECONDS = 5.0
"""Within which the loop, which looks once a second, has noticed the file `serve`."""
_SAID_EVERY_SECONDS = 60.0
_LAST_WORDS_SECONDS = 5.0


class Engine:
    """Starts and ends the engine of the other container."""

    def __init__(
        self, control: Path, *, look_seconds: float = _LOOK_SECONDS, noticed_seconds: float = _NOTICED_SECONDS
    ) -> None:
        """Args:
        control: the folder that both containers share.
        look_seconds: between two looks into it.
        noticed_seconds: within which the other container notices a file in it.
        """
        self._serve = control / "serve"
        self._running = control / "running"
        self._stopped = control / "stopped"
        self._look = look_seconds
        self._noticed = noticed_seconds

    def serve(self, channel: Channel, *, folder: Path, device: str) -> None:
        """Have the engine serve the model in a folder until the worker is gone, or the engine has ended by itself.

        Args:
            channel: to the worker, which says nothing more once it has delivered the files.
            folder: with the files.
            device: of torch.

        Raises:
            ChannelError: the worker was gone before the engine began.
        """
        self._serve.touch()
        try:
            delivered = wire.encoded(Delivered(folder=str(folder), device=device))
            channel.send(delivered, deadline=soon(_LAST_WORDS_SECONDS))
            if not self._worker_left(channel):
                logger.warning("the engine has ended while it served a model")
                with suppress(ChannelError):
                    ended = wire.Ended(why="its engine ended")
                    channel.send(wire.encoded(ended), deadline=soon(_LAST_WORDS_SECONDS))
        finally:
            self.stop()

    def stop(self) -> None:
        """End the engine, and wait until it has: the next worker must not meet this one's model."""
        began = said_at = time.monotonic()
        # Without the file there is none that the other container could have noticed and not begun with yet.
        grace = self._noticed if self._serve.exists() else 0.0
        self._serve.unlink(missing_ok=True)
        while self._running.exists() or time.monotonic() - began < grace:
            if self._running.exists():
                grace = 0.0
            if time.monotonic() - said_at >= _SAID_EVERY_SECONDS:
                logger.warning("the engine does not end; no further worker is served before it has")
                said_at = time.monotonic()
            time.sleep(self._look)

    def _worker_left(self, channel: Channel) -> bool:
        """Wait until the worker is gone (True) or the engine has ended (False)."""
        has_run = False
        while not self._stopped.exists() and (self._running.exists() or not has_run):
            has_run = has_run or self._running.exists()
            try:
                channel.receive(most=wire.MOST_SMALL_BYTES, deadline=soon(self._look))
            except ChannelTimeoutError:
                continue
            except ChannelClosedError:
                return True
            except ChannelError as error:
                logger.warning("the worker is sent away: %s", error)
                return True
        return False
