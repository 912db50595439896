"""The client, its commands and the examples for pipelines against the served site."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
import yaml
from django.core.cache import cache
from django.utils import timezone
from typer.testing import CliRunner

from evaluator.client import Client, NewSubmission, PlannerEntry, RefusedError, UnreachableError, api
from evaluator.client.__main__ import app
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.planners.language_models.chat.trial_server import ServerSettings
from evaluator.planners.language_models.chat.trial_server import serving as serving_chat
from evaluator.sandbox.limited_process import Exceeded, LimitExceededError
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, Submission
from leaderboard.people.services import create_token
from leaderboard.planners import secret_headers
from leaderboard.planners.models import CheckpointUpload, FilePlan, Planner
from leaderboard.platform.api.throttling import forget_refused
from leaderboard.queue.reconcile import sweep
from tests.evaluator.execution.experts.hub_server import serving
from tests.fakes.checkpoints import tiny_files, zipped
from tests.fakes.cutting_proxy import cutting
from tests.fakes.evaluator import FakeEvaluator
from tests.leaderboard.factories import make_evaluation, make_suite, make_user
from tests.leaderboard.planners.servers import TOKEN, guarded
from tests.leaderboard.platform.api.test_reading import finish
from tests.leaderboard.serving import server
from tests.leaderboard.suites import JUDGED

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_store")]

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def site():
    with server() as url:
        yield url


@pytest.fixture
def token():
    return create_token(user=make_user()).token


class Commands:
    """`python -m evaluator.client` with a token and a state file of its own."""

    def __init__(self, *, url: str, token: str, folder: Path) -> None:
        state = str(folder / "state.json")
        self.environment = {**os.environ, "PLANARENA_URL": url, "PLANARENA_TOKEN": token, "PLANARENA_STATE": state}

    def start(self, *arguments: str) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-m", "evaluator.client", *arguments], cwd=ROOT, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *arguments: str) -> subprocess.CompletedProcess:
        """In this process: what does not follow a submission needs none of its own."""
        done = CliRunner().invoke(app, list(arguments), env=self.environment, prog_name="planarena")
        return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)


@pytest.fixture
def commands(site, token, tmp_path):
    return Commands(url=site, token=token, folder=tmp_path)


def entry(suite, *more: str) -> list[str]:
    return ["submit", "--name", "mine", "--planner", "gold", "--suite", suite.slug, *more]


def run_to_its_end(*, faults: int = 0) -> Evaluation:
    """Evaluate what a command submits."""
    until = time.monotonic() + 60
    while not (found := Evaluation.objects.select_related("suite").first()):
        assert time.monotonic() < until, "nothing was submitted"
        time.sleep(0.1)
    sweep()
    finish(found, faults=faults)
    found.refresh_from_db()
    return found


def new(suite) -> NewSubmission:
    return NewSubmission(planner=PlannerEntry.bundled("gold", name="mine"), suites=[suite.slug])


class TestSubmitting:
    def test_a_planner_is_submitted_followed_and_reported(self, commands, tmp_path):
        suite = make_suite(runnable=2, not_run=1)
        process = commands.start(
            *entry(suite, "--wait", "--fail-under", "overall=0.4"), "--junit", str(tmp_path / "deep/out.xml"),
            "--output", str(tmp_path / "out.json"),
        )  # fmt: skip
        ended = run_to_its_end()
        _, said = process.communicate(timeout=100)
        assert process.returncode == 0, said
        assert str(ended.pk) in said
        assert "completed, 3 of 3 tasks" in said
        report = json.loads((tmp_path / "out.json").read_text())
        assert report["thresholds"][0]["measured"] == ended.summary["metrics"]["overall"]["mean"]
        tasks, _ = ET.parse(tmp_path / "deep/out.xml").getroot()
        assert [case.get("name") for case in tasks] == ["0", "1", "x0"]
        assert json.loads((tmp_path / "state.json").read_text()) == {}

    def test_what_the_site_refuses_is_2_and_a_used_up_quota_4_with_its_sentences(self, commands, settings):
        suite = make_suite()
        wrong = commands.run("submit", "--name", "mine", "--planner", "nope", "--suite", suite.slug)
        assert (wrong.returncode, "bundled_name: Choose one of" in wrong.stderr) == (2, True), wrong.stderr
        unknown = commands.run(*entry(suite, "--wait", "--fail-under", "overal=0.4"))
        assert (unknown.returncode, "has overall" in unknown.stderr) == (2, True)
        assert not Submission.objects.exists()
        settings.QUOTA_PER_DAY = 1
        for _ in range(2):
            assert commands.run(*entry(suite, "--idempotency-key", "build 7")).returncode == 0
        assert Submission.objects.count() == 1
        again = commands.run(*entry(suite))
        assert (again.returncode, "(HTTP 429, request id " in again.stderr) == (4, True), again.stderr
        commands.environment["PLANARENA_TOKEN"] = "pa_wrong"
        stranger = commands.run(*entry(suite))
        assert (stranger.returncode, "(HTTP 401, request id " in stranger.stderr) == (2, True)


class TestLostConnections:
    def test_an_answer_that_is_lost_is_asked_for_again_and_nothing_is_submitted_twice(self, site, token):
        suite = make_suite()
        with cutting(site) as proxy, Client(url=proxy.url, token=token, patience=20, sleep=lambda _: None) as client:
            proxy.lose_answers = 2
            made = client.submit(new(suite), key="k")
        assert made.replayed
        assert len(proxy.lost) == 2
        assert b"201 Created" in proxy.lost[0]
        assert str(Submission.objects.get().pk) == made.id

    def test_a_command_that_lost_the_answer_goes_on_when_it_is_run_again(self, site, token, tmp_path):
        suite = make_suite()
        with cutting(site) as proxy:
            commands = Commands(url=proxy.url, token=token, folder=tmp_path)
            proxy.lose_answers = 1
            first = commands.run(*entry(suite, "--patience", "0"))
            assert (first.returncode, "Run the same command again" in first.stderr) == (4, True), first.stderr
            assert Submission.objects.count() == 1
            again = commands.run(*entry(suite, "--patience", "0"))
        assert again.returncode == 0, again.stderr
        assert f"continuing with submission {Submission.objects.get().pk}" in again.stderr

    def test_a_command_that_is_killed_while_it_waits_goes_on_when_it_is_run_again(self, commands):
        suite = make_suite()
        process = commands.start(*entry(suite, "--wait"))
        for line in process.stderr:
            if "queued" in line or "launching" in line:
                break
        process.send_signal(signal.SIGKILL)
        process.communicate()
        run_to_its_end()
        again = commands.run(*entry(suite, "--wait"))
        assert again.returncode == 0, again.stderr
        assert "continuing with submission" in again.stderr
        assert Submission.objects.count() == 1

    def test_a_site_that_is_away_is_4(self, token, tmp_path):
        commands = Commands(url="http://127.0.0.1:9", token=token, folder=tmp_path)
        found = commands.run(*entry(make_suite(), "--patience", "0"))
        assert (found.returncode, "http://127.0.0.1:9" in found.stderr) == (4, True)
        with Client(url="http://127.0.0.1:9", patience=0) as client, pytest.raises(UnreachableError):
            client.suites()


class TestOtherCommands:
    def test_status_results_and_cancel_take_the_id_of_a_submission_or_an_evaluation(self, site, tmp_path):
        owner = make_user()
        commands = Commands(url=site, token=create_token(user=owner).token, folder=tmp_path)
        done, waiting = make_evaluation(user=owner, state="launching"), make_evaluation(user=owner)
        finish(done)
        found = commands.run("results", str(done.submission_id))
        assert (found.returncode, "   0  scored   0.5000" in found.stdout) == (0, True), found.stdout + found.stderr
        assert f"on {done.suite.slug}: completed" in found.stdout
        assert "4 tasks: 4 scored" in found.stdout
        report = json.loads(commands.run("results", str(done.pk), "--json").stdout)
        assert (report["submission"], report["evaluations"][0]["suite"]) == (str(done.submission_id), done.suite.slug)
        assert report["evaluations"][0]["results"][0]["outcome"] == "scored"
        assert "0 of 4 tasks. Waiting" in commands.run("status", str(waiting.pk)).stdout
        assert "cancelled" in commands.run("cancel", str(waiting.submission_id)).stdout
        waiting.refresh_from_db()
        assert waiting.state == "cancelled"
        assert commands.run("cancel", str(done.pk)).returncode == 0
        nothing = commands.run("status", "../suites")
        assert (nothing.returncode, "neither a submission nor an evaluation" in nothing.stderr) == (2, True)

    def test_results_are_written_as_a_table_by_the_ending_of_the_file(self, commands, tmp_path):
        import pyarrow.csv as pa_csv
        import pyarrow.parquet as pq

        done = make_evaluation(state="launching")
        finish(done)
        for ending, read in (("parquet", pq.read_table), ("csv", pa_csv.read_csv)):
            file = tmp_path / "new" / f"results.{ending}"
            found = commands.run("results", str(done.pk), "--output", str(file))
            assert (found.returncode, "4 tasks: 4 scored" in found.stdout) == (0, True), found.stderr
            rows = read(file).to_pylist()
            assert [(row["outcome"], row["score"]) for row in rows] == [("scored", 0.5)] * 4

    def test_a_table_is_of_one_evaluation(self, commands, tmp_path):
        one, other = make_evaluation(), make_evaluation(suite=make_suite(slug="other"))
        Evaluation.objects.filter(pk=other.pk).update(submission=one.submission)
        found = commands.run("results", str(one.submission_id), "--output", str(tmp_path / "results.parquet"))
        assert (found.returncode, found.stdout) == (2, "")
        assert f"{str(other.pk)[:8]} (other)" in found.stderr
        assert list(tmp_path.glob("*.parquet")) == []


class TestClient:
    def test_results_are_read_over_all_pages(self, site, monkeypatch):
        evaluation = make_evaluation(suite=make_suite(runnable=5), state="launching")
        finish(evaluation)
        monkeypatch.setattr(api, "_ROWS_PER_PAGE", 2)
        with Client(url=site) as client:
            assert [row.task for row in client.results(str(evaluation.pk))] == list("01234")

    def test_reading_too_often_is_waited_out_for_as_long_as_the_site_asks(self, site, settings):
        cache.clear()
        settings.API_READS_PER_MINUTE = {"reads": 0, "anonymous-reads": 1}
        slept = []

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            cache.clear()
            forget_refused()

        with Client(url=site, patience=120, sleep=sleep) as client:
            assert [client.suites() for _ in range(2)] == [[], []]
        assert len(slept) == 1
        assert 0 < slept[0] <= 60


def test_a_plans_file_and_a_priority_are_submitted_by_a_command(commands, settings, tmp_path):
    suite = make_suite(slug="judged")
    Suite.objects.filter(pk=suite.pk).update(**JUDGED)
    file = tmp_path / "plans.jsonl"
    file.write_text('{"task": "0", "plan": {"plan": "odd", "steps": []}}\n{"task": "1", "plan": "b"}\n')
    done = commands.run("submit", "--name", "written", "--plans", str(file), "--suite", "judged", "--priority", "low")
    assert done.returncode == 0, done.stderr
    submission = Submission.objects.get()
    assert (submission.planner.kind, submission.priority) == ("plans", -1)
    found = dict(FilePlan.objects.values_list("task", "plan"))
    assert found == {"0": '{"plan": "odd", "steps": []}', "1": '"b"'}


def test_a_secret_header_comes_from_a_variable_and_is_told_by_nobody(commands, settings):
    settings.DEMO = True
    make_suite(slug="openagi")
    with guarded() as asked:
        header = ["--header", "Authorization", "--header-value-env", "MY_SECRET"]
        commands.environment["MY_SECRET"] = TOKEN
        tried = commands.run("try-endpoint", asked.url, *header)
        assert tried.returncode == 0, tried.stderr
        assert "HTTP 200" in tried.stdout
        assert "Correct: the reference plan of this task." in tried.stderr
        assert commands.run("try-endpoint", asked.url).returncode == 3
        made = commands.run("submit", "--name", "mine", "--planner", asked.url, "--suite", "openagi", *header)
    assert made.returncode == 0, made.stderr
    assert secret_headers.header_of(Submission.objects.get().planner).value == TOKEN
    state = Path(commands.environment["PLANARENA_STATE"]).read_text()
    assert "s3cr3t" not in "".join([tried.stdout, tried.stderr, made.stdout, made.stderr, state])


def test_rewards_are_waited_for_and_a_job_that_fails_is_refused(site, token, monkeypatch):
    make_suite(slug="openagi")
    with Client(url=site, token=token) as client:
        assert client.rewards(suite="openagi", plans=[("0", "Colorization"), ("1", "")]) == [1.0, 0.0]

        def failing(self, **_):
            raise LimitExceededError(Exceeded.TIME)

        monkeypatch.setattr(FakeEvaluator, "rewards", failing)
        with pytest.raises(RefusedError, match="took too long") as refused:
            client.rewards(suite="openagi", plans=[("0", "Colorization")])
    assert (refused.value.problem.status, refused.value.problem.code) == (503, "too_costly")


def test_who_sees_it_is_said_when_submitting_and_changed_later(commands):
    until = f"{timezone.now() + timedelta(days=60):%Y-%m-%d}"
    submitted = commands.run(*entry(make_suite(), "--embargo-until", until))
    assert submitted.returncode == 0, submitted.stderr
    submission = Submission.objects.get()
    assert (submission.visibility, f"{submission.embargo_until:%Y-%m-%d %H:%M}") == ("embargo", f"{until} 00:00")
    changed = commands.run("visibility", str(submission.pk), "private")
    assert changed.returncode == 0, changed.stderr
    assert changed.stdout == f"{submission.pk}\tprivate\n"
    assert Submission.objects.get().visibility == "private"
    wrong = commands.run("visibility", str(submission.pk), "secret")
    assert wrong.returncode == 2
    assert "one of public, embargo, private" in wrong.stderr


def test_what_is_declared_is_given_by_command_and_limits_are_those_of_the_site(commands):
    suite = make_suite()
    how = ("submit", "--name", "mine", "--suite", suite.slug, "--planner", "https://example.org/plan")
    declared = ("--model-name", "Qwen3-8B", "--closed-weights", "--prompt-price", "0.5", "--completion-price", "2")
    done = commands.run(*how, *declared, "--timeout", "60")
    assert done.returncode == 0, done.stderr
    planner = Planner.objects.get()
    assert (planner.model_name, planner.open_weights, planner.timeout_seconds) == ("Qwen3-8B", False, 60)
    assert (planner.prompt_price, planner.completion_price, planner.parameters) == (0.5, 2.0, None)
    refused = commands.run(*how, "--timeout", "301")
    assert (refused.returncode, "--timeout" in refused.stderr) == (2, True), refused.stderr
    refused = commands.run(*how, "--description", "x" * 4001)
    assert (refused.returncode, "description: " in refused.stderr) == (2, True), refused.stderr


COMMIT = "c" * 40


@pytest.fixture
def hub(tmp_path, settings):
    folder = tmp_path / "hub" / "own" / "planner"
    folder.mkdir(parents=True)
    for name, data in tiny_files().items():
        (folder / name).write_bytes(data)
    with serving(tmp_path / "hub", commits={"own/planner": COMMIT}, revisions=["main", "v1"]) as address:
        settings.HUB_URL = address
        yield address


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.zip"
    path.write_bytes(zipped())
    return path


def model_entry(suite, *how: str) -> list[str]:
    return ["submit", "--name", "mine", "--suite", suite.slug, *how]


class TestCommand:
    def test_a_hub_s_model_is_named_with_its_revision(self, commands: Commands, hub):
        suite = make_suite()
        how = ("--model", "own/planner@v1", "--strategy", "hugginggpt")
        done = commands.run(*model_entry(suite, *how))
        assert done.returncode == 0, done.stderr
        planner = Planner.objects.get()
        assert (planner.model_id, planner.revision, planner.commit) == ("own/planner", "v1", COMMIT)
        other = model_entry(suite, "--model", "own/planner@nightly", "--strategy", "hugginggpt", "--name", "other")
        refused = commands.run(*other)
        assert (refused.returncode, "has no revision 'nightly'" in refused.stderr) == (2, True), refused.stderr

    def test_a_checkpoint_is_uploaded_and_submitted(self, commands: Commands, file):
        suite = make_suite()
        done = commands.run(*model_entry(suite, "--checkpoint", str(file), "--strategy", "hugginggpt"))
        assert done.returncode == 0, done.stderr
        assert re.search(r"uploading .*model\.zip", done.stderr)
        assert Planner.objects.get().checkpoint_digest == hashlib.sha256(file.read_bytes()).hexdigest()
        file.write_bytes(zipped(modeling_own__py=b"x"))
        refused = commands.run(*model_entry(suite, "--checkpoint", str(file), "--strategy", "hugginggpt"))
        assert (refused.returncode, "file: 'modeling_own.py' in the zip is a program" in refused.stderr) == (2, True)
        assert Submission.objects.count() == 1

    def test_a_chat_endpoint_is_named_with_its_model_and_a_header_from_a_variable(self, commands: Commands):
        commands.environment["CHAT_KEY"] = "Bearer s3cr3t-of-the-owner"
        how = ("--chat", "https://chat.example.org/v1", "--chat-model", "small", "--strategy", "hugginggpt")
        secret = ("--header", "Authorization", "--header-value-env", "CHAT_KEY", "--timeout", "60")
        done = commands.run(*model_entry(make_suite(), *how, *secret))
        assert done.returncode == 0, done.stderr
        planner = Planner.objects.get()
        assert (planner.kind, planner.endpoint_url) == ("chat", "https://chat.example.org/v1")
        assert (planner.model_id, planner.strategy, planner.timeout_seconds) == ("small", "hugginggpt", 60)
        assert planner.secret.name == "Authorization"
        assert "s3cr3t" not in done.stdout + done.stderr
        unfit = ("--chat", "https://a.org/v1", "--chat-model", "m", "--strategy", "openagi/constrained")
        refused = commands.run(*model_entry(make_suite(slug="openagi"), *unfit, "--name", "other"))
        assert (refused.returncode, "needs the probabilities of tokens" in refused.stderr) == (2, True), refused.stderr

    def test_wrong_usage_is_said_before_anything_is_sent(self, commands: Commands):
        for how, complaint in (
            ([], "give one of --planner, --model, --checkpoint, --chat, --plans and --agent, not none"),
            (["--planner", "gold", "--model", "a/b", "--strategy", "s"], "not --planner and --model"),
            (
                ["--planner", "gold", "--strategy", "hugginggpt"],
                "--strategy needs --model, --checkpoint, --chat or a --role for each role",
            ),
            (["--chat", "https://a.org/v1", "--chat-model", "m"], "--chat needs --strategy"),
            (["--chat", "https://a.org/v1", "--strategy", "hugginggpt"], "--chat needs --chat-model"),
            (["--planner", "gold", "--chat-model", "m"], "--chat-model needs --chat"),
            (["--planner", "gold", "--chat", "https://a.org/v1", "--chat-model", "m"], "not --planner and --chat"),
            (["--model", "a/b"], "--model needs --strategy"),
            (["--checkpoint", "nowhere.zip", "--strategy", "s"], "nowhere.zip cannot be read"),
        ):
            done = commands.run("submit", "--name", "mine", "--suite", "openagi", *how)
            assert (done.returncode, complaint in done.stderr) == (2, True), done.stderr

    def test_a_chat_endpoint_is_tested_with_a_strategy(self, commands: Commands, settings):
        settings.DEMO = True
        make_suite(slug="openagi")
        how = ("--chat-model", "m", "--strategy", "openagi/zero-shot")
        for answer, code, said in [("Text to Image Generation", 0, "Correct: the reference"), ("[]", 3, "Empty plan:")]:
            with serving_chat(ServerSettings(latency_seconds=0.0, answer=answer)) as url:
                tried = commands.run("try-endpoint", url, *how)
            assert (tried.returncode, tried.stderr.startswith(f"planarena: {said}")) == (code, True), tried.stderr
        lacking = commands.run("try-endpoint", "https://example.org/v1", *how[:2])
        assert (lacking.returncode, "--strategy is missing" in lacking.stderr) == (2, True), lacking.stderr


@pytest.mark.parametrize(("lost", "sent"), [("the upload", [0, 201]), ("its answer", [201, 401, 201])])
def test_an_upload_that_was_cut_or_whose_answer_was_lost_is_sent_again(site, token, file, lost, sent):
    real, seen = httpx.HTTPTransport(), []

    class Losing(httpx.BaseTransport):
        def handle_request(self, request):
            is_first = request.method == "PUT" and not seen
            if is_first and lost == "the upload":
                seen.append(0)
                raise httpx.WriteError("cut")
            answer = real.handle_request(request)
            if request.method == "PUT":
                seen.append(answer.status_code)
            if is_first:
                answer.close()
                raise httpx.ReadError("lost")
            return answer

    with Client(url=site, token=token, transport=Losing(), sleep=lambda _: None) as client:
        digest = client.upload_checkpoint(file)
    assert digest == CheckpointUpload.objects.get().digest == hashlib.sha256(file.read_bytes()).hexdigest()
    assert seen == sent


CI = ROOT / "examples" / "ci"


@pytest.fixture
def environment(settings):
    settings.DEMO = True
    token = create_token(user=make_user()).token
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    with server() as url:
        yield {**kept, "PYTHONPATH": str(ROOT), "PLANARENA_URL": url, "PLANARENA_TOKEN": token}


def start_script(command: list[str], *, environment: dict[str, str], folder: Path) -> subprocess.Popen:
    return subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def test_the_script_for_any_shell(environment, tmp_path):
    make_suite(slug="openagi")
    wants = {"PLANNER": "gold", "PLANNER_NAME": "mine", "BUILD": "17", "FAIL_UNDER": "overall=0.4"}
    python = {"PYTHON": sys.executable}
    process = start_script([str(CI / "submit.sh")], environment={**environment, **wants, **python}, folder=tmp_path)
    run_to_its_end()
    said, _ = process.communicate(timeout=100)
    assert (process.returncode, "good enough" in said) == (0, True), said
    assert json.loads((tmp_path / "out.json").read_text())["exit_code"] == 0
    assert (tmp_path / "out.xml").exists()


@pytest.mark.full
def test_the_workflow_for_github_is_well_formed_and_its_command_works(environment, tmp_path):
    make_suite(slug="openagi")
    steps = yaml.safe_load((CI / "github-actions.yml").read_text())["jobs"]["evaluate"]["steps"]
    (step,) = [step for step in steps if step["name" if "name" in step else "uses"] == "Evaluate"]
    named = {"GITHUB_REPOSITORY": "ada/planner", "COMMIT": "0123456789", "GITHUB_RUN_ID": "7"}
    named["GITHUB_STEP_SUMMARY"] = str(tmp_path / "summary.md")
    planner = {
        "PLANNER_URL": "https://example.org/plan",
        "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}",
    }
    assert set(step["env"]) == {"PLANARENA_URL", "PLANARENA_TOKEN", "PLANNER_URL", "COMMIT"}
    process = start_script(
        ["bash", "-ec", step["run"]], environment={**environment, **named, **planner}, folder=tmp_path
    )
    ended = run_to_its_end()
    said, _ = process.communicate(timeout=100)
    assert process.returncode == 0, said
    assert (ended.submission.planner.name, ended.submission.version) == ("planner", "0123456789")
    assert (tmp_path / "out.xml").exists()
    assert (tmp_path / "summary.md").read_text().startswith("## PlanArena: passed")


def test_the_packages_that_the_examples_install_are_pinned():
    pinned = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines()}
    for text in ((CI / "github-actions.yml").read_text(), (ROOT / "docs" / "ci.md").read_text()):
        (names,) = re.findall(r"pip install -c \S+ ([a-z ]+)", text)
        assert set(names.split()) <= pinned


def test_the_documented_exit_codes_are_those_there_are():
    rows = re.findall(r"^\| (\d+) \| ([\w ]+)", (ROOT / "docs" / "ci.md").read_text(), flags=re.MULTILINE)
    assert [int(number) for number, _ in rows] == [int(code) for code in ExitCode]
