"""A model server that has been taken over reaches nothing, even with any one layer of its sandbox switched off."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from gpu_jobs.model_server.isolation.confinement import Layer
from gpu_jobs.model_server.isolation.sandbox import Sandbox
from tests.gpu_jobs.model_server.hostile import hostile
from tests.gpu_jobs.test_local_launcher import until
from tests.processes import lives
from tests.rings import usual

SECRET = "pa-worker-0123456789"
OWN = frozenset({Layer.LANDLOCK, Layer.SECCOMP, Layer.LIMITS})
OUTER = [Layer.NAMESPACES, *([Layer.BUBBLEWRAP] if shutil.which("bwrap") else [])]
ROOT = os.geteuid() == 0
FULL = [OWN | {outer} | ({Layer.OWN_USER} if ROOT else set()) for outer in OUTER]


def one_off() -> list[frozenset[Layer]]:
    """Every sandbox with all layers, and with all but one of them."""
    found = [OWN]
    for full in FULL:
        found += [full, *(full - {layer} for layer in sorted(full) if not layer.isolates)]
    return found


def named(layers: frozenset[Layer]) -> str:
    return "+".join(sorted(layers))


@pytest.fixture
def victim():
    """What is worth taking: a process with a secret in its environment, files, and servers."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="victim-")))
        # Open to everybody, so that no ordinary permission is what refuses.
        folder.chmod(0o777)
        (folder / "data" / ".ssh").mkdir(parents=True)
        for name in ("token", ".ssh/id_ed25519"):
            (folder / "data" / name).write_text(SECRET)
            (folder / "data" / name).chmod(0o644)
        for path in (folder / "data", folder / "data" / ".ssh"):
            path.chmod(0o777)
        # Without rights, or the kernel itself would keep a process without any away from it.
        weak = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if ROOT else []
        process = subprocess.Popen([*weak, "sleep", "600"], env={"SECRET": SECRET, "PATH": os.environ["PATH"]})
        stack.callback(process.wait)
        stack.callback(process.kill)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(tcp.getsockname())
        udp.setblocking(False)
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0planarena-{os.getpid()}")
        abstract.listen()
        named_socket = stack.enter_context(socket.socket(socket.AF_UNIX))
        named_socket.bind(str(folder / "socket"))
        (folder / "socket").chmod(0o777)
        named_socket.listen()
        yield {
            "pid": process.pid, "worker": os.getpid(), "data": str(folder / "data"), "folder": str(folder),
            "port": tcp.getsockname()[1], "abstract": f"planarena-{os.getpid()}",
            "udp": udp,
        }  # fmt: skip


def thefts(victim) -> dict[str, str]:
    """Ways to secrets, to the network and to other processes."""
    pid, worker = victim["pid"], victim["worker"]
    data, folder = victim["data"], victim["folder"]
    reads = {
        "token": f"{data}/token",
        "ssh": f"{data}/.ssh/id_ed25519",
        "shadow": "/etc/shadow",
        "passwd": "/etc/passwd",
        "victim's environment": f"/proc/{pid}/environ",
        "worker's environment": f"/proc/{worker}/environ",
        "worker's memory": f"/proc/{worker}/mem",
        "worker's root": f"/proc/{worker}/root{data}/token",
        "worker's folder": f"/proc/{worker}/cwd/pyproject.toml",
        "root of the first process": f"/proc/1/root{data}/token",
        "parent's folder": f"/proc/self/cwd/../..{data}/token",
        "tests": __file__,
        "disk": "/dev/vda",
        "memory": "/dev/mem",
    }
    return {
        **{f"read {name}": f"result = open({path!r}, 'rb').read(200)" for name, path in reads.items()},
        "list data": f"result = os.listdir({data!r})",
        "link to data": f"os.symlink({data!r}, 'here'); result = os.listdir('here')",
        "ptrace": f"result = call(101, 16, {pid}, 0, 0)",
        "process_vm_readv": f"result = memory_of({worker}, {id(SECRET)}, 64)",
        "pidfd_getfd": f"result = call(438, call(434, {worker}, 0), 0, 0)",
        "kill the victim": f"os.kill({pid}, signal.SIGTERM)",
        "kill the worker's group": f"os.killpg(os.getpgid({worker}), 0)",
        "tcp": f"result = socket.create_connection(('127.0.0.1', {victim['port']}), timeout=2)",
        "abstract socket": f"s = socket.socket(socket.AF_UNIX); s.connect('\\0{victim['abstract']}'); result = s",
        "socket with a path": f"s = socket.socket(socket.AF_UNIX); s.connect('{folder}/socket'); result = s",
        "write data": f"open('{data}/token', 'w').write('x')",
        "write beside data": f"open('{folder}/new', 'w').write('x')",
        "write code": "import gpu_jobs; open(gpu_jobs.__file__, 'a').write('x')",
        "delete data": f"os.unlink('{data}/token')",
        "set its user": "os.setresuid(0, 0, 0); result = open('/etc/shadow').read()",
    }  # fmt: skip


@pytest.mark.parametrize("layers", usual(one_off(), of=[FULL[-1]]), ids=named)
def test_no_way_to_secrets_network_or_other_processes(layers, victim, tmp_path):
    # In a network of its own a datagram leaves, and comes to nobody.
    datagram = f"socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {victim['port']}))"
    with hostile(layers) as taken_over:
        taken_over.results({"udp": datagram})
        assert taken_over.done(thefts(victim)) == {}
    assert psutil.pid_exists(victim["pid"])
    assert Path(victim["data"], "token").read_text() == SECRET
    assert not (tmp_path / "new").exists()
    with pytest.raises(BlockingIOError):
        victim["udp"].recv(1)


@pytest.mark.full
def test_the_same_attempts_succeed_without_a_sandbox(victim):
    harmless = {"read token", "read ssh", "read passwd", "read victim's environment", "list data", "read tests", "tcp",
                "abstract socket", "socket with a path", "ptrace", "kill the victim"}  # fmt: skip
    orders = {name: code for name, code in thefts(victim).items() if name in harmless}
    with hostile(frozenset()) as taken_over:
        found = taken_over.done(orders)
    assert set(found) == harmless
    assert SECRET in found["read token"]
    assert SECRET in found["read victim's environment"]


@pytest.mark.full
@pytest.mark.parametrize("layers", FULL, ids=named)
def test_nothing_that_opens_the_kernel_further_is_allowed(layers):
    orders = {
        "fork": "result = os.fork() or os._exit(0)",
        "vfork and exec": "os.posix_spawn('/bin/sh', ['sh'], {})",
        "execve": "os.execv(sys.executable, ['python', '-c', ''])",
        "user namespace": "call(272, 0x10000000)",
        "mount": "call(165, 0, 0, 0, 0, 0)",
        "setns": "call(308, 0, 0)",
        "keyctl": "call(250, 0, 0, 0)",
        "bpf": "call(321, 0, 0, 0)",
        "userfaultfd": "call(323, 0)",
        "io_uring": "call(425, 1, 0)",
        "perf": "call(298, 0, 0, 0, 0, 0)",
        "socket pair": "socket.socketpair()",
        "shared memory": "call(29, 1234, 4096, 0o1600)",
        "personality": "call(135, 0x0040000)",
        "clone3": "call(435, 0, 0)",
        "file": "open('x', 'w').write('x' * 4096)",
        "file in memory": "f = os.memfd_create('x'); os.ftruncate(f, 1 << 30); result = f",
        "core": "assert resource.getrlimit(resource.RLIMIT_CORE) != (0, 0)",
        "more files": "resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 19, 1 << 19))",
        "x32": "call(0x40000000 + 39)",
    }
    with hostile(layers) as taken_over:
        x32 = {"x32": orders.pop("x32")}
        assert taken_over.done(orders) == {}
        assert taken_over.done({"threads": "import threading; t = threading.Thread(target=print); t.start(); t.join()"})
        with pytest.raises(Exception, match="stream"):
            taken_over.results(x32)


@pytest.mark.full
@pytest.mark.parametrize("layers", FULL, ids=named)
def test_it_has_an_empty_environment_no_descriptors_and_no_rights(layers):
    os.environ["PLANARENA_TEST_SECRET"] = SECRET
    leaked = os.open(__file__, os.O_RDONLY)
    os.set_inheritable(leaked, True)
    orders = {
        "environment": "result = sorted(os.environ)",
        "own": "result = 'pa-worker' + '-0123456789' in open('/proc/self/environ').read()",
        "descriptors": "result = [n for n in range(3, 256) if not libc.fcntl(n, 1) < 0 and n != connection.fileno()]",
        "capabilities": "result = status('CapEff'), status('CapPrm'), status('CapInh')",
        "user": "result = os.getresuid()",
        "privileges": "result = status('NoNewPrivs')",
    }
    try:
        with hostile(layers) as taken_over:
            found = taken_over.done(orders)
    finally:
        os.close(leaked)
        del os.environ["PLANARENA_TEST_SECRET"]
    allowed = {"HOME", "LANG", "PATH", "PYTHONPATH", "HF_HUB_OFFLINE", "PWD", "LC_CTYPE", "LD_LIBRARY_PATH"}
    assert set(eval(found["environment"])) <= allowed
    # The kernel lets a process that has changed its user not even read its own.
    assert found.get("own", "False") == "False"
    assert found["descriptors"] == "[]"
    assert set(eval(found["capabilities"])) == {"0" * 16}
    assert found["privileges"] == "'1'"
    if ROOT:
        assert 0 not in eval(found["user"])


@pytest.mark.full
@pytest.mark.parametrize("layers", [OWN, *FULL], ids=named)
def test_a_library_that_looks_for_a_compiler_while_it_is_imported_finds_none(layers):
    orders = {
        "programs": "import shutil; result = shutil.which('sh')",
        # As trio does, which httpx imports: with a compiler it would fail, since it cannot write its file.
        "library": "import ctypes.util; ctypes.util.find_library('pthread')",
    }
    with hostile(layers) as taken_over:
        assert taken_over.results(orders) == {"programs": ("done", "None"), "library": ("done", "None")}


@pytest.mark.full
@pytest.mark.parametrize("layers", [OWN, *FULL], ids=named)
def test_it_reads_its_model_and_writes_nothing_into_it(layers, tmp_path):
    blobs, folder = tmp_path / "m" / "blobs", tmp_path / "m" / "snapshots" / "c"
    blobs.mkdir(parents=True)
    folder.mkdir(parents=True)
    (blobs / "1").write_text("weights")
    (folder / "config.json").symlink_to("../../blobs/1")
    inside = "/model" if any(layer.isolates for layer in layers) else folder
    orders = {
        "read": f"result = open('{inside}/config.json').read(), os.listdir('{inside}')",
        "write": f"open('{inside}/config.json', 'a').write('x')",
        "create": f"open('{inside}/new', 'a')",
        "delete": f"os.unlink('{inside}/config.json')",
    }
    with hostile(layers, folder=folder) as taken_over:
        assert taken_over.done(orders) == {"read": "('weights', ['config.json'])"}


def test_a_link_out_of_the_model_s_folder_is_refused(tmp_path):
    from evaluator.planners.language_models import ModelUnusableError

    (tmp_path / "m").mkdir()
    (tmp_path / "token").write_text(SECRET)
    (tmp_path / "m" / "config.json").symlink_to(tmp_path / "token")
    with pytest.raises(ModelUnusableError, match=r"config\.json is a link"):
        Sandbox(layers=FULL[0]).start(folder=tmp_path / "m", device="cpu", memory_bytes=1 << 30)


@pytest.mark.full
@pytest.mark.parametrize("layers", [OWN - {Layer.SECCOMP}, *(full - {Layer.SECCOMP} for full in FULL)], ids=named)
def test_forks_are_bounded_without_seccomp_and_all_end_with_the_server(layers):
    bomb = (
        "result = 0\nwhile True:\n try:\n  pid = os.fork()\n except OSError: break\n if pid == 0: time.sleep(600)\n"
        " result += 1\n if result > 700: break"
    )
    with hostile(layers, memory_bytes=1 << 40) as taken_over:
        result = taken_over.results({"bomb": bomb})["bomb"]
        tree = [process.pid for process in psutil.Process(taken_over.server.pid).children(recursive=True)]
    if Layer.OWN_USER in layers or not ROOT:
        assert result[0] == "done"
        assert int(result[1]) < 600
    assert len(tree) > 100
    until(lambda: not any(map(lives, tree)))


@pytest.mark.full
@pytest.mark.parametrize("layers", [OWN, *FULL], ids=named)
def test_a_server_ends_with_its_worker(layers):
    program = (
        "import os, signal\nfrom gpu_jobs.model_server.isolation.sandbox import Sandbox\n"
        "from gpu_jobs.model_server.isolation.confinement import Layer\n"
        "from tests.gpu_jobs.model_server.hostile import PROGRAM\n"
        f"layers = frozenset(map(Layer, {sorted(map(str, layers))!r}))\n"
        "sandbox = Sandbox(layers=layers, program=('-c', PROGRAM))\n"
        "started = sandbox.start(folder=None, device='cpu', memory_bytes=1 << 30)\n"
        'started.server.channel.send(b\'{"hang": "time.sleep(600)"}\')\n'
        "print(started.server.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    before = {process.pid for process in psutil.process_iter()}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip().isdigit(), done.stderr
    until(lambda: not lives(int(done.stdout)))
    left = [process for process in psutil.process_iter(["cmdline"]) if process.pid not in before]
    servers = [process.pid for process in left if "channel_socket" in " ".join(process.info["cmdline"] or ())]
    until(lambda: not any(map(lives, servers)))


CHILD_FIRST = """
import os, sys, time
from pathlib import Path
from gpu_jobs.model_server.isolation import namespaces
path = Path(sys.argv[1])
fork = os.fork

def child_first():
    # The child replaces the file system that both share before its parent goes on.
    pid = fork()
    while pid and path.exists():
        time.sleep(0.01)
    return pid

os.devnull, os.fork = str(path), child_first
sys.exit(namespaces._as_parent_of(lambda: path.unlink() or 7))
"""


@pytest.mark.full
def test_a_parent_needs_nothing_of_the_file_system_that_its_child_replaces(tmp_path):
    path = tmp_path / "null"
    path.touch()
    done = subprocess.run([sys.executable, "-c", CHILD_FIRST, str(path)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (7, "")
