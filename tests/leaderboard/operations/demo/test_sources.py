"""What starts again when a file is edited."""

import os
from pathlib import Path

from leaderboard.operations.demo.processes import WORKERS, SourceWatcher, to_restart


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
