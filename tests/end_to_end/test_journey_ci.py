"""A pipeline with a token: the command waits, and its exit code, its JUnit file and its JSON say the same."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.end_to_end.arena import Arena, sign_up
from tests.processes import ROOT, clean_environment

pytestmark = [pytest.mark.full, pytest.mark.timeout(400)]
SUITE, METRIC = "toolmini", "SE"
"""Judged and not executed: what is tried here is the way of a pipeline, and plans are judged in milliseconds."""


class Pipeline:
    """`planarena submit` in a process and with files of its own, as two jobs of one pipeline have them."""

    def __init__(self, *, arena: Arena, token: str, folder: Path, least: str) -> None:
        folder.mkdir()
        self.junit, self.json = folder / "junit.xml", folder / "out.json"
        state = str(folder / "state.json")
        command = ["submit", "--name", f"ci-{folder.name}", "--planner", "controlllm/greedy", "--suite", SUITE]
        options = [
            "--wait",
            "--fail-under",
            f"{METRIC}={least}",
            "--junit",
            str(self.junit),
            "--output",
            str(self.json),
        ]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "evaluator", *command, *options], cwd=ROOT, text=True,
            env=clean_environment(PLANARENA_URL=arena.url, PLANARENA_TOKEN=token, PLANARENA_STATE=state),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def end(self) -> tuple[int, str]:
        said, _ = self.process.communicate(timeout=300)
        return self.process.returncode, said


def test_the_exit_code_says_whether_the_planner_is_good_enough(arena, tmp_path):
    token = sign_up(arena, "pipeline")
    jobs = {
        0: Pipeline(arena=arena, token=token, folder=tmp_path / "lenient", least="0.40"),
        1: Pipeline(arena=arena, token=token, folder=tmp_path / "strict", least="0.9999"),
    }
    for code, job in jobs.items():
        ended, said = job.end()
        assert ended == code, said
        report = json.loads(job.json.read_text())
        (evaluation,) = report["evaluations"]
        measured = arena.get(f"evaluations/{evaluation['id']}/")["summary"]["metrics"][METRIC]["mean"]
        assert [one["measured"] for one in report["thresholds"]] == [measured]
        assert 0.40 <= measured < 0.9999
        assert report["exit_code"] == code
        junit = ET.parse(job.junit).getroot()
        assert len(junit.findall("testsuite/testcase")) == len(arena.results(evaluation["id"])) + 1
        assert len(junit.findall("testsuite/testcase/failure")) == code
