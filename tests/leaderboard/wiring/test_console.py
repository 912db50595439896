"""The console script hands each command to the part that has it."""

import re
import subprocess
import sys

import pytest

from leaderboard.wiring.console import missing_packages, run, usage
from tests.packaging.conftest import ROOT
from tests.rings import usual

HELP_OF_A_WORKER = (("worker", "--help"), "--memory-budget")
PARTS = [
    (("status", "--help"), "Usage: planarena status"),
    (("suites", "list"), "toolmini"),
    HELP_OF_A_WORKER,
    (("manage", "help"), "Type 'planarena manage help <subcommand>'"),
]


@pytest.mark.parametrize(("arguments", "says"), usual(PARTS, of=[HELP_OF_A_WORKER]))
def test_a_command_reaches_its_part(arguments, says):
    command = [sys.executable, "-m", "leaderboard.wiring.console", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, says in done.stdout) == (0, True), done.stdout + done.stderr


def test_no_command_and_mistyped_ones_are_bad_usage_with_what_was_meant(capsys):
    assert run([], {}) == 2
    assert capsys.readouterr().out.startswith("Usage: ./planarena COMMAND")
    for typed, meant in (("submti", "submit"), ("dmeo", "demo"), ("tset", "test")):
        assert run([typed], {}) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert f"there is no command '{typed}'. Did you mean '{meant}'" in said.err


def test_the_help_of_a_checkout_lists_every_command_of_its_script():
    script = (ROOT / "planarena").read_text()
    own = set(re.findall(r"^    (\w[\w|]*)\) ", script.rpartition("case")[2] + script, re.M))
    names = {name for alternatives in own for name in alternatives.split("|")} - {"help", "version"}
    listed = {line.split()[0] for line in usage(is_checkout=True).splitlines() if line.startswith("  ")}
    assert {"test", "demo", "dev", "wheel", "lock", "manage", "worker"} <= names
    assert names <= listed
    assert {"bench", "train", "validity", "visibility", "try-endpoint", "completion", "mcp", "chain"} <= listed
    assert missing_packages(["site", "worker"]) == [], "by the metadata of a wheel"
