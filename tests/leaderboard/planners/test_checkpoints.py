"""Uploading checkpoints, submitting them, and giving them to the workers that need them."""

import hashlib
from datetime import timedelta
from functools import cache

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from leaderboard.evaluations.models import Evaluation
from leaderboard.planners import checkpoints
from leaderboard.planners.gpu_memory import note_worker_gpu
from leaderboard.planners.models import CheckpointUpload, Planner
from leaderboard.planners.tasks import remove_unused_checkpoints
from leaderboard.queue.leasing import leases
from tests.fakes.checkpoints import tiny_files, zipped
from tests.leaderboard.factories import make_submission, make_suite, make_user
from tests.leaderboard.platform.api.helpers import ApiClient, client_of, lease_request, worker_client

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]
STRATEGY = "openagi/zero-shot"


@cache
def digest() -> str:
    return hashlib.sha256(zipped()).hexdigest()


@pytest.fixture
def ada():
    return make_user("ada")


@pytest.fixture
def suite():
    return make_suite(slug="openagi", runnable=20)


def upload(user, data: bytes | None = None, *, client: ApiClient | None = None):
    file = SimpleUploadedFile("model.zip", zipped() if data is None else data, content_type="application/zip")
    caller = client or client_of(user)
    return caller._client.post("/api/v1/checkpoints/", {"file": file}, headers=caller._headers)


def submit(user, suite, **planner):
    chosen = {"name": "mine", "kind": "checkpoint", "checkpoint_digest": digest(), "strategy": STRATEGY, **planner}
    return client_of(user).post("submissions/", {"planner": chosen, "suites": [suite.slug]})


def kept() -> list[str]:
    return sorted(path.parent.name + path.stem for path in checkpoints.checkpoint_store()._path.rglob("*.zip"))


class TestUploading:
    def test_a_checkpoint_is_kept_by_its_digest(self, ada):
        answer = upload(ada)
        assert answer.status_code == 201, answer.content
        told = answer.json()
        assert (told["digest"], told["bytes"], told["architecture"]) == (digest(), len(zipped()), "gpt2")
        assert told["weights_bytes"] == len(tiny_files()["model.safetensors"])
        assert client_of(ada).get("checkpoints/").json() == [told]
        assert kept() == [digest()]

    def test_what_is_none_is_refused_with_a_sentence_and_leaves_nothing(self, ada):
        answer = upload(ada, zipped(pytorch_model__bin=b"x"))
        assert answer.status_code == 400
        assert "may run code" in answer.json()["errors"]["file"][0]
        assert upload(ada, b"no zip").status_code == 400
        assert (kept(), CheckpointUpload.objects.count()) == ([], 0)

    def test_what_is_no_multipart_body_is_415_and_no_file_is_400(self, ada):
        assert client_of(ada).post("checkpoints/", {"file": "x"}).status_code == 415
        caller = client_of(ada)
        empty = caller._client.post("/api/v1/checkpoints/", {}, headers=caller._headers)
        assert list(empty.json()["errors"]) == ["file"]
        garbage = caller.post_bytes("checkpoints/", b"--x\r\ngarbage", "multipart/form-data; boundary=x")
        assert garbage.status_code == 400

    def test_what_is_too_large_is_413_and_never_written(self, ada, settings):
        settings.MAX_CHECKPOINT_BYTES = len(zipped()) - 1
        answer = upload(ada)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        assert f"at most {len(zipped()) - 1} bytes" in answer.json()["detail"]
        assert kept() == []
        settings.MAX_CHECKPOINT_BYTES = len(zipped())
        assert upload(ada).status_code == 201

    def test_what_does_not_fit_into_the_gpu_says_so(self, ada):
        note_worker_gpu(1)
        assert "is too large" in upload(ada).json()["errors"]["file"][0]

    def test_only_so_many_wait_to_be_submitted(self, ada, suite, settings):
        settings.UNUSED_CHECKPOINTS = 2
        for number in range(2):
            assert upload(ada, zipped(README__md=bytes([number]))).status_code == 201
        assert "2 checkpoints that you did not submit" in upload(ada).json()["errors"]["file"][0]
        assert upload(ada, zipped(README__md=bytes([1]))).status_code == 201
        used = hashlib.sha256(zipped(README__md=bytes([1]))).hexdigest()
        assert submit(ada, suite, checkpoint_digest=used).status_code == 201
        assert upload(ada).status_code == 201

    def test_others_see_nothing_of_it(self, ada):
        upload(ada)
        assert client_of(make_user()).get("checkpoints/").json() == []
        for path in (f"/objects/{digest()}", f"/hidden-objects/{digest()}"):
            assert Client().get(path).status_code == 404


class TestSubmitting:
    def test_its_owner_submits_it_by_its_digest_and_nobody_else(self, ada, suite):
        upload(ada)
        refused = submit(make_user(), suite).json()["errors"]["planner.checkpoint_digest"][0]
        assert "You uploaded no checkpoint with this digest" in refused
        assert not Planner.objects.exists()
        answer = submit(ada, suite)
        assert answer.status_code == 201, answer.content
        planner = answer.json()["planner"]
        assert (planner["model_name"], planner["open_weights"]) == (f"gpt2 checkpoint {digest()[:8]}", False)
        assert planner["parameters"] == CheckpointUpload.objects.get().parameters

    def test_what_is_no_digest_is_refused(self, ada, suite):
        wrong = ["", "x", "../../etc/passwd", digest().upper(), digest() + "0"]
        named = {text: list(submit(ada, suite, checkpoint_digest=text).json()["errors"]) for text in wrong}
        assert named == {text: ["planner.checkpoint_digest"] for text in wrong}


def lease_of(user, suite):
    upload(user)
    assert submit(user, suite).status_code == 201
    Evaluation.objects.update(state="launching")
    return worker_client().post("worker/lease/", lease_request()).json()


def piece(lease, *, name: str = "", token: str = "", **query):
    path = f"worker/attempts/{lease['attempt']}/checkpoints/{name or digest()}/"
    return ApiClient(token or lease["token"]).get(path, **query)


class TestWorkers:
    def test_the_attempt_gets_it_piece_by_piece(self, ada, suite, monkeypatch):
        monkeypatch.setattr("leaderboard.queue.web.worker_api.objects.CHECKPOINT_PIECE_BYTES", len(zipped()) // 3)
        lease = lease_of(ada, suite)
        assert lease["planner"] == {
            "kind": "checkpoint", "digest": digest(), "bytes": len(zipped()), "strategy": STRATEGY, "roles": {},
        }  # fmt: skip
        received = b""
        while data := piece(lease, start=len(received)).content:
            received += data
        assert received == zipped()
        assert piece(lease, start=-1).status_code == 400
        assert piece(lease, start="x").status_code == 400

    def test_nobody_else_gets_it(self, ada, suite):
        lease = lease_of(ada, suite)
        other = make_submission(suite=make_suite()).evaluations.get()
        Evaluation.objects.filter(pk=other.pk).update(state="launching")
        foreign = leases.lease(worker="w", evaluation_id=other.pk)
        assert piece({"attempt": str(foreign.attempt.pk), "token": foreign.token}).status_code == 404
        assert piece(lease, token=foreign.token).status_code == 403
        assert piece(lease, name="0" * 64).status_code == 404
        assert piece(lease, name="passwd").status_code == 404


def pass_hours(hours: float) -> None:
    for upload in CheckpointUpload.objects.all():
        upload.wanted_at -= timedelta(hours=hours)
        upload.save()


class TestRemoving:
    def test_what_was_neither_submitted_nor_asked_for_within_a_day_goes(self, ada, suite):
        upload(ada)
        pass_hours(23)
        remove_unused_checkpoints()
        assert kept() == [digest()]
        assert checkpoints.wanted(owner=ada, digest=digest()) is not None
        pass_hours(23)
        remove_unused_checkpoints()
        assert kept() == [digest()], "it was asked for"
        pass_hours(2)
        remove_unused_checkpoints()
        assert (kept(), CheckpointUpload.objects.count()) == ([], 0)
        assert submit(ada, suite).status_code == 400

    def test_of_two_owners_each_loses_their_own(self, ada, suite):
        upload(ada)
        upload(make_user())
        submit(ada, suite)
        pass_hours(25)
        remove_unused_checkpoints()
        assert kept() == [digest()]
        assert [found.owner for found in CheckpointUpload.objects.all()] == [ada]


class TestPage:
    def form(self, **changes):
        return {"kind": "checkpoint", "name": "mine", "strategy": STRATEGY, "suites": ["openagi"], **changes}

    def file(self, data: bytes | None = None):
        return SimpleUploadedFile("model.zip", zipped() if data is None else data, content_type="application/zip")

    def test_a_checkpoint_is_uploaded_with_the_form_and_after_another_mistake_not_again(self, client, ada, suite):
        client.force_login(ada)
        assert 'type="file"' in client.get("/submit/checkpoint/").content.decode()
        page = client.post("/submit/", self.form(name="", checkpoint_file=self.file()))
        assert page.status_code == 400
        assert f'<option value="{digest()}" selected>' in page.content.decode()
        assert client.post("/submit/", self.form(checkpoint_digest=digest())).status_code == 302
        assert client.post("/submit/", self.form(name="second", checkpoint_file=self.file())).status_code == 302
        assert set(Planner.objects.values_list("checkpoint_digest", flat=True)) == {digest()}

    def test_a_file_of_another_kind_is_not_kept(self, client, ada, suite):
        client.force_login(ada)
        form = self.form(kind="bundled", bundled_name="gold", checkpoint_file=self.file())
        assert client.post("/submit/", form).status_code == 302
        assert kept() == []


def test_a_member_cannot_have_their_own_worker_told_the_weights(ada, suite):
    from leaderboard.evaluations.visibility import NotPossibleError
    from leaderboard.submissions.actions import rerun
    from leaderboard.submissions.services import mark

    upload(ada)
    assert submit(ada, suite).status_code == 201
    evaluation = Evaluation.objects.get()
    mark(evaluation.submission)
    Evaluation.objects.update(state="cancelled")
    with pytest.raises(NotPossibleError, match="data that only its owner may know"):
        rerun(evaluation, by=make_user())
    assert rerun(evaluation, by=ada).planner.checkpoint_digest == digest()
