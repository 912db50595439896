"""A reader of secrets in sandboxes that lack one part each: the other parts must be enough.

It tries every way to read that the corpus knows, again after every way to get more rights, and names what it took, so
that redaction of the secrets themselves hides nothing.
"""

import os
import shutil
from pathlib import Path

from gpu_jobs.model_server.isolation.confinement import Layer
from tests.hostile.checkpoints.base import Case, Files, Target
from tests.hostile.taken_over.sitecustomize import MARK
from tests.hostile.taken_over.switches import EVERYTHING

EVERYWHERE = "read everything"
NOTHING = "took nothing"
"""What the strongest reader says when it found none of the secrets."""
_BWRAP, _ROOT = shutil.which("bwrap") is not None, os.geteuid() == 0
_OF_BUBBLEWRAP = ("own network", "own processes", "own ipc", "own files", "own proc", "dropped capabilities")
PARTS = (
    "namespaces", Layer.LANDLOCK.value, Layer.SECCOMP.value, Layer.LIMITS.value,
    *([Layer.OWN_USER.value] if _ROOT else []), *(_OF_BUBBLEWRAP if _BWRAP else []),
    "empty environment", "closed descriptors",
)  # fmt: skip
"""What a sandbox can lack on this machine."""
_READ_EVERYTHING = r"""
libc.shmat.restype, libc.shmat.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
needles = {kind: text[::-1].encode() for kind, text in WANTED.items()}
took = {}

def look(read):
    try:
        data = read()
    except BaseException:
        return
    data = data.encode() if isinstance(data, str) else data or b""
    for kind, needle in needles.items():
        if needle in data:
            took[kind] = took.get(kind, 0) + 1

def content(path):
    with open(path, "rb") as file:
        return file.read(1 << 16)

def linked(path):
    name = f"link{time.monotonic_ns()}"
    os.symlink(path, name)
    return content(name)

def by_handle():
    handle = bytes.fromhex(HANDLE)
    packed = ctypes.create_string_buffer(struct.pack("<I", len(handle) - 4) + handle)
    for place in ("/model", "/model/README.md", "/usr/lib", "/", "."):
        try:
            mount = os.open(place, os.O_RDONLY)
            return os.read(call(304, mount, ctypes.addressof(packed), 0), 4096)
        except OSError:
            pass

def sent(family, address):
    with socket.socket(family) as client:
        client.settimeout(2)
        client.connect(address)
        return client.recv(500)

def segment():
    place = libc.shmat(call(29, SHARED_KEY, 0, 0), None, 0o10000)
    return ctypes.string_at(place, 100)

def regions(pid):
    for line in open(f"/proc/{pid}/maps"):
        span, rights, *_ = line.split()
        low, high = (int(end, 16) for end in span.split("-"))
        is_data = rights.startswith("rw") and "/" not in line.split(None, 5)[-1]
        if is_data and high - low <= 1 << 25 and "memory" not in took:
            yield low, high - low

def memory_file(pid):
    opened = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    for low, length in regions(pid):
        look(lambda: os.pread(opened, length, low))

def memory_call(pid):
    for low, length in regions(pid):
        buffer = ctypes.create_string_buffer(length)
        here = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), length)
        there = (ctypes.c_uint64 * 2)(low, length)
        call(310, pid, ctypes.addressof(here), 1, ctypes.addressof(there), 1, 0)
        look(lambda: buffer.raw)

def regular(opened):
    import stat
    return os.pread(opened, 4096, 0) if stat.S_ISREG(os.fstat(opened).st_mode) else b""

def descriptors(pid):
    for number in os.listdir(f"/proc/{pid}/fd"):
        look(lambda: os.path.isfile(f"/proc/{pid}/fd/{number}") and content(f"/proc/{pid}/fd/{number}"))

def fetched_descriptors(pid):
    process = call(434, pid, 0)
    for number in range(64):
        look(lambda: regular(call(438, process, number, 0)))

def above():
    pid = os.getppid()
    for _ in range(3):
        if pid > 1:
            yield pid
            try:
                pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
            except OSError:
                return

def names(folder, otherwise=()):
    try:
        return os.listdir(folder)
    except OSError:
        return list(otherwise)

pids = [int(name) for name in names("/proc", map(str, range(1, 64))) if name.isdecimal() and int(name) != os.getpid()]
parent = os.getppid()
roots = ["", "/host", "/proc/self/root", "/proc/self/cwd/../../../../..", "/proc/1/root", f"/proc/{parent}/root",
         f"/proc/{parent}/cwd/../../../../..", f"/proc/{parent}/task/{parent}/root"]
secret_files = [f"{SECRETS}/{name}" for name in ("secret_key", "signing_key", "webhook_key", "worker_token")]
def read_files():
    for root in roots:
        for path in [f"{FOLDER}/file", f"{FOLDER}/descriptor", SHARED_FILE, BAIT, *secret_files]:
            look(lambda: content(root + path))
        look(lambda: sent(socket.AF_UNIX, root + UNIX))

read_files()
look(lambda: linked(f"{FOLDER}/file"))
look(lambda: subprocess.run(["/bin/cat", f"{FOLDER}/file"], capture_output=True, timeout=2).stdout)
look(by_handle)
look(lambda: repr(dict(os.environ)))
for pid in ["self", *pids]:
    look(lambda: content(f"/proc/{pid}/environ"))
for number in range(3, 256):
    look(lambda: regular(number))
look(lambda: sent(socket.AF_INET, ("127.0.0.1", TCP)))
look(lambda: sent(socket.AF_UNIX, "\0" + ABSTRACT))
look(segment)
for pid in {parent, *above()}:
    for read in (memory_file, memory_call, descriptors, fetched_descriptors):
        look(lambda: read(pid))

def status(field):
    return next(line.split()[1] for line in open("/proc/self/status") if line.startswith(field + ":"))

def is_shared(kind):
    return os.readlink(f"/proc/self/ns/{kind}") == SPACES[kind]

evidence = {
    "namespaces": lambda: is_shared("mnt"), "landlock": lambda: os.listdir("/"),
    "seccomp": lambda: status("Seccomp") == "0", "own user": lambda: os.getuid() == USER,
    "limits": lambda: __import__("resource").getrlimit(1)[0] != 0, "own network": lambda: is_shared("net"),
    "own processes": lambda: is_shared("pid"), "own ipc": lambda: is_shared("ipc"),
    "own files": lambda: os.path.isdir("/host"), "own proc": lambda: os.readlink("/proc/self") != str(os.getpid()),
    "empty environment": lambda: "PLANARENA_CANARY_FOLDER" in os.environ,
    "closed descriptors": lambda: os.closerange.__name__ != "closerange",
}
lacking = []
for part, lacks in evidence.items():
    try:
        lacking += [part] if lacks() else []
    except OSError:
        pass
for gain in (lambda: call(117, 0, 0, 0), lambda: call(272, 0x10000000), lambda: call(105, 0),
             lambda: os.chroot("/proc/1/root")):
    look(gain)
read_files()
tell(took or "took nothing", lacking)
"""
UNSEEN = frozenset({"dropped capabilities"})
"""Whose absence that code cannot see: a change of user drops capabilities too."""


def _strongest(target: Target) -> str:
    found = target.canaries
    assert found is not None, "the target has no canaries"
    # Backwards, so that neither this code nor a copy of it is taken for a secret.
    wanted = {kind: text[::-1] for kind, text in (found.texts | dict(target.wanted)).items()}
    given = {
        "WANTED": wanted, "FOLDER": str(found.folder), "SHARED_FILE": found.shared_file, "UNIX": found.unix,
        "TCP": found.port, "ABSTRACT": found.abstract, "SHARED_KEY": found.shared_key, "HANDLE": found.handle,
        "BAIT": target.path, "SECRETS": target.secrets, "USER": os.getuid(),
        "SPACES": {kind: str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in ("mnt", "net", "pid", "ipc")},
    }  # fmt: skip
    return "\n".join([*(f"{name} = {value!r}" for name, value in given.items()), _READ_EVERYTHING])


def _case(part: str, *, by: str = "") -> Case:
    switch = f"; without {part}" + (f"; by {by}" if by else "")

    def build(files: Files, target: Target) -> Files:
        return {**files, "README.md": f"{MARK}{switch}\n{_strongest(target)}\n".encode()}

    return Case(name=f"{switch.removeprefix('; ').replace(';', '')}: {EVERYWHERE}", build=build)


STRONGEST = {part: _case(part) for part in PARTS}
"""The reader without each part."""
OTHERWISE = {
    part: _case(part, by=Layer.NAMESPACES.value) for part in PARTS if _BWRAP and part not in _OF_BUBBLEWRAP
}  # fmt: skip
"""The same with our own namespaces instead of bubblewrap's."""
CONTROL = _case(EVERYTHING)
"""The same code without a sandbox, which must find the secrets."""
