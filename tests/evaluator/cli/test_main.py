"""The command line as a user meets it: exit codes and sentences."""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from click.testing import Result
from PIL import Image
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.miniature.scenes import draw_scene
from evaluator.miniature.seeds import Split
from evaluator.network.transient import Backoff
from evaluator.planners import endpoint as client
from tests.evaluator.planners.test_endpoint import endpoint

ROOT = Path(__file__).resolve().parents[3]


def planarena(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def unexpected(cases) -> dict[str, str]:
    """What commands said that did not end as bad usage with their sentence."""
    wrong = {}
    for arguments, says in cases:
        done = planarena(*arguments)
        said = " ".join(done.stderr.split())
        if done.exit_code != 2 or says not in said:
            wrong[" ".join(arguments)] = f"{done.exit_code}: {said}"
    return wrong


def test_suites_are_listed_without_loading_torch():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "evaluator", "suites", "list"],
        cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "openagi" in done.stdout
    assert " torch" not in done.stderr
    assert " transformers" not in done.stderr


def test_bad_usage_is_exit_code_2_with_a_sentence():
    cases = [
        (("suites", "show", "nope"), "there is no suite 'nope'; there are: openagi"),
        (("evaluate", "--suite", "nope"), "there is no suite"),
        (("evaluate", "--planner", "weather"), "there is no bundled planner 'weather'; there are: gold"),
        (("evaluate", "--planner", "glod"), "there is no planner 'glod'; did you mean 'gold'?"),
        (("suites", "show", "opnagi"), "there is no suite 'opnagi'; did you mean 'openagi'?"),
        (("evaluate", "--planner", "localhost:9/plan"), "did you mean 'http://localhost:9/plan'?"),
        (("evaluate", "--planner", "hugginggpt"), "needs a language model that can generate"),
        (("evaluate", "--planner", "http://user:pw@host/"), "user name or password"),
        (("evaluate", "--tasks", "0-999"), "has no task '999'"),
        (("evaluate", "--profile", "nope"), "no profile 'nope'; there are: lilliput"),
        (("evaluate", "--split", "secret"), "there is no split 'secret'"),
        (("evaluate", "--samples", "0"), "--samples"),
        (("validity", "--suite", "openagi", "--markdown"), "--markdown"),
    ]
    assert unexpected(cases) == {}


def test_a_strategy_with_a_language_model_is_evaluated(tmp_path):
    script = tmp_path / "script.jsonl"
    answer = json.dumps([{"task": "image_captioning", "id": 0, "dep": [-1], "args": {"image": "nowhere.png"}}])
    lines = [{"pattern": "yard_000", "text": answer}, {"pattern": "", "text": "I cannot do that."}]
    script.write_text("\n".join(map(json.dumps, lines)))
    tasks = "image_processing/0,image_processing/1"
    done = planarena("evaluate", "--suite", "toolmini", "--planner", f"hugginggpt:scripted:{script}",
                     "--tasks", tasks, "--output", str(tmp_path / "out.json"))  # fmt: skip
    assert done.exit_code == 0, done.stderr
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["planner_identity"]["strategy"] == "hugginggpt"
    judged, unread = document["results"]
    assert (judged["outcome"], judged["indicators"]["HR"]) == ("scored", 1.0)
    assert judged["planner_notes"]["completions"] == [answer]
    assert (unread["outcome"], unread["reason"]) == ("planner_fault", "unparsable_plan")
    assert "no JSON list of tasks" in unread["reason_text"]


def test_an_unreachable_endpoint_is_exit_code_4(tmp_path):
    done = planarena("evaluate", "--planner", "http://127.0.0.1:9/", "--tasks", "14", "--samples", "1",
                     "--store", str(tmp_path / "store"), "--output", str(tmp_path / "out.json"))  # fmt: skip
    assert done.exit_code == 4
    (record,) = json.loads((tmp_path / "out.json").read_text())["results"]
    assert (record["outcome"], record["reason"], record["score"]) == ("infra_fault", "endpoint_unavailable", None)
    assert "Why infra_fault" in done.stdout
    printed = " ".join(done.stdout.partition("Why infra_fault")[2].split())
    assert f"endpoint_unavailable 1 14 {record['reason_text']}" in printed


def test_score_plans_prints_indicators_and_reasons(tmp_path):
    tasks = json.loads(planarena("suites", "show", "toolmini", "--json").stdout)
    gold = {"task": tasks[0]["id"], "plan": tasks[0]["gold"]}
    broken = {"task": tasks[1]["id"], "plan": "[Action(tool_name='magic', inputs={}, outputs=[])]"}
    unreadable = {"task": tasks[2]["id"], "plan": "[Action("}
    file = tmp_path / "plans.jsonl"
    file.write_text("\n".join(map(json.dumps, [gold, broken, unreadable])))
    report = json.loads(planarena("score-plans", "--suite", "toolmini", str(file), "--json").stdout)
    assert set(report["metrics"]) >= {"IR", "NR", "HR", "CR", "SE"}
    first, second, third = report["tasks"]
    assert first["task"] == gold["task"]
    assert [first[name] for name in ("IR", "NR", "HR", "CR", "SE")] == [0, 1, 0, 1, 1]
    assert [second[name] for name in ("IR", "NR", "HR", "CR", "SE")] == [1, 0, 1, 0, 0]
    assert "magic" in second["why"]["IR"]
    assert [third[name] for name in ("IR", "NR", "HR", "CR", "SE")] == [1, 0, 1, 0, 0]
    assert report["counts"]["missing"] == 117
    explained = planarena("score-plans", "--suite", "toolmini", str(file), "--explain", gold["task"]).stdout
    assert "Goal:" in explained
    assert "SE = 1: Every part is met by an output." in explained


def test_bad_files_are_exit_code_2_with_a_sentence(tmp_path):
    """All that may be wrong with plans is in `tests/evaluator/core/test_plans_file.py`."""
    second = '{"task": "QA/0", "decomposition": ""}\n' * 2
    unknown = '{"task": "QA/00", "decomposition": ""}'
    files = [
        ("score-plans", "toolmini", "{", "Line 1, column 2 is not JSON"),
        ("score-plans", "toolmini", '{"task": "QA/00", "plan": ""}', "'QA/00' (line 1). Did you mean 'QA/0'?"),
        ("score-plans", "openagi", "", "this command is for tool100"),
        ("score-plans", "nope", "", "there is no suite"),
        ("score-decompositions", "toolmini", second, "line 2 has a second decomposition for 'QA/0'"),
        ("score-decompositions", "toolmini", unknown, "line 1: toolmini has no task 'QA/00'. Did you mean 'QA/0'?"),
        ("score-decompositions", "toolmini", "", "is empty"),
    ]
    cases = []
    for number, (command, suite, content, says) in enumerate(files):
        file = tmp_path / f"{number}.jsonl"
        file.write_text(f"\ufeff{content}")
        cases.append(((command, "--suite", suite, str(file)), says))
    assert unexpected(cases) == {}


def test_the_version_names_the_commit_and_needs_no_installation(tmp_path):
    told = planarena("--version").stdout
    number = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert told.startswith(f"planarena {number}")
    for word in ("--version", "version"):
        script = subprocess.run([ROOT / "planarena", word], capture_output=True, text=True, check=True, timeout=60)
        assert script.stdout == told
    shutil.copy(ROOT / "planarena", tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    bare = subprocess.run([tmp_path / "planarena", "--version"], capture_output=True, text=True, check=True, timeout=60)
    assert bare.stdout == f"planarena {number}\n"
    assert {path.name for path in tmp_path.iterdir()} == {"planarena", "pyproject.toml"}


def test_a_dead_endpoint_costs_the_tries_of_one_task(monkeypatch):
    monkeypatch.setattr(client, "BACKOFF", Backoff(first=0.0, longest=0.0))
    with endpoint((503, b"")) as (url, seen):
        done = CliRunner().invoke(app, ["evaluate", "--suite", "toolmini", "--planner", url])
    assert done.exit_code == 4
    assert "120 infra_fault" in done.output
    assert len(seen) == client.MAX_TRIES


def lilliput(*arguments, env=None):
    return CliRunner().invoke(app, ["lilliput", *map(str, arguments)], env=env)


def test_a_scene_is_painted_and_named(tmp_path):
    out = tmp_path / "scene.png"
    result = lilliput("scene", "--split", "public", "--index", 3, "--out", out, "--degradation", "low_resolution")
    assert result.exit_code == 0
    assert draw_scene(split=Split.PUBLIC, index=3).label in result.output
    assert Image.open(out).size == (16, 16)


def test_the_hidden_split_takes_its_secret_from_the_environment(tmp_path):
    arguments = ("scene", "--split", "hidden", "--index", 0, "--out", tmp_path / "x.png")
    assert lilliput(*arguments, env={"PLANARENA_HIDDEN_SEED": ""}).exit_code == 2
    assert lilliput(*arguments, env={"PLANARENA_HIDDEN_SEED": "5eed" * 16}).exit_code == 0
    assert lilliput(*arguments, env={"PLANARENA_HIDDEN_SEED": "5eed"}).exit_code == 2


def test_mistakes_are_named(tmp_path):
    assert lilliput("scene", "--split", "private", "--index", 0, "--out", tmp_path / "x.png").exit_code == 2
