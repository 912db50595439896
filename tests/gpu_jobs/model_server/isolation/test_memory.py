"""A model server that has been taken over holds no more memory than it may, by whatever road: it fails, or is ended."""

import pytest

from gpu_jobs.model_server.isolation.confinement import Layer
from tests.gpu_jobs.model_server.hostile import hostile
from tests.gpu_jobs.model_server.isolation.test_sandbox import FULL, OWN, named
from tests.rings import usual

LIMIT = 256_000_000
WANTED = 4 * LIMIT
PRELUDE = f"""
import fcntl, mmap, tempfile
WANTED, PIECE, held = {WANTED}, 1 << 26, []
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]

def mapped(length, flags, rights=3, file=-1):
    found = libc.mmap(None, length, rights, flags, file, 0)
    if found == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found

def checked(found):
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found
"""
ROADS = {
    "shared memory that is mapped, but not present": """
for _ in range(WANTED // PIECE):
    place = mapped(PIECE, 0x21)
    ctypes.memset(place, 1, PIECE)
    checked(libc.madvise(ctypes.c_void_p(place), ctypes.c_size_t(PIECE), 4))""",
    "shared memory of /dev/zero": """
zero = os.open("/dev/zero", os.O_RDWR)
for _ in range(WANTED // PIECE):
    ctypes.memset(mapped(PIECE, 0x01, file=zero), 1, PIECE)""",
    "shared memory of Python": "held = [mmap.mmap(-1, PIECE) for _ in range(16)]",
    "a file in memory": """
memory = os.memfd_create("x")
os.ftruncate(memory, WANTED)""",
    "a file of huge pages": "checked(libc.memfd_create(b'x', 4))",
    "huge pages": "ctypes.memset(mapped(1 << 21, 0x40022), 1, 1 << 21)",
    "segments of System V": "held = [call(29, 0, PIECE, 0o1600) for _ in range(16)]",
    "messages of System V": "held = [call(68, 0, 0o1600) for _ in range(16)]",
    "queues of POSIX": "checked(libc.mq_open(b'/x', 0o102, 0o600, None))",
    "writable memory in one piece": "ctypes.memset(mapped(4 * WANTED, 0x22), 1, WANTED)",
    "memory that grows downwards": "ctypes.memset(mapped(4 * WANTED, 0x122) + 4 * WANTED - WANTED, 1, WANTED)",
    "pipes": "held = [os.pipe() for _ in range(400)]",
    "pages given to pipes": "call(278, 1, 0, 0, 0)",
    "files in the folder that it starts in": "open('x', 'wb').write(bytes(WANTED))",
    "files in any folder": """
for folder in ("/", "/tmp", "/var/tmp", "/dev", "/dev/shm", "/run", "/model", "/proc", os.environ["HOME"]):
    try:
        open(f"{folder}/x", "w").close()
    except OSError:
        continue
    result = folder
    break
else:
    raise OSError("no folder")""",
    "names in any folder": """
for folder in ("/", "/tmp", "/var/tmp", "/dev", "/dev/shm", "/run", "/model", os.environ["HOME"]):
    try:
        os.symlink("x" * 4000, f"{folder}/x")
    except OSError:
        continue
    result = folder
    break
else:
    raise OSError("no folder")""",
    "sockets": "held = [socket.socketpair() for _ in range(400)]",
    "locks of a file": """
place = os.open(sys.executable, os.O_RDONLY)
for at in range(1000):
    fcntl.lockf(place, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, 10000 - 2 * at)""",
    "locks of an open file": """
import struct
fcntl.fcntl(os.open(sys.executable, os.O_RDONLY), 37, struct.pack("hhqqi4x", 0, 0, 0, 1, 0))""",
    "watches of files": "checked(libc.inotify_init1(0))",
    "rules of Landlock": "call(444, ctypes.addressof(ctypes.create_string_buffer((1).to_bytes(8, 'little'))), 8, 0)",
    "filters of seccomp": "call(317, 1, 0, 0)",
    "filters by prctl": "checked(libc.prctl(22, 2, 0, 0, 0)); raise SystemExit",
    "operations in the background": """
held = ctypes.c_long(0)
call(206, 100, ctypes.addressof(held))""",
    "processes": "held = [os.fork() for _ in range(10)]",
    "secret memory": "call(447, 0)",
    "memory that is hidden from its worker": "checked(libc.prctl(4, 0, 0, 0, 0))",
}  # fmt: skip
KILLED = {
    "ordinary memory": "for _ in range(100):\n    held.append(bytes([1]) * (1 << 24)); time.sleep(0.02)",
    "page tables": """
while True:
    place = mapped(1 << 38, 0x4022, rights=1)
    for at in range(0, 1 << 38, 1 << 21):
        ctypes.c_char.from_address(place + at).value""",
}  # fmt: skip


HARMLESS = (
    "shared memory that is mapped, but not present", "shared memory of /dev/zero", "shared memory of Python",
    "a file in memory", "memory that grows downwards", "pipes", "pages given to pipes", "sockets", "locks of a file",
    "locks of an open file", "watches of files", "rules of Landlock", "operations in the background",
    "memory that is hidden from its worker",
)  # fmt: skip
"""Roads that leave nothing behind."""


@pytest.mark.full
def test_the_same_roads_are_open_without_a_sandbox():
    with hostile(frozenset(), memory_bytes=1 << 40) as taken_over:
        assert set(taken_over.done({road: PRELUDE + ROADS[road] for road in HARMLESS})) == set(HARMLESS)


@pytest.mark.parametrize("layers", usual([OWN, *FULL], of=[FULL[-1]]), ids=named)
def test_memory_that_does_not_count_as_its_own_is_refused(layers):
    with hostile(layers, memory_bytes=LIMIT) as taken_over:
        assert taken_over.done({road: PRELUDE + code for road, code in ROADS.items()}) == {}


@pytest.mark.full
@pytest.mark.parametrize("layers", FULL, ids=named)
@pytest.mark.parametrize("road", KILLED)
def test_memory_that_counts_as_its_own_ends_it(layers, road):
    with hostile(layers, memory_bytes=LIMIT) as taken_over:
        with pytest.raises(Exception, match="stream"):
            taken_over.results({road: PRELUDE + KILLED[road]})
        assert "more than the 256 MB" in taken_over.server.end_in_words()


@pytest.mark.full
@pytest.mark.parametrize("off", [Layer.LANDLOCK, *([Layer.OWN_USER] if Layer.OWN_USER in FULL[0] else [])])
@pytest.mark.parametrize("full", FULL, ids=named)
def test_no_road_depends_on_one_layer_only(full, off):
    """Except for seccomp, without which no submitted model is loaded."""
    with hostile(full - {off}, memory_bytes=LIMIT) as taken_over:
        assert taken_over.done({road: PRELUDE + code for road, code in ROADS.items()}) == {}


@pytest.mark.full
def test_shared_memory_is_counted_where_drivers_of_gpus_may_map_it():
    """Without seccomp here, since this machine may have no GPU: the worker counts what is mapped, present or not."""
    layers = FULL[-1] - {Layer.SECCOMP}
    road = "shared memory that is mapped, but not present"
    with hostile(layers, memory_bytes=LIMIT) as taken_over:
        with pytest.raises(Exception, match="stream"):
            taken_over.results({road: f"{PRELUDE}{ROADS[road]}\ntime.sleep(60)"})
        assert "more than the 256 MB" in taken_over.server.end_in_words()
