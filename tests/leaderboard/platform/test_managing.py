"""Django's commands as somebody types them who has a new checkout and no settings."""

import io
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from evaluator.cli import progress_lines
from leaderboard.platform import managing
from tests.processes import ROOT, clean_environment


@pytest.fixture
def data() -> Iterator[Path]:
    """Outside pytest's folder, which every pytest that starts closes to the user that PostgreSQL has as root."""
    with tempfile.TemporaryDirectory(prefix="managing-") as name:
        yield Path(name) / "data"


def manage(*arguments: str, data: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT, env=clean_environment(PLANARENA_DATA=str(data), **environment),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


SUPERUSER = ("createsuperuser", "--no-input", "--username", "ada", "--email", "ada@example.org")


@pytest.mark.full
def test_a_superuser_can_be_made_before_anything_else_ran(data):
    made = manage(*SUPERUSER, data=data, DJANGO_SUPERUSER_PASSWORD="a long pass phrase")
    assert (made.returncode, made.stdout) == (0, "Superuser created successfully.\n")
    assert made.stderr.splitlines() == [
        f"planarena: neither DATABASE_URL nor PLANARENA_SECRET_KEY is set: using the demo in {data}",
        f"planarena: preparing the database in {data}",
    ]
    again = manage(*SUPERUSER, data=data, DJANGO_SUPERUSER_PASSWORD="a long pass phrase")
    assert again.returncode == 1
    assert "already taken" in again.stderr
    assert "preparing" not in again.stderr
    assert "Traceback" not in again.stderr


def test_commands_that_are_refused_are_one_sentence_and_make_nothing(data, tmp_path):
    wrong = {"PLANARENA_SECRET_KEY": "too short", "DATABASE_URL": "postgresql://localhost/none"}
    for arguments, environment, said in (
        (("createsuperusr",), {}, "Did you mean createsuperuser?"),
        (("back_up", str(tmp_path / "saved")), {}, "planarena: back_up needs the settings of a site"),
        (("check",), wrong, "planarena: PLANARENA_SECRET_KEY is too short: use 50 random characters.\n"),
    ):
        done = manage(*arguments, data=data, **environment)
        assert (done.returncode, done.stdout, said in done.stderr) == (1, "", True), done.stderr
        assert "Traceback" not in done.stderr
        assert arguments == ("createsuperusr",) or len(done.stderr.splitlines()) == 1
    assert not (data / "postgres").exists()
    assert not (tmp_path / "saved").exists()


@pytest.mark.full
def test_help_needs_neither_settings_nor_a_database(data):
    for arguments, said in (
        ((), "createsuperuser"),
        (("help",), "[queue]"),
        (("createsuperuser", "--help"), "usage: planarena manage createsuperuser"),
        (("demo", "--help"), "--once"),
    ):
        done = manage(*arguments, data=data, PLANARENA_PROGRAM="planarena manage")
        assert (done.returncode, said in done.stdout + done.stderr) == (0, True)
        assert "not properly configured" not in done.stdout
    assert not (data / "postgres").exists()
    assert not (data / "secrets").exists()


@pytest.mark.full
def test_an_empty_database_of_the_operators_is_left_as_it_is_and_told_in_one_sentence(data, postgres_url):
    done = manage(*SUPERUSER, data=data, PLANARENA_DEMO="1", DATABASE_URL=postgres_url)
    assert done.returncode == 1
    assert done.stderr == (
        "planarena: The database of DATABASE_URL has no tables yet. Run ./planarena manage migrate first.\n"
    )
    done = manage("register_suites", data=data, PLANARENA_DEMO="1", DATABASE_URL=postgres_url)
    assert done.returncode == 1
    assert done.stderr.startswith("planarena: The database does not match this release (relation")
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" in manage("register_suites", "--traceback", data=data, PLANARENA_DEMO="1", DATABASE_URL=postgres_url).stderr  # fmt: skip  # noqa: E501


@pytest.mark.full
def test_ctrl_c_ends_a_command_without_a_traceback(data, postgres_url):
    program = "import time; print('up', flush=True); time.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", program],
        cwd=ROOT, env=clean_environment(PLANARENA_DATA=str(data), PLANARENA_DEMO="1", DATABASE_URL=postgres_url),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # Background jobs of a shell ignore the signal, and so would their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "")


def test_without_a_terminal_a_long_command_says_that_it_is_running(monkeypatch):
    class Stream(io.StringIO):
        def write(self, text):
            lines.append(text)
            printed.set()
            return len(text)

    class Utility:
        def __init__(self, arguments):
            self.name = arguments[1]

        def execute(self):
            printed.clear()
            # Others print none.
            printed.wait(60 if self.name == "back_up" else 0.1)

    lines, printed = [], Event()
    monkeypatch.setattr(progress_lines, "LINE_SECONDS", 0.01)
    monkeypatch.setattr(managing, "ManagementUtility", Utility)
    monkeypatch.setattr(managing, "_prepare", lambda *_, **__: None)
    monkeypatch.setattr(sys, "stderr", Stream())
    assert [managing.run([name]) for name in ("shell", "demo", "back_up")] == [0, 0, 0]
    assert set(lines) == {"planarena manage back_up: 0 s\n"}
