"""`planarena regrade REPORT`: recorded answers under today's rules, without asking anybody."""

import json

import pytest
from typer.testing import CliRunner

from evaluator.cli.evaluate import evaluation_document
from evaluator.cli.main import app
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from tests.evaluator.scoring.arbiters.arbiter_server import MODEL
from tests.fakes.stepping_planner import SteppingPlanner

EARLIER = "0" * 64
"""Digest of rules that this release does not have."""
EVALUATED = {
    "judged": ("--suite", "toolmini", "--planner", "controlllm/greedy", "--tasks", "QA/0,QA/1,image_detection/0"),
    "executed": ("--suite", "openagi", "--planner", "gold", "--tasks", "0,31", "--samples", "1"),
    "executed in turns": ("--suite", "openagi-turns", "--planner", "gold", "--tasks", "0,31", "--samples", "2"),
}
STEPPING = "step by step"
RULES = {"executed": ("profile", "digest")}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    files = {STEPPING: stepping_report(folder / "stepping.json")}
    for name, arguments in EVALUATED.items():
        files[name] = folder / f"{name}.json"
        done = CliRunner().invoke(app, ["evaluate", *arguments, "--output", str(files[name])])
        assert done.exit_code == 0, done.output
    return files


def stepping_report(file):
    """The report of a planner that acts turn by turn."""
    suite = suite_of("lumos-shop")
    evaluator = episode_of(suite.slug).evaluator(suite=suite, setting=Setting())
    keys = [task.key for task in suite.tasks[:3]]
    records = list(evaluator.run(planner=SteppingPlanner(suite), tasks=keys))
    document = evaluation_document(
        evaluator=evaluator, planner="stepping", identity={}, keys=keys, records=records, samples=1
    )
    file.write_text(json.dumps(document))
    return file


def of_earlier_rules(report, folder, *, kind, **changed):
    """The report as an earlier release would have written it."""
    document = json.loads(report.read_text())
    *parents, name = RULES.get(kind, ("judge",))
    part = document
    for parent in parents:
        part = part[parent]
    part[name] = EARLIER
    document["results"][0] |= changed
    file = folder / "earlier.json"
    file.write_text(json.dumps(document))
    return file


def regraded(file, *options):
    output = file.with_name("again.json")
    done = CliRunner().invoke(app, ["regrade", str(file), "--output", str(output), *options])
    assert done.exit_code == 0, done.output
    return json.loads(output.read_text()), done.stderr


@pytest.mark.parametrize("kind", [*EVALUATED, STEPPING])
def test_the_recorded_answers_are_scored_under_todays_rules(reports, tmp_path, kind):
    today = json.loads(reports[kind].read_text())
    file = of_earlier_rules(reports[kind], tmp_path, kind=kind, score=0.123)
    again, said = regraded(file)
    assert [record["score"] for record in again["results"]] == [record["score"] for record in today["results"]]
    assert again["results"][0]["indicators"] == today["results"][0]["indicators"]
    assert again["summary"]["metrics"] == today["summary"]["metrics"]
    (condition,) = again["regrade"]["conditions"]
    assert condition["before"] == EARLIER
    first = today["results"][0]
    (change,) = again["regrade"]["changes"]["tasks"]
    assert (change["task"], change["score"]) == (first["task"], [0.123, first["score"]])
    assert f"{first['task']}: 0.1230, now {first['score']:.4f}" in said
    assert (again["planner"], again["summary"]["outcomes"]) == (today["planner"], today["summary"]["outcomes"])


def test_times_and_tokens_are_those_of_the_first_run(reports, tmp_path):
    call = {"seconds": 2.5, "tries": 2, "prompt_tokens": 70, "completion_tokens": 7}
    again, _ = regraded(of_earlier_rules(reports["judged"], tmp_path, kind="judged", planner=call))
    assert again["results"][0]["planner"] == call


def test_turns_have_the_times_and_tokens_of_the_first_run(reports, tmp_path):
    first = json.loads(reports[STEPPING].read_text())
    again, _ = regraded(of_earlier_rules(reports[STEPPING], tmp_path, kind=STEPPING))
    for before, after in zip(first["results"], again["results"], strict=True):
        assert after["planner"] == before["planner"]
        turns = [record["transcripts"][0]["turns"] for record in (before, after)]
        assert len(turns[0]) > 3
        for name in ("received", "seconds", "prompt_tokens"):
            assert [turn[name] for turn in turns[0]] == [turn[name] for turn in turns[1]]


def test_an_episode_whose_planner_acted_on_other_results_is_left_out(reports, tmp_path):
    document = json.loads(reports[STEPPING].read_text())
    place = 1
    outputs = document["results"][place]["transcripts"][0]["turns"][0]["actions"][0]["outputs"]
    outputs[next(iter(outputs))] = "another result"
    document["judge"] = EARLIER
    file = tmp_path / "earlier.json"
    file.write_text(json.dumps(document))
    again, _ = regraded(file)
    found = again["results"][place]
    assert (found["outcome"], found["reason"], found["score"]) == ("not_run", "not_in_run", None)
    assert "acted on other results" in found["reason_text"]
    others = [one["score"] for number, one in enumerate(again["results"]) if number != place]
    assert others == [one["score"] for number, one in enumerate(document["results"]) if number != place]


def test_an_answer_that_the_record_has_only_in_part_is_left_out(reports, tmp_path):
    document = json.loads(reports["executed in turns"].read_text())
    turn = document["results"][0]["transcripts"][0]["turns"][0]
    turn["received"] = [turn["received"][0][:50] + "…"]
    document["judge"] = EARLIER
    file = tmp_path / "earlier.json"
    file.write_text(json.dumps(document))
    again, _ = regraded(file)
    assert again["results"][0]["reason"] == "not_in_run"
    assert "not stored whole" in again["results"][0]["reason_text"]


def test_a_task_that_was_asked_in_other_words_is_left_out(reports, tmp_path):
    again, _ = regraded(of_earlier_rules(reports["judged"], tmp_path, kind="judged", request="Something else."))
    assert [record["outcome"] for record in again["results"]] == ["not_run", "scored", "scored"]


def test_samples_that_were_not_played_are_not_scored(reports, tmp_path):
    document = json.loads(reports["executed in turns"].read_text())
    document["data"]["samples"] = 3
    document["judge"] = EARLIER
    file = tmp_path / "earlier.json"
    file.write_text(json.dumps(document))
    again, _ = regraded(file)
    found = [(record["outcome"], record["reason"], record["score"]) for record in again["results"]]
    assert found == [("not_run", "not_in_run", None)] * 2
    assert "no episode of sample 2 of this task; its samples: 0, 1." in again["results"][0]["reason_text"]


@pytest.mark.parametrize("reason", ["no_goal", "no_expert", "no_data"])
def test_a_task_that_was_not_run_stays_so(reports, tmp_path, reason):
    left_out = {"outcome": "not_run", "reason": reason, "reason_text": "Why.", "score": None, "plan_received": None}
    again, _ = regraded(of_earlier_rules(reports["judged"], tmp_path, kind="judged", **left_out))
    assert {name: again["results"][0][name] for name in left_out} == left_out
    assert [record["outcome"] for record in again["results"][1:]] == ["scored", "scored"]


def test_a_cancelled_task_is_scored_only_if_it_has_a_plan(reports, tmp_path):
    today = json.loads(reports["judged"].read_text())["results"][0]["score"]
    cancelled = {"outcome": "cancelled", "score": None}
    again, _ = regraded(of_earlier_rules(reports["judged"], tmp_path, kind="judged", **cancelled, plan_received=None))
    assert (again["results"][0]["outcome"], again["results"][0]["score"]) == ("cancelled", None)
    again, _ = regraded(of_earlier_rules(reports["judged"], tmp_path, kind="judged", **cancelled))
    assert (again["results"][0]["outcome"], again["results"][0]["score"]) == ("scored", today)


@pytest.mark.parametrize("reason", ["scorer_failed", "expert_failed"])
def test_a_plan_on_which_an_expert_or_the_scorer_failed_is_scored_again(reports, tmp_path, reason):
    today = json.loads(reports["judged"].read_text())["results"][0]
    failed = {"outcome": "infra_fault", "reason": reason, "reason_text": "It failed.", "score": None, "indicators": {}}
    again, _ = regraded(of_earlier_rules(reports["judged"], tmp_path, kind="judged", **failed))
    found = again["results"][0]
    assert (found["outcome"], found["score"], found["plan"]) == ("scored", today["score"], today["plan"])
    lost = {**failed, "plan_received": None}
    again, _ = regraded(of_earlier_rules(reports["judged"], tmp_path, kind="judged", **lost))
    assert again["results"][0]["outcome"] == "infra_fault"


def test_the_arbiter_of_the_report_settles_again_or_has_to_be_named(reports, tmp_path):
    document = json.loads(reports["judged"].read_text())
    file = tmp_path / "settled.json"
    file.write_text(json.dumps({**document, "judge": EARLIER, "arbiter": {"name": MODEL, "votes": 3}}))
    done = CliRunner().invoke(app, ["regrade", str(file), "--output", str(tmp_path / "again.json")])
    assert (done.exit_code, "name it by --arbiter" in " ".join(done.stderr.split())) == (2, True), done.output
    again, _ = regraded(file, "--arbiter", f"chat:http://127.0.0.1:9/v1#{MODEL}")
    assert again["arbiter"]["name"] == MODEL
    of_hub = {"name": "makers/same-or-not", "revision": "4" * 40, "version": "cross-encoder/1", "threshold": 0.8}
    file.write_text(json.dumps({**document, "judge": EARLIER, "arbiter": of_hub}))
    again, _ = regraded(file)
    assert again["arbiter"] == of_hub


def test_wrong_uses_are_refused_with_a_sentence(reports, tmp_path):
    earlier = of_earlier_rules(reports["judged"], tmp_path, kind="judged")
    (tmp_path / "other.json").write_text('{"version": "evaluation/1", "suite": {"slug": []}, "results": []}')
    output = ("--output", str(tmp_path / "again.json"))
    for arguments, sentence in {
        (str(earlier),): "--output names the file",
        (str(reports["judged"]), *output): "nothing would change",
        ("toolmini", "--board", "--arbiter", "dir:folder"): "--arbiter is for reports",
        (str(earlier), "--suite-version", *output): "allow --judge as well",
        (str(tmp_path / "other.json"), *output): "is not a report from `planarena evaluate`",
    }.items():
        done = CliRunner().invoke(app, ["regrade", *arguments])
        assert (done.exit_code, sentence in " ".join(done.stderr.split())) == (2, True), done.output
