"""`python -m evaluator.sandbox.programs.serving`: runs programs for remote workers, in a pod without secrets.

Each connection has its own process of programs, with all layers of this machine. The first frame contains its settings;
each further frame is a request, answered by two frames: how the program ended, and its output. Idle connections are
closed to make room for others; clients reconnect.
"""

import argparse
import json
import logging
import socket
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict

from evaluator.sandbox.isolation.address import parse_address
from evaluator.sandbox.programs.frames import FrameError, receive, send
from evaluator.sandbox.programs.wire import Layer, Limits, Settings
from evaluator.sandbox.programs.worker import Worker, WorkerError

logger = logging.getLogger("evaluator.sandbox.programs.serving")

_IDLE_SECONDS = 60.0
_CONNECTIONS = 16
"""Concurrent connections, each with a process; others wait."""


def serve(listener: socket.socket, *, connections: int = _CONNECTIONS, idle_seconds: float = _IDLE_SECONDS) -> None:
    """Serve until the listener is closed.

    Args:
        listener: accepts the workers.
        connections: most concurrent connections.
        idle_seconds: after which a connection without a request is closed.
    """
    free = threading.BoundedSemaphore(connections)
    while True:
        free.acquire()
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(
            target=_serve_connection, args=(connection, free), kwargs={"idle_seconds": idle_seconds}, daemon=True
        ).start()


def _serve_connection(connection: socket.socket, free: threading.BoundedSemaphore, *, idle_seconds: float) -> None:
    try:
        with connection:
            connection.settimeout(idle_seconds)
            _converse(connection)
    except (OSError, FrameError, ValueError, KeyError, TypeError) as error:
        # Probes connect and send nothing; workers disconnect when they are done.
        logger.debug("a connection ended: %s", error)
    finally:
        free.release()


def _converse(connection: socket.socket) -> None:
    settings = Settings.loads(receive(connection).decode())
    try:
        worker = Worker(layers=frozenset(Layer), limits=Limits(**settings.limits), library=settings.library)
    except WorkerError as error:
        send(connection, json.dumps({"error": str(error)}).encode())
        return
    try:
        send(connection, json.dumps({"layers": sorted(worker.layers), "missing": worker.missing}).encode())
        while True:
            request = json.loads(receive(connection))
            answer, ending = worker.run(request["program"], most_bytes=request["most_bytes"])
            send(connection, json.dumps(asdict(ending)).encode())
            send(connection, answer)
    except WorkerError as error:
        logger.warning("%s", error)
    finally:
        worker.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the process is terminated."""
    parser = argparse.ArgumentParser(
        prog="python -m evaluator.sandbox.programs.serving", description="Run programs for remote workers."
    )
    parser.add_argument("--listen", required=True, help="HOST:PORT or unix:/PATH")
    parser.add_argument(
        "--connections", type=int, default=_CONNECTIONS, help="most concurrent connections (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    from evaluator.sandbox.programs.support import support

    layers = support()
    logger.log(logging.WARNING if layers.problem else logging.INFO, "%s", layers.line())
    if layers.problem:
        return 1
    with parse_address(options.listen).listening(waiting=options.connections) as listener:
        serve(listener, connections=options.connections)
    return 0


if __name__ == "__main__":
    sys.exit(main())
