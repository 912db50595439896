"""Further runs in one process, after an evaluation of all tasks."""

from collections.abc import Callable, Mapping, Sequence
from random import SystemRandom

from evaluator.core.planner import Planner, reseeded
from evaluator.core.records import ResultRecord
from evaluator.episodes.base import Evaluator
from evaluator.planners.named import offline_planners, samples_replies
from evaluator.reliability.further_runs import Claim, check_size, differing_tasks, drawn, is_comparable, sample_size

Run = Mapping[str, ResultRecord]
"""Records of one run by task."""


def known_claim(planner: str) -> Claim:
    """What is known about a planner by its name: one that comes with PlanArena is deterministic unless it samples."""
    return Claim.KNOWN if planner in offline_planners() and not samples_replies(planner) else Claim.NONE


def further_runs(
    *,
    evaluator: Evaluator,
    planner: Planner,
    claim: Claim,
    first: Run,
    runs: int,
    share: float,
    say: Callable[[str], None] = lambda _: None,
) -> list[Run]:
    """Ask a planner again for randomly drawn tasks.

    Args:
        evaluator: of the first run.
        planner: of the first run; seeds differ in each run.
        claim: about the planner: a deterministic one is asked once more for a few tasks, and like any other only if an
            answer differs.
        first: the first run of all tasks.
        runs: of the drawn tasks, with the first one.
        share: of the tasks to draw.
        say: receives a message at the start of each run.
    """
    tasks = [task for task, record in first.items() if is_comparable(record)]
    done: list[Run] = []

    def ask(sample: Sequence[str]) -> None:
        number = len(done) + 2
        say(f"run {number}: {len(sample)} tasks")
        records = evaluator.run(planner=reseeded(planner, run=number - 1), tasks=sample)
        done.append({record.task: record for record in records})

    if claim is Claim.FIXED or runs < 2 or not tasks:
        return done
    rng = SystemRandom()
    if claim is not Claim.NONE:
        ask(drawn(tasks, size=check_size(len(tasks)), rng=rng))
        if not differing_tasks([first, *done])[1]:
            return done
    sample = drawn(tasks, size=sample_size(len(tasks), share=share), rng=rng)
    for _ in range(runs - 1):
        ask(sample)
    return done
