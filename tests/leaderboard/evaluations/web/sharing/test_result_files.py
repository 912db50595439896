"""The results of an evaluation as CSV, JSON and Parquet, from the page and from the API."""

import json
import tracemalloc
from datetime import UTC, datetime

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client

from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.web.sharing.files import FILES, Results, results_of
from leaderboard.platform.http import downloads
from tests.leaderboard.evaluations.results.files import read_rows, read_table
from tests.leaderboard.evaluations.web.factories import (
    make_evaluation,
    make_planner,
    make_result,
    make_results,
    make_suite,
    make_user,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]

ENDED = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
ENDINGS = ("csv", "json", "parquet")


@pytest.fixture
def evaluation() -> Evaluation:
    """One result, of a planner that does not answer with gold plans."""
    planner = make_planner(owner=make_user(), bundled_name="random-valid")
    made = make_evaluation(planner=planner, suite=make_suite(), finished=ENDED)
    make_result(evaluation=made, task=Task.objects.get(key="0"), samples=0)
    made.results.update(causes=[{"cause": "wrong_tool", "step": "s1", "tool": "Colorization"}])
    return made


def downloaded(path: str, *, client: Client | None = None, status: int = 200) -> bytes:
    response = (client or Client()).get(path)
    assert response.status_code == status, path
    return response.getvalue()


def test_what_is_not_public_is_for_its_owner(evaluation: Evaluation):
    owner = Client()
    owner.force_login(evaluation.submission.submitted_by)
    for state, until in (("private", None), ("embargo", datetime(2999, 1, 1, tzinfo=UTC))):
        type(evaluation.submission).objects.update(visibility=state, embargo_until=until)
        for address in ("/evaluations/{}/results.{}", "/api/v1/evaluations/{}/results/?format={}"):
            for ending in ENDINGS:
                path = address.format(evaluation.pk, ending)
                downloaded(path, status=404)
                downloaded(path, client=owner)


def test_of_a_planner_that_answers_with_gold_plans_neither_plan_nor_record_is_told(evaluation: Evaluation, settings):
    settings.SPLIT = "hidden"
    type(evaluation.submission.planner).objects.update(bundled_name="gold")
    (row,) = read_rows(downloaded(f"/evaluations/{evaluation.pk}/results.parquet"), "parquet")
    assert row["plan_summary"] == row["record_digest"] == ""


class TestParquet:
    def test_columns_have_types_and_the_schema_says_what_was_measured(self, evaluation: Evaluation):
        evaluation.results.update(
            indicators={"valid": 1.0}, episodes={"ends": [{"stop": "finished", "turns": 3, "score": None}]}
        )
        import pyarrow as pa

        table = read_table(downloaded(f"/evaluations/{evaluation.pk}/results.parquet"))
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
        facts = json.loads(table.schema.metadata[downloads.PARQUET_METADATA])
        assert facts["format"] == "planarena-results/1"
        assert facts["address"] == f"http://testserver/evaluations/{evaluation.pk}/"
        assert (facts["suite"]["version"], facts["conditions"]["split"]) == (evaluation.suite.version, "public")
        assert (facts["planner"]["name"], facts["provenance"]) == ("gold", evaluation.provenance)

    def test_it_has_what_the_csv_has(self, evaluation: Evaluation):
        make_results(make_evaluation(planner=evaluation.submission.planner, suite=evaluation.suite), upto=30)
        other = Evaluation.objects.exclude(pk=evaluation.pk).get()
        lines = read_rows(downloaded(f"/evaluations/{other.pk}/results.csv"), "csv")
        rows = read_rows(downloaded(f"/evaluations/{other.pk}/results.parquet"), "parquet")
        assert len(rows) == len(lines) == 30
        assert lines[0].keys() - rows[0].keys() == set()
        for line, row in zip(lines, rows, strict=True):
            assert (line["task"], line["outcome"], line["record_digest"]) == (
                row["task"], row["outcome"], row["record_digest"],
            )  # fmt: skip
            assert line["score"] == ("" if row["score"] is None else str(row["score"]))

    @pytest.mark.full
    def test_memory_holds_one_group_of_rows(self, evaluation: Evaluation):
        """A hundred thousand rows of 1 kB."""
        import pyarrow as pa

        reader = evaluation.submission.submitted_by
        found = results_of(evaluation=evaluation, reader=reader, address="a")
        row = next(found.rows)
        # What the first file loads is not measured.
        assert b"".join(FILES["parquet"].write(Results(evaluation, "a", iter([row]), ())))
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


def test_the_header_accept_asks_the_api_for_a_file_too(evaluation: Evaluation):
    path = f"/api/v1/evaluations/{evaluation.pk}/results/"
    response = Client().get(path, headers={"Accept": downloads.PARQUET})
    assert response["Content-Type"] == downloads.PARQUET
    name = f"planarena-openagi-{str(evaluation.pk)[:8]}.parquet"
    assert response["Content-Disposition"] == f'attachment; filename="{name}"'
    assert "no-store" in response["Cache-Control"]
    assert len(read_rows(response.getvalue(), "parquet")) == 1


@pytest.mark.django_db(transaction=True)
def test_rows_are_read_a_page_at_a_time_and_an_asgi_server_sends_them_piece_by_piece(evaluation, monkeypatch):
    make_results(make_evaluation(planner=evaluation.submission.planner, suite=evaluation.suite), upto=30)
    other = Evaluation.objects.exclude(pk=evaluation.pk).get()
    whole = downloaded(f"/evaluations/{other.pk}/results.parquet")
    monkeypatch.setattr("leaderboard.evaluations.web.sharing.files._PAGE", 7)
    monkeypatch.setattr(downloads, "_ROWS", 4)
    monkeypatch.setattr("leaderboard.platform.http.downloads._PIECE", 1)

    async def received() -> list[bytes]:
        response = await AsyncClient().get(f"/evaluations/{other.pk}/results.parquet")
        assert response.is_async
        return [piece async for piece in response.streaming_content]

    pieces = async_to_sync(received)()
    assert len(pieces) > 5
    rows = read_rows(b"".join(pieces), "parquet")
    assert rows == read_rows(whole, "parquet")
    assert len(rows) == 30
