"""What tasks count by planner: kept when a board is published, as a page of cells, and as data."""

import csv
import io
import re
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.utils import timezone

from leaderboard.boards import matrix as matrices
from leaderboard.boards.contents import content_of
from leaderboard.boards.matrix import CLUSTERED, TaskMatrix, bands_of, matrix_of
from leaderboard.boards.models import Snapshot, TaskValues
from leaderboard.boards.services import latest_snapshot, publish
from leaderboard.boards.web import heat_views
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, TaskResult
from tests.leaderboard.evaluations.web.factories import (
    make_board,
    make_evaluation,
    make_planner,
    make_results,
    make_suite,
)
from tests.leaderboard.evaluations.web.factories import make_user as make_person
from tests.leaderboard.factories import closed_season
from tests.leaderboard.platform.api.helpers import ApiClient
from tests.memory import forget_everything

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]
PAGE, FILE, API = "/boards/openagi/tasks/", "/boards/openagi/tasks.csv", "boards/openagi/tasks/"


def add(name: str, **changes: Any) -> Evaluation:
    """A published evaluation with results of a planner of somebody's own."""
    planner = make_planner(owner=make_person(name), name=f"planner of {name}", bundled_name="controlllm/beam")
    made = make_evaluation(planner=planner, suite=make_suite(), **changes)
    make_results(made, faults=name == "bea")
    publish(made)
    return made


def matrix_now(evaluation: Evaluation) -> TaskMatrix:
    forget_everything()
    suite = Suite.objects.get(pk=evaluation.suite_id)
    snapshot = latest_snapshot(suite=suite)
    assert snapshot is not None
    return matrix_of(suite=suite, snapshot=snapshot, rows=content_of(snapshot).rows)


def lines(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_kept_values_are_those_of_the_results_and_read_instead_of_them():
    made = [add("ada"), add("bea")]
    kept = matrix_now(made[0])
    assert np.isfinite(kept.values).any()
    rows = list(TaskValues.objects.all())
    assert len(rows) == 2
    TaskValues.objects.all().delete()
    np.testing.assert_array_equal(matrix_now(made[0]).values, kept.values)
    TaskValues.objects.bulk_create(rows)
    TaskResult.objects.all().delete()
    np.testing.assert_array_equal(matrix_now(made[0]).values, kept.values)


def test_values_of_a_column_that_an_upgrade_defines_otherwise_are_not_used():
    made = add("ada")
    before = matrix_now(made)
    made.suite.metrics = [{**metric, "fault": None} for metric in made.suite.metrics]
    made.suite.save()
    TaskResult.objects.all().delete()
    assert np.isnan(matrix_now(made).values).all()
    assert np.isfinite(before.values).any()


def test_a_snapshot_keeps_the_order_of_its_tasks(monkeypatch):
    made = [add("ada"), add("bea")]
    kept = matrix_now(made[0])
    assert sorted(kept.order) == list(range(185))
    assert bands_of(kept, order=CLUSTERED) == bands_of(kept._replace(order=()), order=CLUSTERED)
    Snapshot.objects.update(task_order=None)
    older = matrix_now(made[0])
    assert (older.order, bands_of(older, order=CLUSTERED)) == ((), bands_of(kept, order=CLUSTERED))
    monkeypatch.setattr(matrices, "similar_order", None)
    assert bands_of(kept, order=CLUSTERED)


def test_a_board_that_lost_its_last_row_is_published_too():
    made = add("ada")
    Evaluation.objects.filter(pk=made.pk).update(hidden_at=timezone.now(), hidden_reason="A test.")
    publish(made)
    empty = matrix_now(made)
    assert (len(empty.tasks), empty.planners, empty.ranked) == (185, (), 0)
    assert bands_of(empty, order=CLUSTERED)[0].tasks == tuple(range(185))


@pytest.fixture
def one_each(monkeypatch) -> None:
    """Pages of one planner."""
    for module in (matrices, heat_views):
        monkeypatch.setattr(module, "MOST_PLANNERS", 1)
    monkeypatch.setitem(matrix_of.__kwdefaults__, "size", 1)
    monkeypatch.setattr("leaderboard.boards.web.api.MOST_PLANNERS", 1)


@pytest.mark.usefixtures("one_each")
def test_planners_beyond_the_first_page_have_a_page_also_in_the_api(client: Client):
    add("ada"), add("bea")
    forget_everything()
    first = client.get(PAGE).content.decode()
    assert "planner of ada" in first
    assert "planner of bea" not in first
    assert 'href="?planner_page=2"' in first
    second = client.get(PAGE, {"planner_page": "2"}).content.decode()
    assert "planner of bea" in second
    assert "planner of ada" not in second
    assert "?planner_page=2&amp;page=2#table" in second
    assert lines(client.get(FILE, {"planner_page": "2"}).content.decode())[0][2:] == ["planner of bea by bea"]
    assert client.get(PAGE, {"planner_page": "999"}).content.count(b"planner of bea") > 0
    for wrong in ("-1", "x", "1e9"):
        assert b"planner of ada" in client.get(PAGE, {"planner_page": wrong}).content
    one, last = ApiClient().get(API).json(), ApiClient().get(API, page="2").json()
    names = [planner["planner"] for found in (one, last) for planner in found["planners"]]
    assert names == ["planner of ada", "planner of bea"]
    assert (one["ranked"], one["previous"], last["next"]) == (2, None, None)
    assert one["next"].endswith("/boards/openagi/tasks/?page=2")
    assert last["previous"].endswith("/boards/openagi/tasks/?page=1")
    assert [ApiClient().get(API, page=wrong).status_code for wrong in ("3", "0")] == [404, 400]


def test_page_file_and_api_have_the_same_values(client: Client):
    add("ada"), add("bea")
    found = ApiClient().get(API).json()
    by_key = {task["key"]: task for task in found["tasks"]}
    assert (by_key["3"]["values"], by_key["3"]["solved"]) == ([0.85, 0.0], "some")
    head, *rows = lines(client.get(FILE).content.decode())
    assert head == ["task", "solved", "planner of ada by ada", "planner of bea by bea"]
    assert [[float(cell) if cell else None for cell in row[2:]] for row in rows] == [
        task["values"] for task in found["tasks"]
    ]
    assert 'title="3, planner of ada: 0.850"' in client.get(PAGE, {"order": "suite"}).content.decode()


def links(html: str) -> list[str]:
    return re.findall(r'<td class="[-\w]+"><a href="([^"]+)"', html)


def test_every_cell_of_every_page_leads_to_its_result(client: Client):
    board = [add("ada"), add("bea")]
    found = [link for page in (1, 2) for link in links(client.get(PAGE, {"page": page}).content.decode())]
    assert len(found) == len(set(found)) == 185 * 2
    for evaluation in board:
        assert client.get(next(link for link in found if str(evaluation.pk) in link)).status_code == 200


def test_cells_show_what_a_task_counts_and_a_fault_counts_as_the_worst(client: Client):
    add("ada"), add("bea")
    html = client.get(PAGE, {"order": "suite"}).content.decode()
    assert re.search(r'title="3, planner of ada: 0\.850">\.85<', html)
    assert re.search(r'class="heat-0"><a href="[^"]+" title="3, planner of bea: 0\.000">0<', html)
    assert 'title="0, planner of ada: no score"' not in html


def test_the_address_says_the_order(client: Client):
    add("ada"), add("bea")

    def keys(**query: str) -> list[str]:
        return re.findall(r'class="task-key"\s+href="[^"]+">(\d+)<', client.get(PAGE, query).content.decode())

    assert keys(order="suite") == [str(number) for number in range(100)]
    assert keys(order="hardest")[0] == "3"
    assert keys(order="nonsense") == keys()


def test_an_empty_board_has_a_page_and_neither_file_nor_numbers(client: Client):
    make_suite()
    assert b"This board is empty" in client.get(PAGE).content
    assert client.get(FILE).status_code == 404
    assert ApiClient().get(API).status_code == 404
    make_board()
    assert "No score: 185" in client.get(PAGE).content.decode()


def test_requests_of_a_hidden_split_are_in_none_of_them(client: Client, settings):
    add("ada")
    assert b"Given low-resolutioned" in client.get(PAGE, {"order": "suite"}).content
    assert any("Given low-resolutioned" in task["text"] for task in ApiClient().get(API).json()["tasks"])
    settings.SPLIT = "hidden"
    add("eve", split="hidden", season=closed_season())
    answer = ApiClient().get(API)
    assert [one["owner"] for one in answer.json()["planners"]] == ["eve"]
    assert {task["text"] for task in answer.json()["tasks"]} == {""}
    for address in (FILE, f"{PAGE}?order=suite"):
        assert b"Given low-resolutioned" not in client.get(address).content


def test_names_that_a_spreadsheet_would_take_for_formulas_are_texts(client: Client):
    planner = make_planner(owner=make_person("eve"), name="=1+1", bundled_name="controlllm/beam")
    made = make_evaluation(planner=planner, suite=make_suite())
    make_results(made)
    publish(made)
    assert lines(client.get(FILE).content.decode())[0][2] == "'=1+1 by eve"
