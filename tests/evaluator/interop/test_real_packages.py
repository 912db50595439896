"""The packages of other harnesses, in environments of their own: their runs are read here, and they run our suites."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.core.suites.registry import suite_of
from evaluator.interop.exports.source import of_report
from evaluator.interop.exports.tracked_run import tracked_run
from evaluator.interop.imports.planner import import_document
from evaluator.interop.imports.run import EPISODE, RunError
from tests.evaluator.interop import broken_task, make_runs
from tests.fakes.scripted_chat import gold_model, serving_chat
from tests.packaging.conftest import built_wheel

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
WRONG = "image_detection/1"
"""The task of the first four that the scripted model answers with prose."""
FIRST = [f"image_detection/{number}" for number in range(4)]


def environment_with(package: str, *, folder: Path) -> Path:
    """The Python of an environment with the locked packages of a neighbour."""
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    lock = ROOT / "requirements" / "interop" / f"{package}.txt"
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "-r", lock]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    return python


class Harness:
    """An environment with the locked packages of a harness, and the PlanArena of this checkout as a wheel.

    What PlanArena needs besides comes from the environment of the tests, after the packages of the harness.
    """

    def __init__(self, package: str, *, folder: Path) -> None:
        self.folder = folder
        self.python = environment_with(package, folder=folder)
        self.bin = self.python.parent
        wheel = built_wheel(folder / "wheel")
        install = [self.python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
        (site / "zz_tests.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def run(self, *command: object, **environment: str) -> str:
        """The output of a program of the environment."""
        settings = {"PLANARENA_DATA": str(self.folder / "data"), "OPENAI_API_KEY": "x", **environment}
        done = subprocess.run(
            [str(part) for part in command], cwd=self.folder, env=os.environ | settings, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-4000:] + done.stdout[-4000:]
        return done.stdout


@pytest.fixture(scope="module")
def inspect(tmp_path_factory):
    return Harness("inspect", folder=tmp_path_factory.mktemp("inspect"))


@pytest.fixture(scope="module")
def verifiers(tmp_path_factory):
    return Harness("verifiers", folder=tmp_path_factory.mktemp("verifiers"))


@pytest.fixture(scope="module")
def lm_eval(tmp_path_factory):
    return Harness("lm-eval", folder=tmp_path_factory.mktemp("lm-eval"))


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory):
    return Harness("mlflow", folder=tmp_path_factory.mktemp("mlflow"))


@pytest.fixture(scope="module")
def wandb(tmp_path_factory):
    return Harness("wandb", folder=tmp_path_factory.mktemp("wandb"))


@pytest.mark.parametrize(
    ("package", "runs"), [("inspect", ("inspect.eval", "inspect.json")), ("verifiers", ("verifiers.jsonl",))]
)
def test_a_fresh_run_of_the_locked_package_is_read(package, runs, tmp_path, request):
    harness = request.getfixturevalue(package)
    harness.run(harness.python, make_runs.__file__, package, tmp_path)
    for run in runs:
        document = import_document(tmp_path / run, suite=suite_of("toolmini"))
        assert set(document["plans"]) == set(make_runs.ANSWERS)
        assert document["source"]["producer"].startswith(package)


def evaluated(run: Path, *, harness: Harness, suite: str) -> dict[str, float]:
    """The score of each task of an imported run, by `planarena evaluate`."""
    report = harness.folder / "report.json"
    planarena = [harness.bin / "planarena", "evaluate", "--suite", suite, "--planner", f"imported:{run}"]
    harness.run(*planarena, "--output", report)
    results = json.loads(report.read_text())["results"]
    return {record["task"]: record["score"] for record in results if record["score"] is not None}


def inspected(harness: Harness, suite: str, *, wrong: str, limit: int, options: tuple[str, ...] = ()):
    """The log of a run in Inspect, and the scores of its samples."""
    line = harness.run(
        harness.python, HERE / "host_with_inspect.py", suite, harness.folder / "logs", limit, wrong, *options
    ).splitlines()[-1]
    printed = json.loads(line)
    log = json.loads(Path(printed["log"]).read_text())
    scores = {sample["id"]: sample["scores"]["executed"] for sample in log["samples"]}
    assert printed["again"] == {task: score["value"] for task, score in scores.items()}
    return log, scores


def test_inspect_runs_a_judged_suite_and_its_log_is_imported_with_the_same_scores(inspect):
    log, scores = inspected(inspect, "toolmini", wrong=WRONG, limit=4)
    values = {task: score["value"] for task, score in scores.items()}
    assert values == {task: float(task != WRONG) for task in FIRST}
    (result,) = log["results"]["scores"]
    means = {name: metric["value"] for name, metric in result["metrics"].items()}
    assert means["SE"] == 0.75
    assert {"IR.low", "IR.high"} <= means.keys()
    metadata = scores[FIRST[0]]["metadata"]
    assert metadata["plan"]["steps"]
    assert metadata["record"]["outcome"] == "scored"
    assert scores[WRONG]["metadata"]["causes"]
    assert evaluated(Path(log_path(inspect, "toolmini")), harness=inspect, suite="toolmini") == values


def log_path(harness: Harness, suite: str) -> Path:
    (path,) = (harness.folder / "logs").glob(f"*_{suite}_*.json")
    return path


def test_inspect_runs_a_suite_in_turns_with_native_tools(inspect):
    log, scores = inspected(inspect, "openagi-turns", wrong="1", limit=2)
    assert scores["0"]["value"] > 0.8
    assert scores["1"]["value"] == 0.0
    roles = [message["role"] for message in log["samples"][0]["messages"]]
    assert roles.count("tool") == 5
    with pytest.raises(RunError, match=EPISODE):
        import_document(log_path(inspect, "openagi-turns"), suite=suite_of("openagi-turns"))


def vf_eval(harness: Harness, suite: str, *, url: str, folder: Path) -> list[object]:
    """The command for the first two tasks of a suite, with a model at an address."""
    return [
        harness.python, HERE / "host_with_verifiers.py", "planarena", "--env.taskset.suite", suite, "-n", "2",
        "--model", "scripted", "--client.base-url", url, "--client.api-key-var", "OPENAI_API_KEY",
        "--no-push", "--no-rich", "--output-dir", folder,
    ]  # fmt: skip


def traces_in(folder: Path) -> list[dict]:
    (file,) = folder.glob("*/traces.jsonl")
    return [trace for line in file.read_text().splitlines() for trace in json.loads(line)["traces"]]


@pytest.mark.parametrize(("suite", "wrong", "scored"), [("toolmini", WRONG, FIRST[0]), ("openagi-turns", "1", "0")])
def test_vf_eval_runs_a_suite(verifiers, suite, wrong, scored):
    with serving_chat(gold_model(suite_of(suite), wrong=frozenset({wrong}))) as url:
        verifiers.run(*vf_eval(verifiers, suite, url=url, folder=verifiers.folder / suite))
    traces = traces_in(verifiers.folder / suite)
    rewards = {trace["task"]["key"]: trace["rewards"]["plan_score"]["score"] for trace in traces}
    assert rewards.keys() == {scored, wrong}
    assert rewards[scored] > 0.8
    assert rewards[wrong] == 0.0
    right = next(trace for trace in traces if trace["task"]["key"] == scored)
    assert right["metrics"]
    assert right["info"]["planarena"]["plan"]["steps"]


@pytest.fixture(scope="module")
def tasksets(verifiers):
    """The folder of modules with a taskset for each suite."""
    planarena = verifiers.bin / "planarena"
    return verifiers.run(planarena, "suites", "verifiers", verifiers.folder / "tasksets").strip()


def test_each_suite_is_a_taskset_with_an_id_of_its_own(verifiers, tasksets):
    build = ["pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", verifiers.folder / "wheels", tasksets]
    subprocess.run([sys.executable, "-m", *build], check=True, stdout=subprocess.DEVNULL)
    (wheel,) = (verifiers.folder / "wheels").glob("planarena_tasksets-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        modules = {name.removesuffix(".py") for name in archive.namelist() if name.startswith("planarena_toolmini")}
    assert "planarena_toolmini" in modules
    folder = verifiers.folder / "by-id"
    with serving_chat(gold_model(suite_of("toolmini"), wrong=frozenset({WRONG}))) as url:
        command = vf_eval(verifiers, "", url=url, folder=folder)
        command[2:5] = ["planarena-toolmini"]
        verifiers.run(*command, PYTHONPATH=tasksets)
    rewards = {trace["task"]["key"]: trace["rewards"]["plan_score"]["score"] for trace in traces_in(folder)}
    assert rewards == {FIRST[0]: 1.0, WRONG: 0.0}


def test_an_env_server_gives_prime_rl_the_rewards(verifiers, tasksets):
    with serving_chat(gold_model(suite_of("toolmini"), wrong=frozenset({WRONG}))) as url:
        script = HERE / "serve_with_verifiers.py"
        printed = verifiers.run(verifiers.python, script, "planarena-toolmini", url, 2, PYTHONPATH=tasksets)
    served = json.loads(printed.splitlines()[-1])
    assert served["rewards"] == {FIRST[0]: 1.0, WRONG: 0.0}
    assert served["metrics"]["SE"] == 1.0


def test_lm_eval_runs_a_judged_suite(lm_eval):
    tasks = lm_eval.run(lm_eval.bin / "planarena", "suites", "lm-eval", lm_eval.folder / "tasks").strip()
    with serving_chat(gold_model(suite_of("toolmini"), wrong=frozenset({WRONG}))) as url:
        lm_eval.run(
            lm_eval.bin / "lm_eval", "--model", "local-chat-completions", "--model_args",
            f"model=scripted,base_url={url}/chat/completions", "--tasks", "planarena_toolmini", "--include_path", tasks,
            "--apply_chat_template", "--limit", "4", "--output_path", lm_eval.folder / "results",
        )  # fmt: skip
    (file,) = (lm_eval.folder / "results").rglob("results_*.json")
    results = json.loads(file.read_text())["results"]["planarena_toolmini"]
    assert results["SE,none"] == 0.75
    assert results["SE.low,none"] <= 0.75 <= results["SE.high,none"]


def test_inspect_leaves_a_task_without_a_score_out_of_the_means(inspect):
    folder = inspect.folder / "broken"
    script = [inspect.python, HERE / "host_with_inspect.py", "toolmini", folder, 4, WRONG]
    inspect.run(*script, **{broken_task.VARIABLE: FIRST[0]})
    (log,) = folder.glob("*.json")
    run = json.loads(log.read_text())
    (result,) = run["results"]["scores"]
    assert (result["scored_samples"], result["unscored_samples"]) == (3, 1)
    assert result["metrics"]["SE"]["value"] == pytest.approx(2 / 3)
    scores = {sample["id"]: sample["scores"]["executed"] for sample in run["samples"]}
    assert scores[FIRST[0]]["value"] not in (0, 0.0)
    assert scores[FIRST[0]]["reason"] == "expert_failed"


def test_vf_eval_gives_a_task_without_a_score_no_reward(verifiers):
    folder = verifiers.folder / "broken"
    with serving_chat(gold_model(suite_of("toolmini"))) as url:
        verifiers.run(*vf_eval(verifiers, "toolmini", url=url, folder=folder), **{broken_task.VARIABLE: FIRST[0]})
    rewards = {trace["task"]["key"]: trace["rewards"]["plan_score"] for trace in traces_in(folder)}
    assert rewards[FIRST[0]] is None
    assert rewards[FIRST[1]]["score"] == 1.0


@pytest.mark.parametrize("package", ["mlflow", "wandb"])
def test_a_tracker_has_the_metrics_intervals_and_tasks_of_a_report_once(package, request):
    harness = request.getfixturevalue(package)
    report = harness.folder / "report.json"
    planner = ["--planner", "controlllm/greedy", "--tasks", ",".join(FIRST)]
    done = CliRunner().invoke(app, ["evaluate", "--suite", "toolmini", *planner, "--output", str(report)])
    assert done.exit_code == 0, done.output
    settings = {
        "MLFLOW_TRACKING_URI": (harness.folder / "mlruns").as_uri(), "MLFLOW_ALLOW_FILE_STORE": "true",
        "MLFLOW_DISABLE_TELEMETRY": "true", "WANDB_MODE": "offline", "WANDB_DIR": str(harness.folder),
    }  # fmt: skip
    export = [harness.bin / "planarena", "export", report, "--format", package]
    runs = [harness.run(*export, **settings).strip() for _ in range(2)]
    read = json.loads(harness.run(harness.python, HERE / "read_tracked_run.py", package, runs[0], **settings))
    source = of_report(report)
    for metric in source.metrics:
        assert read["metrics"][metric.key] == pytest.approx(metric.mean)
        assert read["metrics"].get(f"{metric.key}.low") == (None if metric.low is None else pytest.approx(metric.low))
    assert read["facts"]["suite_digest"] == source.suite_digest
    assert read["facts"]["signature"].startswith("unsigned")
    assert [row[:3] for row in read["rows"]] == [[one.task, one.outcome.value, one.score] for one in source.records]
    assert read["identity"] == tracked_run(source).identity
    # MLflow's store has one run; offline, Weights & Biases has a folder for each export, and one run after `sync`.
    again = json.loads(harness.run(harness.python, HERE / "read_tracked_run.py", package, runs[1], **settings))
    assert again["identity"] == read["identity"]
    assert package == "wandb" or runs[0] == runs[1]
