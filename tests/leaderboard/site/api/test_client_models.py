"""Submitting models by the command line and the client, against the served site."""

import hashlib
import re

import httpx
import pytest

from evaluator.client import Client
from evaluator.planners.language_models.chat.trial_server import ServerSettings
from evaluator.planners.language_models.chat.trial_server import serving as serving_chat
from leaderboard.evaluations.models import Submission
from leaderboard.planners.models import CheckpointUpload, Planner
from tests.evaluator.experts.hub_server import serving
from tests.fakes.checkpoints import tiny_files, zipped
from tests.leaderboard.factories import make_suite
from tests.leaderboard.site.api.test_client import Commands, commands, site, token  # noqa: F401 - fixtures

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_store")]
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


def entry(suite, *how: str) -> list[str]:
    return ["submit", "--name", "mine", "--suite", suite.slug, *how]


class TestCommand:
    def test_a_hub_s_model_is_named_with_its_revision(self, commands: Commands, hub):  # noqa: F811
        suite = make_suite()
        how = ("--model", "own/planner@v1", "--strategy", "hugginggpt")
        done = commands.run(*entry(suite, *how))
        assert done.returncode == 0, done.stderr
        planner = Planner.objects.get()
        assert (planner.model_id, planner.revision, planner.commit) == ("own/planner", "v1", COMMIT)
        other = entry(suite, "--model", "own/planner@nightly", "--strategy", "hugginggpt", "--name", "other")
        refused = commands.run(*other)
        assert (refused.returncode, "has no revision 'nightly'" in refused.stderr) == (2, True), refused.stderr

    def test_a_checkpoint_is_uploaded_and_submitted(self, commands: Commands, file):  # noqa: F811
        suite = make_suite()
        done = commands.run(*entry(suite, "--checkpoint", str(file), "--strategy", "hugginggpt"))
        assert done.returncode == 0, done.stderr
        assert re.search(r"uploading .*model\.zip", done.stderr)
        assert Planner.objects.get().checkpoint_digest == hashlib.sha256(file.read_bytes()).hexdigest()
        file.write_bytes(zipped(modeling_own__py=b"x"))
        refused = commands.run(*entry(suite, "--checkpoint", str(file), "--strategy", "hugginggpt"))
        assert (refused.returncode, "file: 'modeling_own.py' in the zip is a program" in refused.stderr) == (2, True)
        assert Submission.objects.count() == 1

    def test_a_chat_endpoint_is_named_with_its_model_and_a_header_from_a_variable(self, commands: Commands):  # noqa: F811
        commands.environment["CHAT_KEY"] = "Bearer s3cr3t-of-the-owner"
        how = ("--chat", "https://chat.example.org/v1", "--chat-model", "small", "--strategy", "hugginggpt")
        secret = ("--header", "Authorization", "--header-value-env", "CHAT_KEY", "--timeout", "60")
        done = commands.run(*entry(make_suite(), *how, *secret))
        assert done.returncode == 0, done.stderr
        planner = Planner.objects.get()
        assert (planner.kind, planner.endpoint_url) == ("chat", "https://chat.example.org/v1")
        assert (planner.model_id, planner.strategy, planner.timeout_seconds) == ("small", "hugginggpt", 60)
        assert planner.secret.name == "Authorization"
        assert "s3cr3t" not in done.stdout + done.stderr
        unfit = ("--chat", "https://a.org/v1", "--chat-model", "m", "--strategy", "openagi/constrained")
        refused = commands.run(*entry(make_suite(slug="openagi"), *unfit, "--name", "other"))
        assert (refused.returncode, "needs the probabilities of tokens" in refused.stderr) == (2, True), refused.stderr

    def test_wrong_usage_is_said_before_anything_is_sent(self, commands: Commands):  # noqa: F811
        for how, complaint in (
            ([], "give one of --planner, --model, --checkpoint, --chat, --plans and --agent, not none"),
            (["--planner", "gold", "--model", "a/b", "--strategy", "s"], "not --planner and --model"),
            (
                ["--planner", "gold", "--strategy", "hugginggpt"],
                "--strategy goes with --model, --checkpoint or --chat only",
            ),
            (["--chat", "https://a.org/v1", "--chat-model", "m"], "--strategy is missing beside --chat"),
            (["--chat", "https://a.org/v1", "--strategy", "hugginggpt"], "--chat-model is missing beside --chat"),
            (["--planner", "gold", "--chat-model", "m"], "--chat-model goes with --chat only"),
            (["--planner", "gold", "--chat", "https://a.org/v1", "--chat-model", "m"], "not --planner and --chat"),
            (["--model", "a/b"], "--strategy is missing beside --model"),
            (["--checkpoint", "nowhere.zip", "--strategy", "s"], "nowhere.zip cannot be read"),
        ):
            done = commands.run("submit", "--name", "mine", "--suite", "openagi", *how)
            assert (done.returncode, complaint in done.stderr) == (2, True), done.stderr

    def test_a_chat_endpoint_is_tested_with_a_strategy(self, commands: Commands, settings):  # noqa: F811
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
def test_an_upload_that_was_cut_or_whose_answer_was_lost_is_sent_again(site, token, file, lost, sent):  # noqa: F811
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
