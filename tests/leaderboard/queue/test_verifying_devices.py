"""Verification within and across classes of devices: from the workers' provenance to the verdict and its page.

Two fake devices invert pictures. The second one is off by a few levels.
"""

import io
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.urls import reverse
from PIL import Image

from evaluator.core.plans.model import Plan, Step
from evaluator.core.records import ArtefactReference, ResultRecord, SampleResult
from evaluator.core.values import Artefact, MediaType, encode
from evaluator.execution.engine.jobs import Job
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import MemoryStore
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.results.differing import differ
from leaderboard.evaluations.results.objects import server_store
from leaderboard.queue.models import Verification
from leaderboard.queue.reconcile import sweep
from tests.fakes.evaluator import FakeEvaluator
from tests.fakes.experts import FakeExpert, FakePool, invert
from tests.leaderboard.factories import make_record, make_suite, make_user
from tests.leaderboard.platform.api.helpers import ApiClient, client_of, lease_request, session_of
from tests.leaderboard.queue.verifying import make_own, rerun_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store", "launcher")]

TOOL = "Image Denoising"
PLAN = Plan(steps=(Step("s1", TOOL, {"image": "$image"}, {"image": "s1.image"}),), answers=("s1.image",))
H100 = {"kind": "cuda", "card": "NVIDIA H100", "cuda": "12.8"}
A100 = {"kind": "cuda", "card": "NVIDIA A100", "cuda": "12.8"}
SAMPLES = 2


class OnCard(FakePool):
    """One expert on a fake card, whose results are off by some levels of 255."""

    def __init__(self, device: Mapping[str, str], *, levels: int = 0, batch_size: int = 4) -> None:
        def run(item):
            return {"image": invert(item)["image"].point(lambda level: min(level + levels, 255))}

        super().__init__({TOOL: FakeExpert(run)}, batch_size=batch_size)
        self._device = device

    @property
    def device_class(self) -> Mapping[str, str]:
        return self._device


def executed(pool: OnCard, *, suite: str, store: Any, score: float = 0.5) -> Callable[[str], ResultRecord]:
    """The records of a worker with this device."""
    engine = Engine(pool=pool, store=store)

    def record(task: str) -> ResultRecord:
        pictures = [Image.new("RGB", (8, 8), (100 + int(task), 100 + number, 100)) for number in range(SAMPLES)]
        jobs = [
            Job(task=task, sample=number, plan=PLAN, resources={"image": engine.keep(picture)})
            for number, picture in enumerate(pictures)
        ]
        samples = [
            SampleResult(
                index=result.job.sample, score=score, inputs={}, reference=None, answer=result.answer,
                steps=list(result.steps),
            )
            for result in sorted(engine.run(jobs), key=lambda result: result.job.sample)
        ]  # fmt: skip
        return make_record(task, suite=suite, score=score).model_copy(update={"samples": samples})

    return record


def delivered(pool: OnCard, *, suite: str, score: float = 0.5) -> Callable[[str], ResultRecord]:
    """The records of a worker with a store of its own, whose artefacts the site gets."""
    store = MemoryStore()
    record = executed(pool, suite=suite, store=store, score=score)

    def deliver(task: str) -> ResultRecord:
        made = record(task)
        for artefact in made.artefacts():
            server_store(split="public").put(store.get(artefact.digest))
        return made

    return deliver


def work(
    evaluation: Evaluation, *, device: Mapping[str, str], answer: Callable[[str], ResultRecord], token: str
) -> None:
    """Lease all tasks over HTTP and deliver their records with the provenance of a device."""
    sweep()
    session = session_of(token)
    provenance = {"device": "cuda:0", "driver": "570.86.15", "device_class": dict(device), "packages": {"torch": "2.9"}}
    lease = ApiClient(session).post("worker/lease/", lease_request(evaluation=str(evaluation.pk))).json()
    while lease:
        body = {
            "results": [answer(task).model_dump(mode="json") for task in lease["tasks"]],
            "log": {"first": 0, "lines": []},
            "provenance": provenance,
            "next": lease_request(evaluation=str(evaluation.pk)),
        }
        path = f"worker/attempts/{lease['attempt']}/finish/"
        answered = ApiClient(lease["token"]).post(path, body, X_Worker_Token=session)
        assert answered.status_code == 200, answered.content
        lease = answered.json()["next"]
    sweep()
    sweep()


def verified(own: OnCard, again: OnCard, *, forged: float = 0.5) -> tuple[Evaluation, Verification]:
    """An evaluation of an owner with one device, verified on another."""
    ada, suite = make_user(), make_suite(runnable=4)
    evaluation = make_own(user=ada, suite=suite)
    token = client_of(ada).post("worker-tokens/", {"name": "mine"}).json()["token"]
    answer = delivered(own, suite=suite.slug, score=forged)
    work(evaluation, device=own.device_class, answer=answer, token=token)
    work(
        rerun_of(evaluation), device=again.device_class, token=django_settings.WORKER_TOKEN,
        answer=delivered(again, suite=suite.slug),
    )  # fmt: skip
    evaluation.refresh_from_db()
    return evaluation, Verification.objects.get(pk=rerun_of(evaluation).pk)


def page_of(evaluation: Evaluation) -> str:
    return " ".join(Client().get(reverse("evaluations:detail", args=[evaluation.pk])).content.decode().split())


def compared(evaluation: Evaluation) -> dict[str, Any]:
    return client_of(make_user()).get(f"evaluations/{evaluation.pk}/verifications/").json()["results"][0]


@pytest.fixture
def declared(monkeypatch):
    """The profile allows a difference of 0.02, about five levels."""
    monkeypatch.setattr(FakeEvaluator, "declared", {TOOL: 0.02})


def test_on_one_class_equal_bytes_agree(declared):
    evaluation, verification = verified(OnCard(H100), OnCard(H100))
    assert (verification.verdict, evaluation.reason) == ("agrees", "verified")
    assert verification.comparison["rule"]["one_class"]
    assert "Both ran on one class of devices (NVIDIA H100, driver 570.86.15, CUDA 12.8)" in page_of(evaluation)


def test_on_one_class_a_single_level_contradicts_although_the_scores_are_equal(declared):
    evaluation, verification = verified(OnCard(H100, levels=1), OnCard(H100))
    assert (verification.verdict, evaluation.reason) == ("disagrees", "verification_failed")


def test_across_classes_what_is_within_the_tolerance_agrees_and_the_page_says_by_which_rule(declared):
    evaluation, verification = verified(OnCard(A100, levels=3), OnCard(H100))
    assert (verification.verdict, evaluation.reason) == ("agrees", "verified")
    assert [task["differing"] for task in verification.comparison["tasks"]] == [0] * 4
    shown = page_of(evaluation)
    assert "The owner&#x27;s worker ran on NVIDIA A100" in shown
    assert "outputs may differ by the tolerance of their expert" in shown
    assert compared(evaluation)["rule"] == {
        "one_class": False,
        "own": ["NVIDIA A100, driver 570.86.15, CUDA 12.8"],
        "again": ["NVIDIA H100, driver 570.86.15, CUDA 12.8"],
    }


def test_across_classes_more_than_the_tolerance_contradicts_and_names_step_expert_and_difference(declared):
    evaluation, verification = verified(OnCard(A100, levels=20), OnCard(H100))
    assert (verification.verdict, evaluation.reason) == ("disagrees", "verification_failed")
    words = "step s1 (Image Denoising, fake/Image Denoising) of sample 1 differs by 0.0784, but only 0.02 is allowed"
    assert words in evaluation.reason_text
    assert page_of(evaluation).count(words) >= 4
    for task in compared(evaluation)["compared"]:
        assert (task["finding"], task["differing"], task["exact"]) == ("other_samples", SAMPLES, 0)
        assert task["step"]["difference"] == pytest.approx(20 / 255)


def test_without_a_declared_tolerance_only_scores_are_compared_across_classes():
    _, verification = verified(OnCard(A100, levels=20), OnCard(H100))
    assert verification.verdict == "agrees"
    _, verification = verified(OnCard(A100, levels=20), OnCard(H100), forged=0.9)
    assert verification.verdict == "disagrees"


def test_a_smaller_batch_on_the_same_class_is_compared_by_the_tolerance(declared):
    _, verification = verified(OnCard(H100, levels=3, batch_size=2), OnCard(H100))
    assert verification.verdict == "agrees"
    assert verification.comparison["rule"]["one_class"]
    assert [task["exact"] for task in verification.comparison["tasks"]] == [0] * 4


def test_two_classes_that_share_a_store_never_get_each_other_s_bytes():
    store = MemoryStore()
    cards = [(H100, 0), (A100, 3)]
    expected = {
        device["card"]: answers(executed(OnCard(device, levels=levels), suite="s", store=MemoryStore()))
        for device, levels in cards
    }
    assert expected["NVIDIA H100"] != expected["NVIDIA A100"]
    # Each in a new process, before and after the other one has filled the store.
    for device, levels in [*cards, *cards, *cards[::-1]]:
        pool = OnCard(device, levels=levels)
        assert answers(executed(pool, suite="s", store=store)) == expected[device["card"]]
    assert pool.loaded == [], "the last one found its steps in the store"
    assert len({key for key, _ in expected["NVIDIA H100"]} & {key for key, _ in expected["NVIDIA A100"]}) == 0


def answers(record: Callable[[str], ResultRecord]) -> list[tuple[str, str]]:
    """Key and digest of every executed step."""
    return [
        (step.key, step.outputs["image"].digest)
        for task in "0123"
        for sample in record(task).samples
        for step in sample.steps
    ]


def test_one_picture_in_two_encodings_is_equal_and_a_stranger_s_bytes_are_different():
    store = MemoryStore()

    def kept(data: bytes, media_type: str = MediaType.PNG) -> ArtefactReference:
        artefact = Artefact(data=data, media_type=MediaType(media_type))
        return ArtefactReference(digest=store.put(artefact), media_type=media_type)

    picture = Image.new("RGB", (64, 64), "red")
    ours = kept(encode(picture).data)
    for other, size in (
        (kept(png(picture, compress_level=9)), None),
        (kept(b"no picture"), 1.0),
        (kept(png(Image.new("L", (4096, 2048)))), 1.0),
        (kept(b"text", MediaType.TEXT), 1.0),
        (kept(png(Image.new("RGB", (64, 64), (254, 0, 0)))), pytest.approx(1 / 255 / 3)),
        (ArtefactReference(digest="0" * 64, media_type=MediaType.PNG), 1.0),
        (ArtefactReference(digest=ours.digest, media_type="a/b"), 1.0),
    ):
        assert differ(ours, other, store=store) == size


def png(picture: Image.Image, **options: Any) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", **options)
    return buffer.getvalue()
