"""The released requests as suites that are executed: which there are, and what is said of missing files."""

import json

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.controlllm.toolbench.judging import judge_digest
from evaluator.controlllm.toolbench.released.executed import TOOL2K, TOOL100, results_of
from evaluator.core.canonical_json import digest
from evaluator.core.plans.model import Plan, Step
from evaluator.core.suites.hidden import HiddenSeed
from evaluator.core.suites.registry import suite_names, suite_of
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.episodes.base import Setting, SettingError, episode_of
from evaluator.replies.version import READER
from evaluator.scoring.metrics.rule_names import RULE_NAMES
from tests.evaluator.controlllm.toolbench.released.files import write_files


def test_both_have_the_requests_of_the_judged_suites(data, full):
    for slug, judged, count in ((TOOL100, "tool100", 127), (TOOL2K, "tool2k", 2500))[: 2 if full else 1]:
        own, other = suite_of(slug), suite_of(judged)
        assert [task.text for task in own.tasks] == [task.text for task in other.tasks]
        assert len(own.tasks) == count
        assert all(task.gold == twin.gold for task, twin in zip(own.tasks, other.tasks, strict=True))


def test_every_gold_plan_has_results_that_can_be_compared(data, full):
    for slug in (TOOL100, TOOL2K)[: 2 if full else 1]:
        for task in suite_of(slug).tasks:
            if task.gold is not None:
                assert len(task.results) == len(task.gold.answers) == len(task.answers)
                assert {one.metric for one in task.results} <= {*RULE_NAMES, "ViT", "BERT"}


def test_they_are_offered_where_their_requests_were_fetched(data, monkeypatch, tmp_path):
    assert {TOOL100, TOOL2K} <= set(suite_names())
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path))
    assert not {TOOL100, TOOL2K} & set(suite_names())


def test_the_judged_suites_keep_their_digest(data):
    """Nothing of the execution is among the rules of the judge."""
    from evaluator.controlllm.toolbench import judging

    assert "released" in judging._NO_RULES
    assert episode_of("tool100").rules_digest("paper") == digest({"judge": judge_digest(), "reader": READER})


def test_there_is_no_hidden_split(data, tmp_path):
    setting = Setting(profile="paper", split="hidden", hidden=HiddenSeed("secret"), inputs=str(tmp_path))
    with pytest.raises(SettingError, match="without a hidden split"):
        episode_of(TOOL100).not_run(suite=suite_of(TOOL100), setting=setting)


def test_a_result_that_no_step_makes_or_no_score_compares_is_refused():
    step = Step(id="s1", tool="text_to_speech", inputs={"text": "a"}, outputs={"speech": "s1.speech"})
    with pytest.raises(ValueError, match="no score for a result of type audio"):
        results_of(gold=Plan(steps=(step,), answers=("s1.speech",)), catalogue=CONTROLLLM, files={})
    with pytest.raises(ValueError, match="no step of the gold plan makes"):
        results_of(gold=Plan(steps=(step,), answers=("s2.x",)), catalogue=CONTROLLLM, files={})


def test_the_command_says_which_files_are_missing(data, tmp_path):
    """Without weights nothing is executed: here a request without a tool that has weights would be needed."""
    write_files(tmp_path, tasks=suite_of(TOOL100).tasks[:2])
    done = planarena("suites", "inputs", TOOL100, "--inputs", str(tmp_path), "--json")
    assert done.exit_code == 1, done.stderr
    assert {row["problem"] for row in json.loads(done.stdout)} >= {"", "is not there"}
    asked = ("evaluate", "--suite", TOOL100, "--profile", "paper", "--samples", "1")
    bad = planarena(*asked)
    assert bad.exit_code == 2
    assert "--inputs DIR" in bad.stderr
    done = planarena(*asked, "--inputs", str(tmp_path), "--tasks", "QA/0")
    assert done.exit_code == 0, done.stderr
    assert "files of the requests cannot be used" in done.stderr
    assert "1 tasks: 1 not_run" in done.stdout


def planarena(*arguments):
    return CliRunner().invoke(app, arguments)
