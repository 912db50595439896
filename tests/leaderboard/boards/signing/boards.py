"""Boards with evaluations whose figures follow from their results, and a reader of the site without a network."""

from typing import Any

from django.test import Client

from evaluator.client.verify.checking import Order, check
from evaluator.client.verify.fetching import FetchError, MissingError
from evaluator.client.verify.pins import KnownSite
from evaluator.client.verify.report import Kind, Report
from evaluator.client.verify.site import Site, board_address
from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import publish
from leaderboard.catalog.library import Library
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.results.results import usage_of
from leaderboard.evaluations.results.task_scores import task_score
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_planner, make_results, make_user

TASKS = 28
"""So many of OpenAGI's first tasks have results; some of them were run and have records."""


class Reader:
    """A `Fetcher` that asks the site in this process, as somebody who is not signed in."""

    def __init__(self) -> None:
        self._client = Client()

    def get(self, path: str, *, most_bytes: int) -> bytes:
        response = self._client.get(path)
        if response.status_code == 404:
            raise MissingError("the site answers 404")
        if response.status_code != 200:
            raise FetchError(f"the site answers {response.status_code}")
        return response.content


def evaluated(*, suite: Suite, owner: str, tasks: int = TASKS, **fields: Any) -> Evaluation:
    """A completed evaluation with results, records and artefacts, not published yet."""
    planner = make_planner(owner=make_user(owner), name=f"planner of {owner}", bundled_name="random-valid")
    evaluation = make_evaluation(planner=planner, suite=suite, **fields)
    make_results(evaluation, samples=1, faults=False, upto=tasks)
    summarise_again(evaluation)
    evaluation.refresh_from_db()
    return evaluation


def summarise_again(evaluation: Evaluation) -> None:
    """Let its figures follow from its results."""
    results = list(evaluation.results.select_related("task").order_by("task__position"))
    scores = list(map(task_score, results))
    summary = Library().summarise(suite=evaluation.suite.slug, results=scores, samples=evaluation.samples)
    Evaluation.runs.filter(pk=evaluation.pk).update(
        summary={**summary, "usage": usage_of(results)},
        tasks_total=len(results),
        tasks_not_run=sum(result.outcome == "not_run" for result in results),
    )


def published(*, suite: Suite, owner: str, **fields: Any) -> Snapshot:
    """The snapshot that holds such an evaluation."""
    made = publish(evaluated(suite=suite, owner=owner, **fields))
    assert made is not None
    return made


def verified(path: str = "/boards/openagi/", *, known: KnownSite | None = None, sample: int = 1000) -> Report:
    """What `planarena verify` says of an address."""
    report = Report(address=f"https://testserver{path}")
    order = Order(address=board_address(report.address), sample=sample, seed=1)
    check(order=order, site=Site(Reader()), known=known or KnownSite(), report=report)
    return report


def mismatches(report: Report) -> list[str]:
    return [f"{finding.part}: {finding.text}" for finding in report.of(Kind.MISMATCH)]
