"""What the demo evaluates once its first boards are published, so that every suite's board has something on it."""

from collections.abc import Sequence

from rich.console import Console

from evaluator.planners.bundled import BUNDLED, each_once
from leaderboard.catalog.library import NotReadyError
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.states import FINAL
from leaderboard.submissions.anchors import anchors_of, submit_anchors

STRATEGIES = 2
"""Of each suite, beside its anchors."""


def strategies_of(suite: str) -> list[str]:
    """The strategies that the demo evaluates on the suite with this slug; none where all planners are anchors."""
    return [name for name in anchors_of(suite) if name not in BUNDLED][-STRATEGIES:]


def fill_boards(console: Console) -> None:
    """Submit the anchors and a few strategies on every suite: first where nothing is executed, then by growing size.

    What has an evaluation already stays as it is. Suites that this machine cannot evaluate are named and left out.
    """
    submitted: list[Evaluation] = []
    suites = Suite.objects.filter(current=True)
    for suite in sorted(suites, key=lambda suite: (suite.runs_experts, suite.tasks.count())):
        try:
            submitted += _submitted(suite.slug)
        except NotReadyError as error:
            console.print(f"{suite.title} is left out: {error}", style="yellow", markup=False)
    waiting = [one for one in submitted if one.state not in FINAL]
    if waiting:
        console.print(
            f"{len(waiting)} further evaluations fill the boards of all suites in the background; --planner leaves "
            "them out.",
            markup=False,
        )


def _submitted(suite: str) -> Sequence[Evaluation]:
    return submit_anchors(suite=suite, names=[*each_once(suite), *strategies_of(suite)])
