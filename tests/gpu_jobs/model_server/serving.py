"""Model servers in processes of their own on 127.0.0.1, and in threads where the process does not matter."""

import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from evaluator.sandbox.isolation.address import Address, parse_address
from gpu_jobs.model_server.isolation.confinement import Layer
from gpu_jobs.model_server.isolation.sandbox import Sandbox
from gpu_jobs.model_server.remote import greeted
from gpu_jobs.model_server.serving import Engine, serve_one
from tests.processes import free_port

CHILD = """
import json, os, struct, sys, time
from pathlib import Path
from gpu_jobs.model_server.digests import model_digest
from gpu_jobs.model_server import protocol as wire
from gpu_jobs.model_server.channel import Channel
from gpu_jobs.model_server.server import channel_socket
connection = channel_socket()
channel = Channel(connection)
channel.send(wire.encoded(wire.Hello(confined_by=("limits",))))
folder = json.loads(channel.receive(most=1 << 24))["folder"]
identity = wire.Identity(weights_digest=model_digest(Path(folder)), precision="float32", architecture="A",
                         template_digest=None, device="cpu", batching="padded")
channel.send(wire.encoded(wire.Loaded(identity=identity)))
channel.receive(most=1 << 24)
"""
"""The process of a model that is loaded at once, and is asked something; what it does then is appended."""


@contextmanager
def process_serving(folder: Path, *, listen: str = "", most: str = "1GB", arguments=()):
    """The real program. Yields its address and the process."""
    address = listen or f"127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "gpu_jobs.model_server.serving", "--listen", address, "--folder", str(folder)]
    process = subprocess.Popen([*command, "--device", "cpu", "--most", most, *arguments])
    try:
        yield parse_address(address), process
    finally:
        process.kill()
        process.wait()


def engine_of(control: Path) -> Engine:
    """An engine whose container is `engine_loop`."""
    return Engine(control, look_seconds=0.02, noticed_seconds=0.3)


@contextmanager
def engine_loop(control: Path, *, engine=lambda: nullcontext(), crashes: int = 0):
    """What the engine's container does in a shell. Yields how often the engine was started.

    Args:
        engine: a context in which it serves.
        crashes: so often it ends by itself at once.
    """
    serve, running = control / "serve", control / "running"
    control.mkdir(exist_ok=True)
    stop, starts = threading.Event(), []

    def run() -> None:
        while not stop.is_set():
            if not serve.exists():
                stop.wait(0.02)
                continue
            running.touch()
            starts.append(time.monotonic())
            if len(starts) > crashes:
                with engine():
                    while serve.exists() and not stop.is_set():
                        stop.wait(0.02)
            else:
                # For as long as the model server needs to see it.
                stop.wait(0.2)
            serve.unlink(missing_ok=True)
            running.unlink()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield starts
    finally:
        stop.set()
        thread.join(10)


@contextmanager
def thread_serving(folder: Path, *, child: str | None = None, most_bytes: int = 1 << 20):
    """The supervisor in a thread of this process, with a child of the test's, or an engine that does nothing."""
    control = folder.with_name(f"{folder.name}-control")
    runs = engine_of(control)
    if child is not None:
        runs = Sandbox(layers=frozenset({Layer.LIMITS}), program=("-c", CHILD + child))
    address = Address(host="127.0.0.1", port=0)
    listener = address.listening()
    port = listener.getsockname()[1]
    exits = []

    def run() -> None:
        with suppress(OSError):
            exits.append(
                serve_one(listener, folder=folder, device="cpu", most_bytes=most_bytes, runs=runs)
            )  # fmt: skip

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        with engine_loop(control):
            yield Address(host="127.0.0.1", port=port), exits, thread
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def greeted_soon(address: Address, *, seconds: float = 30.0):
    """A connection to a server that is only just starting."""
    until = time.monotonic() + seconds
    while True:
        try:
            return greeted(address)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
