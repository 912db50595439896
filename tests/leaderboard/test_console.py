"""The console script hands each command to the part that has it."""

import subprocess
import sys

import pytest

from leaderboard.console import missing_packages
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
    assert (done.returncode, done.stdout.startswith("Usage: planarena COMMAND")) == (2, True)


def test_in_a_checkout_nothing_is_missing_by_the_metadata_of_a_wheel():
    assert missing_packages(["site", "worker"]) == []
