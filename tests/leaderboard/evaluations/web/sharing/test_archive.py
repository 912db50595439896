"""The whole evaluation as one archive."""

import hashlib
import io
import json
import tarfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from django.test import Client

from evaluator.core.records import ArtefactReference, ResultRecord, SampleResult
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.values import Artefact, MediaType
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.evaluations.web.sharing import files as archives
from leaderboard.platform.api import throttling
from tests.leaderboard.evaluations.web.factories import (
    make_evaluation,
    make_planner,
    make_results,
    make_suite,
    make_user,
)
from tests.leaderboard.factories import closed_season

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]


@pytest.fixture
def evaluation() -> Evaluation:
    planner = make_planner(owner=make_user(), name="ours", bundled_name="word-overlap")
    found = make_evaluation(planner=planner, suite=make_suite())
    make_results(found, upto=6)
    return found


def download(evaluation: Evaluation, client: Client | None = None) -> bytes:
    response = (client or Client()).get(f"/evaluations/{evaluation.pk}/archive.tar")
    assert response.status_code == 200
    return b"".join(response.streaming_content)


def files_of(data: bytes) -> dict[str, bytes]:
    """Contents by name below the only folder."""
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        members = tar.getmembers()
        assert all(member.isreg() for member in members)
        assert len({member.name.partition("/")[0] for member in members}) == 1
        return {member.name.partition("/")[2]: tar.extractfile(member).read() for member in members}


def test_it_is_a_bag_with_every_record_as_stored_and_every_artefact_once(evaluation: Evaluation):
    data = download(evaluation)
    assert download(evaluation) == data, "equal evaluations give equal bytes"
    files = files_of(data)
    assert files["bagit.txt"].startswith(b"BagIt-Version: 1.0\n")
    lines = files["manifest-sha256.txt"].decode().splitlines()
    manifest = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    assert manifest.keys() == {name for name in files if name.startswith("data/")}
    assert all(hashlib.sha256(files[name]).hexdigest() == digest for name, digest in manifest.items())
    assert "missing.txt" not in files
    stored = TaskResult.objects.filter(evaluation=evaluation).exclude(record_digest="")
    records = {name: data for name, data in files.items() if name.startswith("data/records/")}
    assert {hashlib.sha256(data).hexdigest() for data in records.values()} == {one.record_digest for one in stored}
    assert "data/records/0003_3.json" in records
    named = {
        reference.digest
        for data in records.values()
        for reference in ResultRecord.model_validate_json(data).artefacts()
    }
    assert named
    assert {Path(name).stem for name in files if name.startswith("data/artefacts/")} == named
    assert json.loads(files["data/evaluation.json"])["evaluation"] == str(evaluation.pk)
    assert len(files["data/results.csv"].decode().splitlines()) == 7


def test_lost_objects_are_named(evaluation: Evaluation):
    lost = TaskResult.objects.get(evaluation=evaluation, task__position=0).record_digest
    (path,) = server_store(split="public").path.rglob(f"*{lost[2:]}*")
    path.unlink()
    files = files_of(download(evaluation))
    assert files["missing.txt"].decode().split() == [lost]
    assert "data/records/0000_0.json" not in files


def test_on_the_hidden_split_it_has_no_artefacts_but_for_operators(evaluation: Evaluation, settings):
    settings.SPLIT = HIDDEN
    hidden = make_evaluation(
        planner=evaluation.submission.planner, suite=evaluation.suite, split=HIDDEN, season=closed_season()
    )
    make_results(hidden, upto=4)
    files = files_of(download(hidden))
    assert not [name for name in files if "artefacts" in name]
    records = [json.loads(data) for name, data in files.items() if name.startswith("data/records/")]
    assert records
    assert all(record["samples"] == [] and record["request"] == "" for record in records)
    client = Client()
    client.force_login(make_user("operator", is_staff=True))
    assert [name for name in files_of(download(hidden, client)) if "artefacts" in name]


def test_memory_holds_one_object_and_not_the_archive(evaluation: Evaluation):
    store = server_store(split="public")
    result = TaskResult.objects.get(evaluation=evaluation, task__position=0)
    record = ResultRecord.model_validate_json(store.get(result.record_digest).data)
    for number in range(20):
        large = Artefact(data=np.random.default_rng(number).bytes(200_000), media_type=MediaType.TEXT)
        given = {"text": ArtefactReference(digest=store.put(large), media_type=MediaType.TEXT)}
        record.samples.append(
            SampleResult(index=2 + number, score=0.0, inputs=given, reference=None, answer=None, steps=[])
        )
    data = record.model_dump_json().encode()
    result.record_digest = store.put(Artefact(data=data, media_type=MediaType.TEXT))
    result.save()
    reader = evaluation.submission.submitted_by
    tracemalloc.start()
    try:
        size = sum(len(part) for part in archives.archive(evaluation=evaluation, reader=reader, address="a"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert size > 4_000_000
    assert peak < 2_000_000


def test_it_is_asked_for_a_few_times_a_minute_at_most(evaluation: Evaluation, client: Client, monkeypatch):
    monkeypatch.setitem(throttling.Throttle.THROTTLE_RATES, "archives", "2/min")
    statuses = [client.get(f"/evaluations/{evaluation.pk}/archive.tar").status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
