"""Evaluations whose experts ran on another type of device have a board of their own."""

import pytest
from django.test import Client
from django.urls import reverse

from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.library import device_class
from leaderboard.evaluations.models import Evaluation, conditions_of_board
from leaderboard.evaluations.results.devices import UNKNOWN_CLASS, computing_classes_of, devices_of
from leaderboard.evaluations.results.results import note_worker_of
from tests.leaderboard.factories import make_submission, make_suite, ranked
from tests.leaderboard.queue import verifying

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store", "launcher")]


@pytest.mark.parametrize(
    ("devices", "named"),
    [
        ([], ""),
        (["cpu"], ""),
        (["cuda:0", "cuda:1"], "cuda"),
        (["cpu", "cuda"], "mixed"),
        (["<b>"], "unknown"),
    ],
)  # fmt: skip
def test_the_class_of_devices(devices, named):
    assert device_class(devices) == named


def measured(suite, *, device: str) -> Evaluation:
    evaluation = ranked(make_submission(suite=suite)).evaluations.get()
    note_worker_of(evaluation=evaluation, provenance={"device": device})
    return verifying.run(evaluation)


def test_rows_of_two_classes_are_on_two_boards_and_that_of_the_site_s_workers_comes_first(settings):
    suite = make_suite()
    on_cpu, on_gpu = measured(suite, device="cpu"), measured(suite, device="cuda:0")
    assert [on_cpu.device_class, on_gpu.device_class] == ["", "cuda"]
    boards = {
        snapshot.device_class: [row["evaluation"] for row in snapshot.content["rows"]]
        for snapshot in Snapshot.objects.order_by("number")
    }
    assert boards == {"": [str(on_cpu.pk)], "cuda": [str(on_gpu.pk)]}
    assert latest_snapshot(suite=suite).device_class == ""
    settings.DEVICE = "cuda"
    assert latest_snapshot(suite=suite).device_class == "cuda"
    other = conditions_of_board(on_gpu)._asdict()
    page = Client().get(reverse("boards:board", args=[suite.slug]), other).content.decode()
    assert "cuda" in page


def test_rows_of_two_classes_cannot_be_compared():
    suite = make_suite()
    pks = [str(measured(suite, device=device).pk) for device in ("cpu", "cuda")]
    refused = Client().get(reverse("api:compare"), {"e": pks})
    assert refused.status_code == 400
    assert "class of devices" in refused.json()["detail"]


def test_plans_that_are_judged_have_no_class_of_devices():
    suite = make_suite()
    suite.conditions = {**suite.conditions, "experts": False}
    suite.save()
    assert measured(suite, device="cuda").device_class == ""


CARD = {
    "device": "cuda:0", "driver": "570.86.15",
    "device_class": {"kind": "cuda", "card": "NVIDIA H100", "cuda": "12.8", "torch": "2.9"},
}  # fmt: skip
NAMED = {"kind": "cuda", "name": "NVIDIA H100", "driver": "570.86.15", "cuda": "12.8"}


def test_page_row_and_api_name_card_driver_and_cuda(settings):
    settings.DEVICE = "cuda"
    suite = make_suite()
    evaluation = ranked(make_submission(suite=suite)).evaluations.get()
    note_worker_of(evaluation=evaluation, provenance=CARD)
    verifying.run(evaluation)
    client = Client()
    (row,) = latest_snapshot(suite=suite).content["rows"]
    assert row["devices"] == [NAMED]
    (shown,) = client.get(reverse("api:board-rows", args=[suite.slug])).json()["rows"]
    assert shown["devices"] == [NAMED]
    assert client.get(reverse("api:evaluation", args=[evaluation.pk])).json()["summary"]["devices"] == [NAMED]
    for page in (reverse("evaluations:detail", args=[evaluation.pk]), reverse("boards:board", args=[suite.slug])):
        assert "NVIDIA H100, driver 570.86.15, CUDA 12.8" in client.get(page).content.decode()


HOSTILE = [
    None, [], {}, {"kind": 1}, {"kind": "cuda", **{str(n): "x" for n in range(50)}}, {"card": "H100"},
    {"kind": "c\nuda"},
]  # fmt: skip


@pytest.mark.parametrize("value", HOSTILE)
def test_a_malformed_class_of_devices_is_unknown(value):
    provenance = {"workers": [{"device_class": value}]}
    assert devices_of(provenance) == ()
    assert computing_classes_of(provenance) == {UNKNOWN_CLASS}


def test_names_of_devices_are_bounded_and_equal_workers_count_once():
    workers = [{"driver": 5, "device_class": {"kind": "cuda", "card": "x" * 1000, "more": ["a"]}}] * 2
    (device,) = devices_of({"workers": [*workers, "no worker"]})
    assert device.to_json() == {"kind": "cuda", "name": "x" * 100}


def test_a_cpu_is_named_by_its_vendor():
    workers = [{"device_class": {"kind": "cpu", "vendor": vendor}} for vendor in ("GenuineIntel", "")]
    assert [str(device) for device in devices_of({"workers": workers})] == ["CPU", "CPU (GenuineIntel)"]
