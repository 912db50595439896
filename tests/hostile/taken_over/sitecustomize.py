"""Read by the site's workers at their start, since the folder is on their path: model servers may be taken over.

A checkpoint whose README begins with `MARK` stands for one that found a way to run code: the server runs that README
in its sandbox, where it would have loaded the model. For all other checkpoints nothing is different.
"""

import sys

MARK = "# taken over"
PROGRAM = f'''
import ctypes, json, os, signal, socket, struct, subprocess, sys, tempfile, threading, time
from pathlib import Path
from gpu_jobs.model_server import protocol as wire
from gpu_jobs.model_server.channel import Channel
from gpu_jobs.model_server.confinement import Confinement, confine
from gpu_jobs.model_server.digests import model_digest
from gpu_jobs.model_server.server import channel_socket, serve

connection = channel_socket()
tempfile.tempdir = os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path.cwd())
confinement = Confinement.model_validate_json(sys.argv[1])
holding = confine(confinement, channel=connection.fileno())
channel = Channel(connection)
code = ""
for path in confinement.readable:
    if (path / "README.md").is_file():
        code = (path / "README.md").read_text()
if not code.startswith({MARK!r}):
    serve(channel, confined_by=holding)
    sys.exit()
libc = ctypes.CDLL(None, use_errno=True)
channel.send(wire.encoded(wire.Hello(confined_by=tuple(holding))))
folder = Path(json.loads(channel.receive(most=1 << 24))["folder"])

def call(number, *arguments):
    """A system call by its number on x86-64."""
    found = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found

def tell(*found):
    """Say something that its owner reads in a row."""
    text = " ".join(repr(one) for one in found)
    channel.send(json.dumps({{"type": "failed", "unusable": True, "message": text[:1900]}}).encode())
    time.sleep(600)

def tried(*attempts):
    """What came of each attempt, the errors included."""
    said = []
    for attempt in attempts:
        try:
            said.append(attempt())
        except BaseException as error:
            said.append(error)
    tell(*said)

def loaded(**changes):
    """Say that the model is there."""
    identity = {{"weights_digest": model_digest(folder), "precision": "float32", "architecture": "x",
                "template_digest": None, "device": "cpu", "batching": "padded", **changes}}
    channel.send(json.dumps({{"type": "loaded", "identity": identity}}).encode())

exec(compile(code, "README.md", "exec"))
'''

if "gpu_jobs" in sys.orig_argv:
    from gpu_jobs.model_server.sandbox import Sandbox

    Sandbox.__init__.__kwdefaults__["program"] = ("-c", PROGRAM)
