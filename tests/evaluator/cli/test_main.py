"""The command line as a user meets it: real processes, exit codes and sentences."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from evaluator.plans import plan_to_json
from evaluator.suites import suite_of

ROOT = Path(__file__).resolve().parents[3]


def planarena(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "evaluator", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120
    )


def test_the_suite_as_json_is_the_released_list_with_gold_plans():
    tasks = json.loads(planarena("suites", "show", "openagi", "--json").stdout)
    text = "".join(task["text"] + "\n" for task in tasks)
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert digest == "803ad7856bf8797e860f72ebc34ba8b30be738a723b16c292c6f48fe95fd0a18"
    assert {"id", "text", "structure", "metric", "gold"} <= set(tasks[0])
    assert tasks[14]["gold"]["steps"] == [
        {"id": "s1", "tool": "Image Super Resolution", "inputs": {"image": "$image"}, "outputs": {"image": "s1.image"}}
    ]


def test_suites_are_listed_without_loading_torch():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "evaluator", "suites", "list"],
        cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "openagi" in done.stdout
    assert " torch" not in done.stderr
    assert " transformers" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("suites", "show", "nope"), "there is no suite 'nope'; there are: openagi"),
        (("evaluate", "--suite", "nope"), "there is no suite"),
        (("evaluate", "--planner", "nope"), "there is no bundled planner 'nope'; there are: gold"),
        (("evaluate", "--planner", "hugginggpt"), "needs a language model that can generate"),
        (("evaluate", "--planner", "http://user:pw@host/"), "user name or password"),
        (("evaluate", "--tasks", "0-999"), "has no task '999'"),
        (("evaluate", "--profile", "nope"), "no profile 'nope'; there are: lilliput"),
        (("evaluate", "--split", "secret"), "there is no split 'secret'"),
        (("evaluate", "--samples", "0"), "--samples"),
    ],
)
def test_bad_usage_is_exit_code_2_with_a_sentence(arguments, says):
    done = planarena(*arguments)
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())


def test_planners_are_listed_with_what_they_need_and_the_suites_they_understand():
    listed = planarena("planners", "list").stdout
    for name in ("gold", "random-valid", "no-op", "hugginggpt:MODEL", "vipergpt:MODEL"):
        assert name in listed
    assert "chat:URL#MODEL-ID" in listed


def test_a_strategy_with_a_language_model_is_evaluated(tmp_path):
    script = tmp_path / "script.jsonl"
    answer = json.dumps([{"task": "image_captioning", "id": 0, "dep": [-1], "args": {"image": "nowhere.png"}}])
    lines = [{"pattern": "yard_000", "text": answer}, {"pattern": "", "text": "I cannot do that."}]
    script.write_text("\n".join(map(json.dumps, lines)))
    tasks = "image_processing/0,image_processing/1"
    done = planarena("evaluate", "--suite", "toolmini", "--planner", f"hugginggpt:scripted:{script}",
                     "--tasks", tasks, "--output", str(tmp_path / "out.json"))  # fmt: skip
    assert done.returncode == 0, done.stderr
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
    assert done.returncode == 4
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
    assert "SE = 1: Every part is met by some output." in explained


@pytest.mark.parametrize(
    ("content", "suite", "says"),
    [
        ("{", "toolmini", "Line 1, column 2 is not JSON"),
        ('{"task": "QA/0"}\n{"task": "QA/0"}', "toolmini", "Line 1 lacks 'plan'"),
        (
            '{"task": "QA/1", "plan": ""}\n\n{"task": "QA/00", "plan": ""}',
            "toolmini",
            "'QA/00' (line 3). Did you mean 'QA/0'?",
        ),
        (
            '{"task": "QA/0", "plan": ""}\n' * 1000,
            "toolmini",
            "Line 2 has a second plan for 'QA/0'; line 1 has the first.",
        ),
        ('{"QA/0": "", "QA/0": ""}', "toolmini", "two plans for 'QA/0'"),
        ('{"task": "QA/0", "plan": "", "note": 1}', "toolmini", "line 1 (task 'QA/0') has 'note'"),
        ("", "toolmini", "The file is empty."),
        (" \n\n", "toolmini", "The file is empty."),
        ("[]", "toolmini", "The file holds no plan."),
        ("", "openagi", "this command is for tool100"),
        ("", "nope", "there is no suite"),
    ],
)
def test_bad_plan_files_are_exit_code_2_with_a_sentence(tmp_path, content, suite, says):
    file = tmp_path / "plans.jsonl"
    file.write_text(content)
    done = planarena("score-plans", "--suite", suite, str(file))
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())


@pytest.mark.parametrize("ends", ["\n", "\r\n", ""])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_the_suite_is_the_denominator_of_every_file(tmp_path, ends, mark):
    """Byte order marks, line ends and a single line change nothing."""
    task = suite_of("toolmini").tasks[0]
    line = json.dumps({"task": task.key, "plan": plan_to_json(task.gold)})
    file = tmp_path / "plans.jsonl"
    file.write_bytes(mark + f"{line}{ends}".encode())
    report = json.loads(planarena("score-plans", "--suite", "toolmini", str(file), "--json").stdout)
    assert report["metrics"]["SE"] == pytest.approx(1 / 120)
    assert report["counts"] == {"plans": 1, "missing": 119, "not_covered": 0}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"task": "QA/0", "decomposition": ""}\n' * 2, "line 2 has a second decomposition for 'QA/0'"),
        ('{"task": "QA/00", "decomposition": ""}', "line 1: toolmini has no task 'QA/00'. Did you mean 'QA/0'?"),
        ("", "is empty"),
    ],
)
def test_bad_files_of_decompositions_are_exit_code_2_with_a_sentence(tmp_path, content, says):
    file = tmp_path / "decompositions.jsonl"
    file.write_text("\ufeff" + content)
    done = planarena("score-decompositions", "--suite", "toolmini", str(file))
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())


def test_over_fewer_than_ten_tasks_no_command_gives_an_interval(tmp_path):
    done = planarena(
        "evaluate", "--suite", "toolmini", "--planner", "gold", "--tasks", "QA/0,QA/1", "--output", str(tmp_path / "o")
    )
    assert done.returncode == 0, done.stderr
    assert "— (needs 10 independent tasks or scenes" in done.stdout
    assert "1.0000 to 1.0000" not in done.stdout
    metrics = json.loads((tmp_path / "o").read_text())["summary"]["metrics"]
    assert metrics["SE"] == {"mean": 1.0, "low": None, "high": None, "tasks": 2}


def test_scored_plans_have_intervals_only_in_groups_of_at_least_ten_tasks(tmp_path):
    plans = tmp_path / "plans.jsonl"
    plans.write_text('{"task": "QA/0", "plan": "[]"}\n')
    report = json.loads(planarena("score-plans", "--suite", "toolmini", str(plans), "--json").stdout)
    for name, row in report["by_group"].items():
        assert (row["intervals"]["SE"] == [None, None]) == (row["count"] < 10), name
    assert None not in report["intervals"]["SE"]


def test_help_fills_its_lines_at_any_width():
    help_text = subprocess.run(
        [sys.executable, "-m", "evaluator", "evaluate", "--help"],
        cwd=ROOT, env=os.environ | {"COLUMNS": "80"}, capture_output=True, text=True, timeout=60, check=True,
    ).stdout  # fmt: skip
    assert "none of the planner's answers could be used, 4 if some tasks failed for" in [
        line.strip() for line in help_text.split("\n")
    ]


def test_the_version_names_the_commit_and_needs_no_installation(tmp_path):
    told = planarena("--version")
    number = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert told.stdout.startswith(f"planarena {number}")
    for word in ("--version", "version"):
        script = subprocess.run([ROOT / "planarena", word], capture_output=True, text=True, check=True, timeout=60)
        assert script.stdout == told.stdout
    shutil.copy(ROOT / "planarena", tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    bare = subprocess.run([tmp_path / "planarena", "--version"], capture_output=True, text=True, check=True, timeout=60)
    assert bare.stdout == f"planarena {number}\n"
    assert {path.name for path in tmp_path.iterdir()} == {"planarena", "pyproject.toml"}
