"""A demo's processes, address and data folder, and what its terminal shows meanwhile."""

import io
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from rich.console import Console

from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.operations.demo.processes import (
    WORKERS,
    DemoError,
    SourceWatcher,
    Supervisor,
    interruptible,
    to_restart,
)
from leaderboard.operations.demo.progress import StallWatch, follow
from leaderboard.operations.demo.starting import listening_socket, only_demo_of
from tests.leaderboard.factories import make_evaluation


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_demo_even_if_a_library_caught_its_exception(tmp_path, number):
    with interruptible() as raise_if_interrupted:
        supervisor = Supervisor(logs=tmp_path, home=tmp_path, environment={}, raise_if_interrupted=raise_if_interrupted)
        supervisor.watch()
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), number)
            time.sleep(1)
        with pytest.raises(KeyboardInterrupt):
            supervisor.watch()


def test_a_restarted_process_is_another_one_and_one_that_ended_is_named_and_not_started_again(tmp_path):
    def noted() -> set[str]:
        """The processes that the supervisor wrote down, for a demo that comes after it."""
        return set((tmp_path / "pids").read_text().splitlines())

    supervisor = Supervisor(logs=tmp_path, home=tmp_path, environment=os.environ)
    try:
        for name in ("site", "queue"):
            supervisor.start(name=name, command=[sys.executable, "-c", "import time; time.sleep(60)"])
        before = noted()
        supervisor.restart({"site", "unknown"})
        after = noted()
        assert (len(before), len(after), len(before & after)) == (2, 2, 1)
        assert supervisor.ended() == []
        supervisor.start(name="fails", command=[sys.executable, "-c", "raise SystemExit(3)"])
        while not supervisor.ended():
            time.sleep(0.02)
        (child,) = supervisor.ended()
        assert (child.name, child.process.returncode, child.restarts) == ("fails", 3, 0)
    finally:
        supervisor.stop()


def port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


def test_a_second_demo_gets_the_next_free_port():
    with listening_socket(0) as one, listening_socket(None, first=port_of(one)) as other:
        assert port_of(one) < port_of(other) < port_of(one) + 100
        port = port_of(one)
        # One that was asked for is not exchanged for another; and it is held until the web server has it.
        with pytest.raises(DemoError, match=f"127.0.0.1:{port} is in use; .* --port"):
            listening_socket(port)
        with socket.socket() as late:
            late.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with pytest.raises(OSError, match="in use"):
                late.bind(("127.0.0.1", port))


def test_answers_are_sent_at_once_though_the_web_server_takes_the_socket_for_a_unix_socket():
    with listening_socket(0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_killed_demo_does_not_keep_its_data_folder_and_a_second_one_is_refused_with_the_address_of_the_first(
    tmp_path,
):
    program = (
        "import os, signal; from pathlib import Path; from leaderboard.operations.demo.starting import only_demo_of;"
        f"only_demo_of(Path({str(tmp_path)!r})).__enter__(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program], check=False)
    with only_demo_of(tmp_path) as note:
        note.write_text("http://127.0.0.1:8007")
        with pytest.raises(DemoError, match=rf"already runs in the data folder {tmp_path} at http://127.0.0.1:8007"):
            only_demo_of(tmp_path).__enter__()


STALLED = "have not moved for 0.2 seconds"
MOVES = "move again"


def test_a_stall_begins_after_its_time_and_ends_with_the_next_change():
    watch = StallWatch(seconds=180)
    looks = [(0, "a"), (180, "a"), (181, "a"), (200, "a"), (201, "b"), (381, "b"), (382, "b")]
    seen = [(watch.look(at=at, state=state), watch.stalled) for at, state in looks]
    assert seen == [
        (False, False), (False, False), (True, True), (False, True), (True, False), (False, False), (True, True),
    ]  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize("end_when_stalled", [True, False])
def test_planners_that_do_not_move_are_told_once_or_end_a_demo_that_only_prints_the_board(end_when_stalled):
    evaluation, output, looks = make_evaluation(), io.StringIO(), count()

    def tick() -> None:
        assert next(ticks) < 1000, f"still following: {output.getvalue()}"
        # A few looks more than the warning needs, so that a second warning would be there.
        moved = STALLED in output.getvalue() and next(looks) > 4
        state = (
            EvaluationState.FAILED if MOVES in output.getvalue() else EvaluationState.LAUNCHING if moved else "queued"
        )
        Evaluation.objects.filter(pk=evaluation.pk).exclude(state=state).update(state=state)

    ticks = count()
    problem = follow(
        evaluations=[evaluation], console=Console(file=output, width=200), on_tick=tick,
        end_when_stalled=end_when_stalled, stall_seconds=0.2,
    )  # fmt: skip
    assert problem is not None
    told = "nothing moved for 0.2 seconds: Queued" if end_when_stalled else "Failed"
    assert f"was not published: {told}" in problem
    times = 0 if end_when_stalled else 1
    assert (output.getvalue().count(STALLED), output.getvalue().count(MOVES)) == (times, times)


def checkout(root):
    for name in (
        "evaluator/core/records.py",
        "gpu_jobs/worker.py",
        "leaderboard/platform/database.py",
        "frontend/templates/base.html",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


def test_written_added_and_removed_sources_are_changes_once_and_other_files_none(tmp_path):
    watcher = SourceWatcher(checkout(tmp_path))
    assert watcher.changed() == []
    os.utime(tmp_path / "leaderboard" / "platform" / "database.py", (1, 1))
    (tmp_path / "frontend" / "templates" / "new.html").touch()
    (tmp_path / "gpu_jobs" / "worker.py").unlink()
    assert watcher.changed() == [
        Path("frontend/templates/new.html"), Path("gpu_jobs/worker.py"), Path("leaderboard/platform/database.py"),
    ]  # fmt: skip
    (tmp_path / "leaderboard" / "notes.txt").touch()
    (tmp_path / "README.md").touch()
    assert watcher.changed() == []


def test_workers_start_again_for_what_they_run_only():
    everything = {"site", "celery", "beat"}
    assert to_restart([Path("leaderboard/platform/database.py")]) == everything
    assert to_restart([Path("frontend/templates/base.html")]) == everything
    assert to_restart([Path("evaluator/core/records.py")]) == everything | {WORKERS}
    assert to_restart([Path("gpu_jobs/worker.py")]) == everything | {WORKERS}
    assert to_restart([]) == set()
