"""The page of a board's tasks."""

import re

import pytest
from django.test import Client

from leaderboard.boards.services import publish
from leaderboard.evaluations.models import Evaluation
from tests.leaderboard.factories import closed_season
from tests.leaderboard.pages.factories import make_board, make_evaluation, make_planner, make_results, make_suite
from tests.leaderboard.pages.factories import make_user as make_person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]
TASKS = "/boards/openagi/tasks/"


@pytest.fixture
def board() -> list[Evaluation]:
    suite = make_suite()
    found = []
    for name in ("ada", "bea"):
        planner = make_planner(owner=make_person(name), name=f"planner of {name}", bundled_name="random-valid")
        found.append(make_evaluation(planner=planner, suite=suite))
        make_results(found[-1], faults=name == "bea")
        publish(found[-1])
    return found


def links(html: str) -> list[str]:
    return re.findall(r'<td class="[-\w]+"><a href="([^"]+)"', html)


def test_every_cell_of_every_page_leads_to_its_result(client: Client, board: list[Evaluation]):
    found = [link for page in (1, 2) for link in links(client.get(TASKS, {"page": page}).content.decode())]
    assert len(found) == len(set(found)) == 185 * 2
    for evaluation in board:
        assert client.get(next(link for link in found if str(evaluation.pk) in link)).status_code == 200


def test_cells_show_what_a_task_counts_and_a_fault_counts_as_the_worst(client: Client, board: list[Evaluation]):
    html = client.get(TASKS, {"order": "suite"}).content.decode()
    assert re.search(r'title="3, planner of ada: 0\.850">\.85<', html)
    assert re.search(r'class="heat-0"><a href="[^"]+" title="3, planner of bea: 0\.000">0<', html)
    assert 'title="0, planner of ada: no score"' not in html


def test_the_address_says_the_order(client: Client, board: list[Evaluation]):
    def keys(**query: str) -> list[str]:
        return re.findall(r'class="task-key"\s+href="[^"]+">(\d+)<', client.get(TASKS, query).content.decode())

    assert keys(order="suite") == [str(number) for number in range(100)]
    assert keys(order="hardest")[0] == "3"
    assert keys(order="nonsense") == keys()


def test_a_board_without_results_and_an_empty_board_are_pages_too(client: Client):
    make_suite()
    assert b"This board is empty" in client.get(TASKS).content
    make_board()
    assert "No score: 185" in client.get(TASKS).content.decode()


def test_requests_of_a_hidden_split_are_not_shown(client: Client, settings, board: list[Evaluation]):
    assert "Given low-resolutioned" in client.get(TASKS, {"order": "suite"}).content.decode()
    settings.SPLIT = "hidden"
    suite = board[0].suite
    publish(make_evaluation(planner=board[0].submission.planner, suite=suite, split="hidden", season=closed_season()))
    html = client.get(TASKS, {"order": "suite"}).content.decode()
    assert re.search(r'class="task-key"\s+href="[^"]+">0<', html)
    assert "Given low-resolutioned" not in html
