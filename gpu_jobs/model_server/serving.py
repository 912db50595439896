"""`python -m gpu_jobs.model_server.serving`: a model server in a separate container.

Accepts one worker at a time, receives its model's files, starts the model's process in this container's sandbox, and
relays frames between the two until one of them is gone. Then it kills the process with all its children, removes the
files, and accepts the next worker; meanwhile connections are refused. This process loads no submitted code. It outlives
the model's process and reports its end, so that workers can distinguish a model's fault from an evicted pod.

After SIGTERM it accepts no further worker and exits after the current one.
"""

import argparse
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from evaluator.execution.engine.opening import parse_size
from evaluator.planners.language_models import ModelError, ModelUnusableError
from evaluator.sandbox.isolation.address import Address, kept_alive, parse_address
from gpu_jobs.metrics import Metrics, serve_from
from gpu_jobs.model_server import protocol as wire
from gpu_jobs.model_server.channel import Channel, ChannelClosedError, ChannelError
from gpu_jobs.model_server.delivery import (
    Deliver,
    Delivered,
    DeliveryError,
    announced_files,
    emptied,
    receive_files,
    soon,
)
from gpu_jobs.model_server.isolation.sandbox import Sandbox, detected
from gpu_jobs.model_server.opening import most_memory, threads_here
from gpu_jobs.model_server.process import ServerProcess

logger = logging.getLogger(__name__)
ANNOUNCE_SECONDS = 30.0
"""Time limit of a client's announcement, after which it is disconnected."""
DELIVERY_SECONDS = 1800.0
"""Time limit of all files."""
_LAST_WORDS_SECONDS = 5.0
_LOOK_SECONDS = 0.5
"""Interval of checks for SIGTERM."""
_LONGEST_SENTENCE = 2000


def serve_one(
    listener: socket.socket,
    *,
    folder: Path,
    device: str,
    most_bytes: int,
    sandbox: Sandbox,
    draining: threading.Event | None = None,
    metrics: Metrics | None = None,
) -> None:
    """Serve one worker, or none if `draining` is set before one connects.

    Args:
        listener: closed once there is a worker, so that the kernel refuses others.
        folder: for the model's files; its content is removed before and afterwards.
        device: of torch.
        most_bytes: of all files together.
        sandbox: of the model's process.
        draining: set when no further worker should be accepted; None: never.
        metrics: of `server_metrics`; None: nobody reads them.
    """
    metrics = metrics or server_metrics()
    emptied(folder)
    worker = _first_worker(listener, most_bytes=most_bytes, draining=draining or threading.Event())
    listener.close()
    if worker is None:
        return
    channel, request = worker
    metrics.add("planarena_model_server_workers_total")
    metrics.set("planarena_model_server_busy", 1.0)
    began = time.monotonic()
    try:
        _serve(channel, request=request, folder=folder, device=device, sandbox=sandbox)
    except (ChannelError, OSError, DeliveryError) as error:
        logger.warning("the worker is gone: %s", error)
    finally:
        metrics.set("planarena_model_server_busy", 0.0)
        metrics.add("planarena_model_server_seconds_total", time.monotonic() - began)
        channel.close()
        emptied(folder)


def server_metrics() -> Metrics:
    """The metrics of a model server."""
    metrics = Metrics()
    metrics.declare("planarena_model_server_workers_total", kind="counter", about="Workers that were served.")
    metrics.declare("planarena_model_server_seconds_total", kind="counter", about="Time for which a worker was served.")
    metrics.declare("planarena_model_server_busy", kind="gauge", about="1 while a worker is served, else 0.")
    metrics.measure(
        "planarena_model_server_memory_bytes", about="Memory of the container, with the model's process.",
        read=container_bytes,
    )  # fmt: skip
    return metrics


def container_bytes() -> float | None:
    """Memory that the kernel charges to this container; None without cgroup v2."""
    try:
        return float(Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _first_worker(
    listener: socket.socket, *, most_bytes: int, draining: threading.Event
) -> tuple[Channel, Deliver] | None:
    """The first client that announces its files, and the announcement."""
    listener.settimeout(_LOOK_SECONDS)
    while not draining.is_set():
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        channel = Channel(kept_alive(connection) if connection.family != socket.AF_UNIX else connection)
        try:
            channel.send(wire.encoded(wire.Hello()), deadline=soon(ANNOUNCE_SECONDS))
            return channel, announced_files(channel, most_bytes=most_bytes, deadline=soon(ANNOUNCE_SECONDS))
        except DeliveryError as error:
            logger.warning("a client was disconnected: %s", error)
            with suppress(ChannelError):
                _refuse(channel, f"The model server does not accept these files: {error}.", unusable=False)
        except ChannelError as error:
            logger.warning("a client was disconnected: %s", error)
        channel.close()
    return None


def _serve(channel: Channel, *, request: Deliver, folder: Path, device: str, sandbox: Sandbox) -> None:
    try:
        receive_files(request, channel=channel, folder=folder, deadline=soon(DELIVERY_SECONDS))
    except (DeliveryError, OSError) as error:
        _refuse(channel, f"The model's files did not reach the model server: {error}.", unusable=False)
        return
    try:
        started = sandbox.start(folder=folder, device=device, memory_bytes=most_memory(folder))
    except ModelError as error:
        _refuse(channel, str(error), unusable=isinstance(error, ModelUnusableError))
        return
    try:
        layers = tuple(sorted(sandbox.layers))
        delivered = Delivered(
            folder=started.inside, device=device, threads=threads_here(), confined_by=layers
        )  # fmt: skip
        channel.send(wire.encoded(delivered), deadline=soon(_LAST_WORDS_SECONDS))
        Relay(worker=channel, server=started.server).run()
    finally:
        started.server.close()


def _refuse(channel: Channel, sentence: str, *, unusable: bool) -> None:
    logger.warning("%s", sentence)
    failed = wire.Failed(unusable=unusable, message=sentence[:_LONGEST_SENTENCE])
    channel.send(wire.encoded(failed), deadline=soon(_LAST_WORDS_SECONDS))
    # Closing with unread bytes would discard the message.
    with suppress(ChannelError):
        channel.end_sending()
        deadline = soon(_LAST_WORDS_SECONDS)
        while True:
            channel.receive(most=wire.MOST_REQUEST_BYTES, deadline=deadline)


class Relay:
    """Relays frames between a worker and its model's process, until one of them is gone.

    Only whole frames, so that the supervisor's last message starts at the beginning of a frame.
    """

    def __init__(self, *, worker: Channel, server: ServerProcess) -> None:
        self._worker = worker
        self._server = server
        self._over = threading.Event()
        self._worker_gone = threading.Event()
        self._why = ""

    def run(self) -> None:
        """Relay until one side is gone and the end of the model's process has been reported to the worker."""
        for run in (self._to_server, self._to_worker):
            threading.Thread(target=run, name=f"model-server-{run.__name__}", daemon=True).start()
        self._over.wait()
        if self._why:
            logger.warning("the model's process has ended: %s; %s", self._why, self._server.output() or "no output")
            with suppress(ChannelError):
                ended = wire.encoded(wire.Ended(why=self._why[:_LONGEST_SENTENCE]))
                self._worker.send(ended, deadline=soon(_LAST_WORDS_SECONDS))
                self._worker.end_sending()
            self._worker_gone.wait(_LAST_WORDS_SECONDS)

    def _to_server(self) -> None:
        with suppress(ChannelError):
            while True:
                data = self._worker.receive(most=wire.MOST_REQUEST_BYTES)
                try:
                    self._server.channel.send(data)
                except ChannelError:
                    # It is gone; the other direction detects how.
                    continue
        self._worker_gone.set()
        self._over.set()

    def _to_worker(self) -> None:
        while True:
            try:
                data = self._server.channel.receive(most=wire.MOST_ANSWER_BYTES)
            except ChannelClosedError:
                self._why = self._server.end_in_words()
                break
            except ChannelError as error:
                self._why = f"it sent {error}"
                break
            try:
                self._worker.send(data)
            except ChannelError:
                break
        self._over.set()


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="python -m gpu_jobs.model_server.serving", description="A model server.")
    add = top.add_argument
    add("--listen", type=parse_address, required=True, help="HOST:PORT, or unix:PATH")
    add("--folder", type=Path, required=True, help="folder for the model's files; its content is removed")
    add("--device", default=os.environ.get("PLANARENA_DEVICE", "cpu"), help="torch device (default: %(default)s)")
    add("--most", type=parse_size, required=True, help="largest size of all files of a model, as in 20GB")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve one worker after the other until SIGTERM."""
    options = parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    draining = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: draining.set())
    # Even an incomplete one: this container has nothing else to protect.
    detection = detected()
    logger.info("%s", detection.line())
    address: Address = options.listen
    logger.info("listening on %s", address)
    metrics = server_metrics()
    serve_from(metrics)
    while not draining.is_set():
        serve_one(
            address.listening(), folder=options.folder, device=options.device, most_bytes=options.most,
            sandbox=detection.sandbox, draining=draining, metrics=metrics,
        )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
