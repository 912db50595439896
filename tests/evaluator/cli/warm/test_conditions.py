"""When a command may use the daemon, and what the two must have in common."""

import os
import socket
import subprocess
import sys

import pytest

from evaluator.cli.warm import conditions
from evaluator.cli.warm.channel import ChannelError, check_peer, checked_folder, receive, send
from evaluator.cli.warm.conditions import code_stamp, environment_of_daemon, may_use, minutes_of, stamp


@pytest.mark.parametrize(
    ("environment", "minutes"),
    [
        ({}, 10), ({"PLANARENA_DAEMON": "2.5"}, 2.5), ({"PLANARENA_DAEMON": "3", "CI": "true"}, 3),
        ({"PLANARENA_DAEMON": "off"}, None), ({"PLANARENA_DAEMON": "0"}, None), ({"CI": "true"}, None),
        ({"PLANARENA_DAEMON": "soon"}, None), ({"PLANARENA_DAEMON": "nan"}, None),
    ],
)  # fmt: skip
def test_the_setting_gives_minutes_or_turns_it_off(environment, minutes):
    assert minutes_of(environment) == minutes


@pytest.mark.parametrize(
    ("command", "arguments", "environment", "allowed"),
    [
        ("evaluate", ["evaluate"], {}, True),
        ("suites", ["suites", "list"], {}, False),
        ("evaluate", ["evaluate", "--verbose"], {}, False),
        ("evaluate", ["evaluate"], {"PLANARENA_VERBOSE": "1"}, False),
        ("evaluate", ["evaluate", "--planner", "plans:/dev/fd/63"], {}, False),
        ("evaluate", ["evaluate"], {"PLANARENA_SUITES": "ours.entry"}, False),
        ("evaluate", ["evaluate"], {"PLANARENA_DAEMON": "off"}, False),
    ],
)
def test_what_is_unusual_runs_without_it(command, arguments, environment, allowed, monkeypatch):
    monkeypatch.setattr(sys, "gettrace", lambda: None)
    assert may_use(command=command, arguments=arguments, environment=environment) is allowed


def test_the_daemon_has_no_secrets_of_its_caller():
    given = {"PATH": "/bin", "HF_TOKEN": "secret", "HF_HOME": "/hub", "OMP_NUM_THREADS": "2", "API_KEY": "secret",
             "PLANARENA_HIDDEN_SEED": "secret", "LC_ALL": "C"}  # fmt: skip
    assert environment_of_daemon(given) == {
        "PATH": "/bin", "HF_HOME": "/hub", "OMP_NUM_THREADS": "2", "LC_ALL": "C"
    }  # fmt: skip


def test_the_stamp_says_what_was_loaded_and_nothing_that_a_fork_gets_from_its_caller():
    before = stamp({"HOME": "/home/a"})
    assert stamp({"HOME": "/home/a", "PATH": "/bin", "PLANARENA_DATA": "x", "HF_TOKEN": "y"}) == before
    assert stamp({"HOME": "/home/b"}) != before
    assert stamp({"HOME": "/home/a", "OMP_NUM_THREADS": "1"}) != before


def test_the_stamp_changes_with_umask_never_and_with_limits_always():
    script = (
        "import os, resource, sys; from evaluator.cli.warm.conditions import stamp\n"
        "a = stamp({}); os.umask(0o77); assert stamp({}) == a\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 128)); assert stamp({}) != a"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_changed_file_gives_another_stamp(tmp_path, monkeypatch):
    monkeypatch.setattr(conditions, "PACKAGE", tmp_path)
    (tmp_path / "module.py").write_text("a = 1")
    before = code_stamp()
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "module.pyc").write_text("")
    assert code_stamp() == before
    (tmp_path / "module.py").write_text("a = 22")
    changed = code_stamp()
    assert changed != before
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "data.json").write_text("{}")
    assert code_stamp() not in {before, changed}


def test_the_folder_must_be_the_users_own_and_closed_to_others(tmp_path):
    folder = tmp_path / "planarena"
    with pytest.raises(ChannelError, match="No such file"):
        checked_folder(folder, create=False)
    assert checked_folder(folder, create=True).stat().st_mode & 0o777 == 0o700
    folder.chmod(0o750)
    with pytest.raises(ChannelError, match="nobody else may enter"):
        checked_folder(folder, create=True)
    link = tmp_path / "link"
    folder.chmod(0o700)
    link.symlink_to(folder)
    with pytest.raises(ChannelError, match="must be a folder of yours"):
        checked_folder(link, create=True)


def test_another_user_at_the_other_end_is_refused(monkeypatch):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert check_peer(ours) == os.getpid()
        monkeypatch.setattr(os, "getuid", lambda: 12345)
        with pytest.raises(ChannelError, match="belongs to user"):
            check_peer(ours)


def test_messages_carry_descriptors_and_are_bounded(tmp_path):
    ours, theirs = socket.socketpair()
    with ours, theirs, (tmp_path / "file").open("w") as file:
        send(ours, {"text": "\udcff" * 3, "many": list(range(30_000))}, descriptors=[file.fileno()])
        message, descriptors = receive(theirs)
        assert (message["text"], len(message["many"])) == ("\udcff" * 3, 30_000)
        assert os.path.samestat(os.fstat(descriptors[0]), os.fstat(file.fileno()))
        os.close(descriptors[0])
        ours.sendall(b"\xff\xff\xff\xff")
        with pytest.raises(ChannelError, match="4294967295 bytes"):
            receive(theirs)
        ours.sendall(b"\0\0\0\2[]")
        with pytest.raises(ChannelError, match="no object"):
            receive(theirs)
        ours.close()
        with pytest.raises(ChannelError, match="hung up"):
            receive(theirs)
