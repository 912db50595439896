"""A model server that has been taken over: it puts on its sandbox, then runs whatever a test sends it."""

import json
import time
from collections.abc import Mapping
from contextlib import contextmanager

from gpu_jobs.model_server.channel import Channel
from gpu_jobs.model_server.isolation.confinement import Layer
from gpu_jobs.model_server.isolation.sandbox import Sandbox

PROGRAM = '''
import ctypes, json, os, resource, signal, socket, sys, time
from gpu_jobs.model_server import protocol as wire
from gpu_jobs.model_server.channel import Channel
from gpu_jobs.model_server.isolation.confinement import Confinement, confine
from gpu_jobs.model_server.server import channel_socket

libc = ctypes.CDLL(None, use_errno=True)

def call(number, *arguments):
    """A system call by its number on x86-64."""
    found = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found

def memory_of(pid, address, length):
    """What another process has in its memory."""
    buffer = ctypes.create_string_buffer(length)
    here = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), length)
    there = (ctypes.c_uint64 * 2)(address, length)
    call(310, pid, ctypes.addressof(here), 1, ctypes.addressof(there), 1, 0)
    return buffer.raw

def status(field):
    """What the kernel says of this process."""
    return next(line.split()[1] for line in open("/proc/self/status") if line.startswith(field + ":"))

def attempted(code):
    try:
        names = dict(globals())
        exec(code, names)
        return ["done", repr(names.get("result"))[:300]]
    except BaseException as error:
        return ["refused", f"{type(error).__name__}: {error}"]

connection = channel_socket()
holding = confine(Confinement.model_validate_json(sys.argv[1]), channel=connection.fileno())
channel = Channel(connection)
channel.send(wire.encoded(wire.Hello(confined_by=tuple(holding))))
while True:
    orders = json.loads(channel.receive(most=1 << 20))
    channel.send(json.dumps({name: attempted(code) for name, code in orders.items()}).encode())
'''


class Hostile:
    """The worker's end of such a server."""

    def __init__(self, server) -> None:
        self.server = server

    def results(self, orders: Mapping[str, str], *, seconds: float = 60.0) -> dict[str, tuple[str, str]]:
        """What came of each piece of code: `done` with its `result`, or `refused` with the error."""
        channel: Channel = self.server.channel
        channel.send(json.dumps(orders).encode())
        received = json.loads(channel.receive(most=1 << 22, deadline=time.monotonic() + seconds))
        return {name: tuple(result) for name, result in received.items()}

    def done(self, orders: Mapping[str, str]) -> dict[str, str]:
        """What was not refused."""
        return {name: what for name, (how, what) in self.results(orders).items() if how == "done"}


@contextmanager
def hostile(layers: frozenset[Layer], *, folder=None, memory_bytes: int = 2 << 30):
    """A hostile server in these layers."""
    sandbox = Sandbox(layers=layers, program=("-c", PROGRAM))
    started = sandbox.start(folder=folder, device="cpu", memory_bytes=memory_bytes)
    try:
        yield Hostile(started.server)
    finally:
        started.server.close()
