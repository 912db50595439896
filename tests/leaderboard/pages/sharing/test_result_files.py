"""The results of an evaluation as CSV, JSON and Parquet, from the page and from the API."""

import csv
import io
import json
import subprocess
import sys
import tracemalloc
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client

from leaderboard.accounts.models import User
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.pages.sharing.files import FILES, Results, results_of
from leaderboard.site.http import parquet
from tests.leaderboard.factories import closed_season
from tests.leaderboard.pages.factories import (
    make_evaluation,
    make_planner,
    make_result,
    make_results,
    make_suite,
    make_user,
)
from tests.leaderboard.site.api.helpers import client_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]

ENDED = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
CAUSES = [
    {"cause": "wrong_tool", "step": "s1", "tool": "Colorization", "given": "grey", "wanted": "Image Denoising"},
    {"cause": "wrong_answer", "given": "the red ball", "wanted": "the blue ball"},
]
CODES = "wrong_tool;wrong_answer"
ENDINGS = ("csv", "json", "parquet")


@pytest.fixture
def evaluation() -> Evaluation:
    """One result with two causes, of a planner that does not answer with gold plans."""
    planner = make_planner(owner=make_user(), bundled_name="random-valid")
    made = make_evaluation(planner=planner, suite=make_suite(), finished=ENDED)
    make_result(evaluation=made, task=Task.objects.get(key="0"), samples=0)
    made.results.update(causes=CAUSES)
    return made


def downloaded(path: str, *, client: Client | None = None, status: int = 200) -> bytes:
    response = (client or Client()).get(path)
    assert response.status_code == status, path
    return response.getvalue()


def read(data: bytes, ending: str) -> list[dict[str, Any]]:
    if ending == "parquet":
        return pq.read_table(io.BytesIO(data)).to_pylist()
    text = data.decode()
    return json.loads(text)["results"] if ending == "json" else list(csv.DictReader(io.StringIO(text)))


def causes_in_files(evaluation: Evaluation, client: Client | None = None) -> dict[str, Any]:
    """The causes of the only result, by the ending of the file; what is null is left out."""
    found = {}
    for ending in ENDINGS:
        (row,) = read(downloaded(f"/evaluations/{evaluation.pk}/results.{ending}", client=client), ending)
        found[ending] = row["causes"]
    if found["parquet"] is not None:
        found["parquet"] = [{k: v for k, v in one.items() if v is not None} for one in found["parquet"]]
    return found


class TestCauses:
    """For every state of visibility."""

    def test_nothing_is_withheld_of_a_public_split(self, evaluation: Evaluation):
        assert causes_in_files(evaluation) == {"csv": CODES, "json": CAUSES, "parquet": CAUSES}

    def test_while_gold_plans_are_withheld_no_reference_is_named(self, evaluation: Evaluation, settings):
        settings.SPLIT = "hidden"
        shown = [{name: text for name, text in one.items() if name != "wanted"} for one in CAUSES]
        assert causes_in_files(evaluation) == {"csv": CODES, "json": shown, "parquet": shown}

    def test_of_hidden_data_no_answer_is_quoted(self, evaluation: Evaluation):
        Evaluation.objects.update(split="hidden", season=closed_season())
        shown = [{name: text for name, text in CAUSES[0].items() if name != "wanted"}, {"cause": "wrong_answer"}]
        assert causes_in_files(evaluation) == {"csv": CODES, "json": shown, "parquet": shown}

    def test_of_a_planner_that_answers_with_gold_plans_only_the_causes_are_told(self, evaluation: Evaluation, settings):
        settings.SPLIT = "hidden"
        type(evaluation.submission.planner).objects.update(bundled_name="gold")
        shown = [{"cause": "wrong_tool"}, {"cause": "wrong_answer"}]
        assert causes_in_files(evaluation) == {"csv": CODES, "json": shown, "parquet": shown}
        (row,) = read(downloaded(f"/evaluations/{evaluation.pk}/results.parquet"), "parquet")
        assert row["plan_summary"] == row["record_digest"] == ""

    def test_operators_see_everything(self, evaluation: Evaluation):
        Evaluation.objects.update(split="hidden", season=closed_season())
        client = Client()
        client.force_login(User.objects.create(username="operator", is_staff=True))
        assert causes_in_files(evaluation, client) == {"csv": CODES, "json": CAUSES, "parquet": CAUSES}

    def test_what_is_not_public_is_for_its_owner(self, evaluation: Evaluation):
        owner = Client()
        owner.force_login(evaluation.submission.submitted_by)
        for state, until in (("private", None), ("embargo", datetime(2999, 1, 1, tzinfo=UTC))):
            type(evaluation.submission).objects.update(visibility=state, embargo_until=until)
            for address in ("/evaluations/{}/results.{}", "/api/v1/evaluations/{}/results/?format={}"):
                for ending in ENDINGS:
                    path = address.format(evaluation.pk, ending)
                    downloaded(path, status=404)
                    downloaded(path, client=owner)

    def test_causes_that_are_not_known_differ_from_no_causes(self, evaluation: Evaluation):
        evaluation.results.update(causes=None)
        assert causes_in_files(evaluation) == {"csv": "not_found_yet", "json": None, "parquet": None}
        evaluation.results.update(causes=[])
        assert causes_in_files(evaluation) == {"csv": "", "json": [], "parquet": []}
        evaluation.results.update(causes=None, outcome="not_run", score=None)
        assert causes_in_files(evaluation)["csv"] == ""


class TestParquet:
    def test_columns_have_the_types_of_their_values(self, evaluation: Evaluation):
        evaluation.results.update(
            indicators={"valid": 1.0}, episodes={"ends": [{"stop": "finished", "turns": 3, "score": None}]}
        )
        table = pq.read_table(io.BytesIO(downloaded(f"/evaluations/{evaluation.pk}/results.parquet")))
        types = {field.name: field.type for field in table.schema}
        assert types["task"] == types["evaluation"] == pa.string()
        assert types["score"] == types["seconds"] == types["indicator_valid"] == pa.float64()
        assert types["accepted"] == pa.bool_()
        assert types["finished"] == pa.timestamp("us", tz="UTC")
        assert types["causes"].value_type.field("tool").type == pa.string()
        assert types["episodes"].field("ends").type.value_type.field("turns").type == pa.int32()
        (row,) = table.to_pylist()
        assert (row["finished"], row["indicator_valid"]) == (ENDED, 1.0)
        assert row["episodes"] == {"ends": [{"stop": "finished", "turns": 3, "score": None}], "problems": None}

    def test_the_schema_says_what_was_measured_and_under_what(self, evaluation: Evaluation):
        data = downloaded(f"/evaluations/{evaluation.pk}/results.parquet")
        facts = json.loads(pq.read_schema(io.BytesIO(data)).metadata[parquet.METADATA])
        assert facts["format"] == "planarena-results/1"
        assert facts["address"] == f"http://testserver/evaluations/{evaluation.pk}/"
        assert facts["suite"]["version"] == evaluation.suite.version
        assert facts["conditions"]["split"] == "public"
        assert facts["planner"]["name"] == "gold"
        assert facts["provenance"] == evaluation.provenance

    def test_it_has_what_the_csv_has(self, evaluation: Evaluation):
        make_results(make_evaluation(planner=evaluation.submission.planner, suite=evaluation.suite), upto=30)
        other = Evaluation.objects.exclude(pk=evaluation.pk).get()
        lines = read(downloaded(f"/evaluations/{other.pk}/results.csv"), "csv")
        rows = read(downloaded(f"/evaluations/{other.pk}/results.parquet"), "parquet")
        assert len(rows) == len(lines) == 30
        assert lines[0].keys() - rows[0].keys() == set()
        for line, row in zip(lines, rows, strict=True):
            assert (line["task"], line["outcome"], line["record_digest"]) == (
                row["task"], row["outcome"], row["record_digest"],
            )  # fmt: skip
            assert line["score"] == ("" if row["score"] is None else str(row["score"]))

    def test_the_same_evaluation_gives_the_same_bytes(self, evaluation: Evaluation):
        path = f"/evaluations/{evaluation.pk}/results.parquet"
        assert downloaded(path) == downloaded(path)

    @pytest.mark.full
    def test_memory_holds_one_group_of_rows(self, evaluation: Evaluation):
        """A hundred thousand rows of 1 kB."""
        reader = evaluation.submission.submitted_by
        found = results_of(evaluation=evaluation, reader=reader, address="a")
        row = next(found.rows)
        many = ({**row, "task": str(number), "reason_text": f"{number:01000d}"} for number in range(100_000))
        before = pa.total_allocated_bytes()
        tracemalloc.start()
        try:
            size = 0
            for part in FILES["parquet"].write(Results(evaluation, "a", many, ())):
                size += len(part)
                assert pa.total_allocated_bytes() - before < 20_000_000
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert size > 1_000_000
        assert peak < 20_000_000

    @pytest.mark.full
    def test_the_site_starts_without_the_library(self):
        code = (
            "import os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings'; import django; django.setup();"
            "import leaderboard.wiring.urls, leaderboard.wiring.api_urls; sys.exit('pyarrow' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class TestApi:
    def test_the_header_accept_asks_for_a_file_too(self, evaluation: Evaluation):
        path = f"/api/v1/evaluations/{evaluation.pk}/results/"
        response = Client().get(path, headers={"Accept": parquet.MEDIA_TYPE})
        assert response["Content-Type"] == parquet.MEDIA_TYPE
        name = f"planarena-openagi-{str(evaluation.pk)[:8]}.parquet"
        assert response["Content-Disposition"] == f'attachment; filename="{name}"'
        assert "no-store" in response["Cache-Control"]
        assert len(read(response.getvalue(), "parquet")) == 1

    def test_a_token_opens_a_private_evaluation(self, evaluation: Evaluation):
        type(evaluation.submission).objects.update(visibility="private")
        path = f"evaluations/{evaluation.pk}/results/"
        mine = client_of(evaluation.submission.submitted_by).get(path, format="parquet")
        assert len(read(mine.getvalue(), "parquet")) == 1
        assert client_of(make_user("bea")).get(path, format="parquet").status_code == 404


def test_rows_are_read_a_page_at_a_time(evaluation: Evaluation, monkeypatch):
    make_results(make_evaluation(planner=evaluation.submission.planner, suite=evaluation.suite), upto=30)
    other = Evaluation.objects.exclude(pk=evaluation.pk).get()
    path = f"/evaluations/{other.pk}/results.parquet"
    whole = downloaded(path)
    monkeypatch.setattr("leaderboard.pages.sharing.files._PAGE", 7)
    monkeypatch.setattr(parquet, "_ROWS", 4)
    assert read(downloaded(path), "parquet") == read(whole, "parquet")


@pytest.mark.django_db(transaction=True)
def test_an_asgi_server_sends_it_piece_by_piece(evaluation: Evaluation, monkeypatch):
    make_results(make_evaluation(planner=evaluation.submission.planner, suite=evaluation.suite), upto=30)
    other = Evaluation.objects.exclude(pk=evaluation.pk).get()
    monkeypatch.setattr("leaderboard.pages.sharing.files._PAGE", 7)
    monkeypatch.setattr(parquet, "_ROWS", 4)
    monkeypatch.setattr("leaderboard.site.http.streaming._PIECE", 1)

    async def received() -> list[bytes]:
        response = await AsyncClient().get(f"/evaluations/{other.pk}/results.parquet")
        assert response.is_async
        return [piece async for piece in response.streaming_content]

    pieces = async_to_sync(received)()
    assert len(pieces) > 5
    assert len(read(b"".join(pieces), "parquet")) == TaskResult.objects.filter(evaluation=other).count() == 30
