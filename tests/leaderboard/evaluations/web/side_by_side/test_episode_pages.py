"""The page of one task across planners that act in turns, or answer with grids: what it shows, and to whom."""

import re
from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from evaluator.core.transcripts import ActionRun, StopReason, Transcript, TurnRun
from evaluator.core.values import Artefact, MediaType
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.objects import server_store
from tests.leaderboard import grids
from tests.leaderboard.evaluations.web.factories import (
    make_evaluation,
    make_planner,
    make_record,
    make_suite,
    make_user,
)
from tests.leaderboard.factories import closed_season
from tests.leaderboard.planning import REAL
from tests.routes import MOST_QUERIES

pytestmark = pytest.mark.django_db
KEY = "25"


def episode(*actions: str, sample: int = 0, answer: str = "7") -> Transcript:
    """One action a turn, each with a result of its own."""
    turns = [
        TurnRun(received=["{}"], actions=[ActionRun(tool="Sum", arguments=text, outputs={"R1": f"result of {text}"})])
        for text in actions
    ]
    return Transcript(
        sample=sample, formulation="iterative", turns=turns, stop=StopReason.ANSWERED, answer=answer,
        expected="the right answer", score=0.25 * sample,
    )  # fmt: skip


def make_episodes(*transcripts: Transcript, name: str, split: str = "public") -> Evaluation:
    """An evaluation with a result that has these episodes and no samples."""
    suite = make_suite()
    task = Task.objects.get(suite=suite, key=KEY)
    planner = make_planner(owner=make_user(name), name=f"planner of {name}", bundled_name="random-valid")
    season = closed_season() if split == "hidden" else None
    found = make_evaluation(planner=planner, suite=suite, split=split, season=season)
    record = make_record(task=task, samples=0).model_copy(update={"transcripts": list(transcripts)})
    artefact = Artefact(data=record.model_dump_json().encode(), media_type=MediaType.TEXT)
    digest = server_store(split=split).put(artefact)
    TaskResult.objects.create(evaluation=found, task=task, outcome="scored", score=0.5, record_digest=digest)
    return found


def across(*evaluations: Evaluation, key: str = KEY, **query: str) -> str:
    suite = evaluations[0].suite.slug
    ids = "&".join([f"e={one.pk}" for one in evaluations] + [f"{name}={value}" for name, value in query.items()])
    return f"{reverse('evaluations:task-across', args=[suite, key])}?{ids}"


def alone(evaluation: Evaluation, *, key: str = KEY) -> str:
    return reverse("evaluations:task", args=[evaluation.pk, key])


def read(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def sites_and_readers() -> Iterator[tuple[str, str, bool, Client]]:
    """The site's split, an evaluation's split, whether an operator reads, and the reader's browser."""
    for is_operator in (False, True):
        client = Client()
        client.force_login(make_user(f"reader {is_operator}", is_staff=is_operator))
        for site, split in (("public", "public"), ("hidden", "public"), ("hidden", "hidden")):
            yield site, split, is_operator, client


@pytest.mark.usefixtures("own_store")
class TestTurns:
    def test_actions_and_observations_are_beside_each_other(self, client: Client):
        mark = "<script>alert(1)</script>"
        pair = [make_episodes(episode("1", two), name=name) for name, two in (("ada", "2"), ("bea", mark))]
        html = read(client, across(*pair))
        assert mark not in html
        assert "The actions first differ in turn 2." in html
        rows = re.findall(r'<tr( class="differs")?><th scope="row">Turn (\d)', html)
        assert rows == [("", "1"), (' class="differs"', "2")]
        for told in ("Sum(2)", "result of 2", "Sum(&lt;script&gt;", "not right", "the right answer"):
            assert told in html
        assert html.count("the right answer") == 1
        assert "Step by step" not in html
        assert "Scores by sample" not in html

    def test_the_episode_of_the_sample_that_is_asked_for_is_shown(self, client: Client):
        pair = [
            make_episodes(*(episode(f"{name} {sample}", sample=sample) for sample in range(3)), name=name)
            for name in ("ada", "bea")
        ]
        html = read(client, across(*pair, sample="3"))
        assert "Turn by turn, sample 3" in html
        assert "Scores by sample" in html
        assert "Sum(ada 2)" in html
        assert "Sum(ada 1)" not in html

    def test_nobody_sees_more_of_an_episode_than_on_the_page_of_its_task(self, settings):
        pairs = {
            split: [make_episodes(episode("1"), name=f"{name} {split}", split=split) for name in ("ada", "bea")]
            for split in ("public", "hidden")
        }
        for site, split, is_operator, client in sites_and_readers():
            settings.SPLIT = site
            both, one = read(client, across(*pairs[split])), read(client, alone(pairs[split][0]))
            is_open = is_operator or site == "public"
            for told in ("Sum(1)", "result of 1", "the right answer"):
                assert (told in both) is (told in one) is is_open, (site, split, is_operator, told)
            assert ("Turn by turn" in both) is is_open
            said = re.compile(r"used the hidden split|This site evaluates the hidden split")
            assert said.findall(both) == said.findall(one)


@pytest.fixture
def site(settings, tmp_path):
    settings.EVALUATOR, settings.STORE_DIR = REAL, tmp_path / "store"
    with grids.registered():
        yield


@pytest.mark.usefixtures("site")
class TestGrids:
    def test_candidates_are_drawn_beside_each_other_with_crosses_on_wrong_cells(
        self, client: Client, django_assert_max_num_queries
    ):
        pair = [grids.make_grids_evaluation(user=make_user(name)) for name in ("ada", "bea")]
        with django_assert_max_num_queries(MOST_QUERIES):
            html = read(client, across(*pair, key=grids.THIRD))
        crosses = "Crosses mark wrong cells"
        assert html.count(crosses) == 2 * read(client, alone(pair[0], key=grids.THIRD)).count(crosses) > 0
        assert html.count('aria-label="Test 1, right output') == 1
        assert html.count("solves the task") == 2
        assert 'aria-label="B, Candidate 3: program"' in html
        assert "Demonstrations and tests" in html
        assert "There is no plan to show" not in html
        tries = read(client, across(*pair, key=grids.EPISODE))
        assert 'aria-label="A, Try 2, turn 4: program"' in tries
        assert "style=" not in tries

    def test_nobody_sees_more_of_a_grid_than_on_the_page_of_its_task(self, settings):
        pairs = {
            split: [grids.make_grids_evaluation(user=make_user(f"{name} {split}"), split=split) for name in ("a", "b")]
            for split in ("public", "hidden")
        }
        words = ("Demonstrations and tests", "colour-grid", "Rows: h.g", "transform_grid", "horizontal_flip")
        for site, split, is_operator, client in sites_and_readers():
            settings.SPLIT = site
            for key in (grids.EPISODE, grids.THIRD, grids.GRIDS, grids.REFUSED):
                both, one = read(client, across(*pairs[split], key=key)), read(client, alone(pairs[split][0], key=key))
                differing = [told for told in words if (told in both) is not (told in one)]
                assert differing == [], (site, split, is_operator, key)
                if split == "hidden" and not is_operator:
                    assert "colour-grid" not in both
                    assert "The plan is not shown." in both
