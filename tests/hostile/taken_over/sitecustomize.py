"""Read by the site's workers at their start, since the folder is on their path: model servers may be taken over.

A checkpoint whose README begins with `MARK` stands for one that found a way to run code: the server runs that README
in its sandbox, where it would have loaded the model. The rest of its first line says how that server is started
(`switches`). For all other checkpoints nothing is different.
"""

import os
import sys
from pathlib import Path

MARK = "# taken over"
PROGRAM = f'''
import ctypes, json, os, signal, socket, struct, subprocess, sys, tempfile, threading, time
from pathlib import Path
from evaluator.sandbox.isolation import privileges
from gpu_jobs.model_server import protocol as wire
from gpu_jobs.model_server.channel import Channel
from gpu_jobs.model_server.isolation.confinement import Confinement, confine
from gpu_jobs.model_server.digests import model_digest
from gpu_jobs.model_server.server import channel_socket, serve

def readme(paths):
    """The README of the checkpoint."""
    found = [path / "README.md" for path in paths if (path / "README.md").is_file()]
    return found[0].read_text(errors="replace") if found else ""

connection = channel_socket()
tempfile.tempdir = os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path.cwd())
wanted = Confinement.model_validate_json(sys.argv[1])
first_line = readme(wanted.readable).partition("\\n")[0]
if "without closed descriptors" in first_line or "without everything" in first_line:
    os.closerange = lambda low, high: None
if "without dropped capabilities" in first_line or "without everything" in first_line:
    privileges.drop_capabilities = lambda: None
holding = confine(wanted, channel=connection.fileno())
channel = Channel(connection)
code = readme(wanted.readable)
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
    import switches

    from gpu_jobs.model_server.isolation.sandbox import Sandbox

    switches.install()
    if folder := os.environ.get("PLANARENA_CANARY_FOLDER"):
        kept_in_memory = Path(folder, "memory").read_text()
        kept_open = os.open(Path(folder, "descriptor"), os.O_RDONLY)
    Sandbox.__init__.__kwdefaults__["program"] = ("-c", PROGRAM)
