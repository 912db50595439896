"""The console script hands each command to the part that has it."""

import re
import subprocess
import sys

import pytest

from leaderboard.console import missing_packages, usage
from tests.packaging.conftest import ROOT


def planarena(*arguments, timeout=120):
    command = [sys.executable, "-m", "leaderboard.console", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("status", "--help"), "Usage: planarena status"),
        (("suites", "list"), "toolmini"),
        (("worker", "--help"), "--memory-budget"),
        (("manage", "help"), "Type 'planarena manage help <subcommand>'"),
    ],
)
def test_a_command_reaches_its_part(arguments, says):
    done = planarena(*arguments)
    assert (done.returncode, says in done.stdout) == (0, True), done.stdout + done.stderr


def test_no_command_is_bad_usage_with_the_list_of_them():
    done = planarena()
    assert (done.returncode, done.stdout.startswith("Usage: ./planarena COMMAND")) == (2, True)


@pytest.mark.parametrize(("typed", "meant"), [("submti", "submit"), ("dmeo", "demo"), ("tset", "test")])
def test_a_mistyped_command_is_refused_with_the_one_that_was_meant(typed, meant):
    done = planarena(typed)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"there is no command '{typed}'. Did you mean '{meant}'" in done.stderr


def test_the_help_of_a_checkout_lists_every_command_of_its_script():
    script = (ROOT / "planarena").read_text()
    own = set(re.findall(r"^    (\w[\w|]*)\) ", script.rpartition("case")[2] + script, re.M))
    names = {name for alternatives in own for name in alternatives.split("|")} - {"help", "version"}
    listed = {line.split()[0] for line in usage(is_checkout=True).splitlines() if line.startswith("  ")}
    assert {"test", "demo", "dev", "wheel", "lock", "manage", "worker"} <= names
    assert names <= listed
    assert {"bench", "train", "validity", "visibility", "try-endpoint", "completion", "mcp", "chain"} <= listed


def test_in_a_checkout_nothing_is_missing_by_the_metadata_of_a_wheel():
    assert missing_packages(["site", "worker"]) == []
