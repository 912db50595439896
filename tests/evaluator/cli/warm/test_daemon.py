"""Commands in forks of a real daemon: they print, write, obey and end as without it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from evaluator.core.records import ResultRecord, without_timings
from tests.processes import ROOT

WARM = """
import os, sys
from evaluator.cli.warm.calling import Call
call = Call.of(command="evaluate", arguments=sys.argv[1:], environment=os.environ)
code = call.run()
sys.exit(99 if code is None else code)
"""
"""Ends with 99 where the command would run without the daemon."""
START = """
import os
from evaluator.cli.warm.calling import Call
print(Call.of(command="evaluate", arguments=["evaluate"], environment=os.environ).start_daemon())
"""
COLD = "from evaluator.cli.main import main; main()"
EVALUATE = ("evaluate", "--suite", "toolmini", "--tasks", "QA/0", "--samples", "1")
SECONDS = 240


class Machine:
    """A user's environment with a daemon of its own."""

    def __init__(self, folder):
        self.folder = folder
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "LC_ALL") if name in os.environ}
        self.environment = kept | {
            "XDG_RUNTIME_DIR": str(folder), "PYTHONPATH": str(ROOT), "PLANARENA_DAEMON": "30",
            "PLANARENA_DATA": str(folder / "data"), "OPENAI_API_KEY": "a-secret",
        }  # fmt: skip
        self.pid = None

    def python(self, script, *arguments, **changes):
        return subprocess.Popen(
            [sys.executable, "-c", script, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=self.environment | changes.pop("environment", {}), **changes,
        )  # fmt: skip

    def run(self, script, *arguments, given=None, **changes):
        process = self.python(script, *arguments, **changes)
        printed, said = process.communicate(given, timeout=SECONDS)
        return process.returncode, printed, said

    def start(self):
        code, printed, said = self.run(START)
        assert code == 0, said
        self.pid = int(printed)
        self.wait_for(lambda: (self.folder / f"planarena-{os.getuid()}" / "daemon").exists(), what="its socket")

    def wait_for(self, condition, *, what):
        until = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < until, f"{what} did not come"
            time.sleep(0.05)

    def forks(self):
        return psutil.Process(self.pid).children()


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    found = Machine(tmp_path_factory.mktemp("user"))
    found.start()
    yield found
    # On request it ends and removes its socket.
    assert found.run(COLD, "daemon", "stop")[0] == 0
    found.wait_for(lambda: not psutil.pid_exists(found.pid), what="its end")
    assert list((found.folder / f"planarena-{os.getuid()}").iterdir()) == []


def report_of(file):
    document = json.loads(file.read_text())
    records = [without_timings(ResultRecord.model_validate(record)) for record in document.pop("results")]
    return document, records


def test_a_fork_prints_and_writes_what_a_process_does(machine, tmp_path):
    found = {}
    for name, script in (("cold", COLD), ("warm", WARM)):
        place = tmp_path / name
        place.mkdir()
        found[name] = machine.run(
            script, *EVALUATE, "--output", "report.json", cwd=place,
            environment={"PLANARENA_DATA": str(place / "data"), "COLUMNS": "70"}, umask=0o027,
        )  # fmt: skip
        assert (place / "report.json").stat().st_mode & 0o777 == 0o640
    assert found["cold"] == found["warm"]
    assert found["warm"][0] == 0, found["warm"]
    assert report_of(tmp_path / "cold" / "report.json") == report_of(tmp_path / "warm" / "report.json")


def test_wrong_options_and_files_end_as_without_it(machine):
    for arguments in (
        ("evaluate", "--samples", "x"),
        ("evaluate", "--suite", "no-such"),
        ("evaluate", "--planner", "plans:-"),
    ):
        assert machine.run(COLD, *arguments, given="nonsense") == machine.run(WARM, *arguments, given="nonsense")


def test_nothing_of_a_caller_stays(machine):
    assert machine.run(WARM, *EVALUATE, environment={"PLANARENA_NOTE": "another-secret"})[0] == 0
    kept = Path(f"/proc/{machine.pid}/environ").read_bytes()
    assert b"secret" not in kept
    memory = b""
    with Path(f"/proc/{machine.pid}/maps").open() as maps, Path(f"/proc/{machine.pid}/mem").open("rb") as mem:
        for line in maps:
            if "[heap]" in line or "[stack]" in line:
                first, last = (int(end, 16) for end in line.split()[0].split("-"))
                mem.seek(first)
                memory += mem.read(last - first)
    assert b"another-secret" not in memory


def test_a_caller_with_other_conditions_runs_by_itself(machine):
    assert machine.run(WARM, *EVALUATE, environment={"OMP_NUM_THREADS": "1"})[0] == 99


def begun(machine):
    """A command that waits for its standard input, and its fork."""
    before = {fork.pid for fork in machine.forks()}
    process = machine.python(WARM, "evaluate", "--suite", "toolmini", "--planner", "plans:-")
    machine.wait_for(
        lambda: any(fork.pid not in before and _reads(fork.pid) for fork in machine.forks()), what="its fork"
    )
    return process, next(fork.pid for fork in machine.forks() if fork.pid not in before)


def _reads(pid):
    """Whether a process is in a read of its standard input."""
    try:
        number, first, *_ = Path(f"/proc/{pid}/syscall").read_text().split()
    except (OSError, ValueError):
        return False
    return (number, int(first, 16)) == ("0", 0)


def _has_ended(pid):
    """Whether a process is gone, or waits only for a parent to take note of it."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_signals_reach_the_fork_and_the_caller_ends_as_it_does(machine, sent, code):
    process, fork = begun(machine)
    process.send_signal(sent)
    _, said = process.communicate(timeout=SECONDS)
    assert (process.returncode, "interrupted" in said) == (code, sent is signal.SIGINT)
    machine.wait_for(lambda: not psutil.pid_exists(fork), what="its end")


def test_a_caller_that_is_killed_takes_its_fork_with_it(machine):
    process, fork = begun(machine)
    process.kill()
    process.communicate(timeout=SECONDS)
    machine.wait_for(lambda: not psutil.pid_exists(fork), what="its end")
    assert machine.run(COLD, "daemon", "status")[0] == 0


def test_what_a_small_evaluation_needs_is_loaded_before_it_comes(machine):
    script = (
        "import sys, os\nfrom evaluator.cli.warm.serving import preload\npreload()\n"
        "before = set(sys.modules)\nfrom evaluator.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "print('MODULES', *sorted(name for name in set(sys.modules) - before if name.split('.')[0] in"
        " {'torch', 'transformers', 'diffusers', 'tokenizers', 'numpy', 'httpx'}), file=sys.stderr)"
    )
    code, _, said = machine.run(
        script, "evaluate", "--suite", "openagi", "--tasks", "7", "--samples", "1", "--planner", "gold"
    )
    assert code == 0, said
    assert said.rpartition("MODULES")[2].split() == []


def test_an_idle_daemon_ends_and_one_that_is_replaced_too(tmp_path):
    script = (
        "import sys; from pathlib import Path; from evaluator.cli.warm.serving import Daemon\n"
        "daemon = Daemon(folder=Path(sys.argv[1]), idle_seconds=float(sys.argv[2])); print('listens', flush=True)\n"
        "assert daemon.next_child() is None"
    )
    folder = tmp_path / f"planarena-{os.getuid()}"
    folder.mkdir(mode=0o700)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": str(tmp_path)}

    def begin(seconds):
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(folder), seconds], stdout=subprocess.PIPE, text=True, env=environment
        )
        assert process.stdout.readline() == "listens\n"
        return process

    with begin("0.1") as idle:
        assert idle.wait(SECONDS) == 0
    assert list(folder.iterdir()) == []
    with begin("1000") as first:
        stop = "import os; from evaluator.cli.warm.channel import stop; print(stop(os.environ))"
        done = subprocess.run([sys.executable, "-c", stop], capture_output=True, text=True, env=environment, check=True)
        assert int(done.stdout) == first.pid
        assert first.wait(SECONDS) == 0
    with begin("0.5") as first, begin("1000") as second:
        # It finds the other's socket in the place of its own, and leaves it there.
        assert first.wait(SECONDS) == 0
        assert [entry.name for entry in folder.iterdir()] == ["daemon"]
        second.terminate()
        assert second.wait(SECONDS) == 0
    assert list(folder.iterdir()) == []


def test_a_daemon_that_is_killed_takes_its_forks_with_it(tmp_path):
    own = Machine(tmp_path)
    own.start()
    process, fork = begun(own)
    os.kill(own.pid, signal.SIGKILL)
    # Its standard input stays open, so that the fork would wait on.
    code = process.wait(SECONDS)
    own.wait_for(lambda: _has_ended(fork), what="the fork's end")
    _, said = process.communicate()
    assert (code, said) == (4, "planarena: the daemon was ended during the command, and the command with it\n")


def test_a_stranger_is_hung_up_on(tmp_path):
    script = (
        "import sys, os, socket, threading; from pathlib import Path; from evaluator.cli.warm import serving\n"
        "def refuse(connection): raise serving.ChannelError('another user')\n"
        "serving.check_peer = refuse\n"
        "daemon = serving.Daemon(folder=Path(sys.argv[1]), idle_seconds=0.5)\n"
        "caller = socket.socket(socket.AF_UNIX); caller.connect(sys.argv[1] + '/daemon')\n"
        "assert os.fork() or (daemon.next_child(), os._exit(0))\n"
        "print(caller.recv(1))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False, timeout=SECONDS,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout == "b''\n", done.stderr
