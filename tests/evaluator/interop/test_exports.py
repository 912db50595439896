"""Exported files, checked by the schemas of their formats (`make_schemas.py`) and by huggingface_hub itself."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
import yaml
from huggingface_hub import parse_eval_result_entries
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.interop.exports.source import of_report
from evaluator.interop.exports.tracked_run import tracked_run

SCHEMAS = Path(__file__).parent / "schemas"
EVALUATED = {
    "judged": ("--suite", "toolmini", "--planner", "controlllm/greedy", "--tasks", "QA/0,QA/1,image_detection/0"),
    "executed": ("--suite", "openagi", "--planner", "gold", "--tasks", "0,31", "--samples", "1"),
    "in turns": ("--suite", "lumos-mini", "--planner", "gold", "--tasks", "0-3"),
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    files = {}
    for name, arguments in EVALUATED.items():
        tasks = list(arguments)
        if name == "in turns":
            from evaluator.core.suites.registry import suite_of

            tasks[-1] = ",".join(task.key for task in suite_of("lumos-mini").tasks[:4])
        files[name] = folder / f"{name}.json"
        done = CliRunner().invoke(app, ["evaluate", *tasks, "--output", str(files[name])])
        assert done.exit_code == 0, done.output
    return files


def exported(report: Path, form: str, folder: Path, *options: str) -> dict[str, str]:
    """The texts of the files by their path."""
    done = CliRunner().invoke(app, ["export", str(report), "--format", form, "--output", str(folder), *options])
    assert done.exit_code == 0, done.output
    return {str(Path(name).relative_to(folder)): Path(name).read_text() for name in done.stdout.split("\n") if name}


def schema(name: str) -> jsonschema.protocols.Validator:
    content = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    return jsonschema.validators.validator_for(content)(content)


@pytest.mark.parametrize("kind", EVALUATED)
def test_every_eval_ever_has_an_aggregate_with_intervals_and_a_line_for_each_scored_task(reports, tmp_path, kind):
    files = exported(reports[kind], "every-eval-ever", tmp_path)
    (aggregate_path,) = [name for name in files if name.endswith(".json")]
    (samples_path,) = [name for name in files if name.endswith("_samples.jsonl")]
    aggregate = json.loads(files[aggregate_path])
    schema("eval").validate(aggregate)
    instances = [json.loads(line) for line in files[samples_path].splitlines()]
    for instance in instances:
        schema("instance_level_eval").validate(instance)
    source = of_report(reports[kind])
    assert [instance["sample_id"] for instance in instances] == [record.task for record in source.scored]
    assert [one["score_details"]["score"] for one in aggregate["evaluation_results"]] == [
        metric.mean for metric in source.metrics
    ]
    details = aggregate["detailed_evaluation_results"]
    assert (details["file_path"], details["total_rows"]) == (samples_path, len(instances))
    assert aggregate["source_metadata"]["additional_details"]["signature"].startswith("unsigned")
    results = {one["evaluation_result_id"] for one in aggregate["evaluation_results"]}
    assert {instance["evaluation_result_id"] for instance in instances} <= results
    intervals = [
        one["score_details"]["uncertainty"].get("confidence_interval") for one in aggregate["evaluation_results"]
    ]
    for metric, interval in zip(source.metrics, intervals, strict=True):
        assert (interval is None) == (metric.low is None)
        assert interval is None or (interval["lower"], interval["upper"]) == (metric.low, metric.high)


@pytest.mark.parametrize("kind", EVALUATED)
def test_trajectories_follow_the_schema_and_its_rules(reports, tmp_path, kind):
    files = exported(reports[kind], "atif", tmp_path)
    assert files
    validator = schema("atif")
    for text in files.values():
        trajectory = json.loads(text)
        validator.validate(trajectory)
        assert trajectory["schema_version"] == "ATIF-v1.7"
        assert [step["step_id"] for step in trajectory["steps"]] == list(range(1, len(trajectory["steps"]) + 1))
        for step in trajectory["steps"]:
            calls = {call["tool_call_id"] for call in step.get("tool_calls", ())}
            results = [result["source_call_id"] for result in step.get("observation", {}).get("results", ())]
            assert set(results) <= calls, "results belong to a call of the same step"
            assert len(results) == len(set(results))
        assert "score" in trajectory["extra"]


def test_executed_steps_and_turns_have_their_results(reports, tmp_path):
    executed = json.loads(next(iter(exported(reports["executed"], "atif", tmp_path / "a").values())))
    plan = executed["steps"][1]
    assert len(plan["observation"]["results"]) == len(plan["tool_calls"]) > 0
    in_turns = json.loads(next(iter(exported(reports["in turns"], "atif", tmp_path / "b").values())))
    assert len(in_turns["steps"]) > 2 or in_turns["steps"][1].get("tool_calls")


def test_hugging_face_reads_the_results(reports, tmp_path):
    files = exported(reports["judged"], "hf-eval-results", tmp_path, "--dataset", "planarena/toolmini")
    (entry,) = parse_eval_result_entries(yaml.safe_load(files[".eval_results/toolmini.yaml"]))
    source = of_report(reports["judged"])
    assert (entry.dataset_id, entry.task_id, entry.value) == ("planarena/toolmini", "toolmini", source.primary.mean)
    assert f"{source.primary.low:.4f} to {source.primary.high:.4f}" in entry.notes
    suite = yaml.safe_load(files["eval.yaml"])
    assert suite["tasks"] == [{"id": entry.task_id, "config": "default", "split": "test"}]


@pytest.mark.parametrize("kind", EVALUATED)
def test_the_description_of_a_suite_is_as_hugging_face_specifies_it(reports, tmp_path, kind):
    files = exported(reports[kind], "hf-eval-results", tmp_path, "--dataset", "planarena/suite")
    schema = json.loads((SCHEMAS / "eval_yaml.json").read_text())
    jsonschema.validate(yaml.safe_load(files["eval.yaml"]), schema)
    wrong = {"name": "x", "description": "y", "evaluation_framework": "inspect-ai", "tasks": [{"id": "z"}]}
    with pytest.raises(jsonschema.ValidationError, match="field_spec"):
        jsonschema.validate(wrong, schema)


def test_equal_evaluations_are_one_run_of_a_tracker(reports, tmp_path):
    source = of_report(reports["judged"])
    (tmp_path / "copied.json").write_bytes(reports["judged"].read_bytes())
    signed = replace(source, signature='{"key": "k"}', verify="planarena verify https://site.example/boards/toolmini/")
    other = replace(source, suite_digest="0" * 64)
    runs = [tracked_run(one).identity for one in (source, of_report(tmp_path / "copied.json"), signed, other)]
    assert runs[0] == runs[1] == runs[2] != runs[3]


def test_wrong_options_and_files_are_refused_with_a_sentence(reports, tmp_path):
    (tmp_path / "other.json").write_text('{"version": "evaluation/1", "suite": {"slug": []}}')
    judged = str(reports["judged"])
    for arguments, sentence in {
        (judged, "--format", "csv"): "--format is one of",
        (judged, "--format", "hf-eval-results"): "--dataset is for hf-eval-results",
        (judged, "--format", "atif", "--dataset", "a/b"): "--dataset is for hf-eval-results",
        (judged, "--format", "junit"): "junit is written for evaluations of a site",
        (str(tmp_path / "other.json"), "--format", "atif"): "is no report that can be exported",
    }.items():
        done = CliRunner().invoke(app, ["export", *arguments, "--output", str(tmp_path / "out")])
        assert (done.exit_code, sentence in done.stderr) == (2, True), done.output
