"""Model servers in processes of their own on 127.0.0.1, and in threads where the process does not matter."""

import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from evaluator.sandbox.isolation.address import Address, parse_address
from gpu_jobs.model_server.isolation.confinement import Layer
from gpu_jobs.model_server.isolation.sandbox import Sandbox
from gpu_jobs.model_server.remote import greeted
from gpu_jobs.model_server.serving import serve_one
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


@contextmanager
def thread_serving(folder: Path, *, child: str = "", most_bytes: int = 1 << 20):
    """The supervisor in a thread of this process, with a child of the test's."""
    sandbox = Sandbox(layers=frozenset({Layer.LIMITS}), program=("-c", CHILD + child))
    address = Address(host="127.0.0.1", port=0)
    listener = address.listening()
    port = listener.getsockname()[1]
    exits = []

    def run() -> None:
        with suppress(OSError):
            exits.append(
                serve_one(listener, folder=folder, device="cpu", most_bytes=most_bytes, sandbox=sandbox)
            )  # fmt: skip

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
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
