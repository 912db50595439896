"""Samples of drawn tasks, and gold programs run on them."""

from collections.abc import Sequence

from evaluator.arc.candidates import ArcCandidate, Track, Work, run_all
from evaluator.arc.helpers.catalogue import library
from evaluator.arc.mini.draws import Drawn, Source, draw_tasks
from evaluator.miniature.seeds import Split
from evaluator.sandbox.programs.runner import Runner

SEED = "a secret"
FEW = 3
"""Tasks of each family where these stand for the others. Drawn tasks are kept: tests that draw as many share them."""
SOURCES = {
    "public": Source(split=Split.PUBLIC),
    "validation": Source(split=Split.VALIDATION),
    "hidden": Source(split=Split.HIDDEN, hidden_seed=SEED),
    "train": Source(split=Split.TRAIN),
}


def drawn(split: str, *, count: int = 10) -> tuple[Drawn, ...]:
    """Tasks of each family."""
    return draw_tasks(SOURCES[split], count=count)


def unsolved(tasks: Sequence[Drawn], candidates: Sequence[ArcCandidate]) -> list[str]:
    """Keys of the tasks of which a candidate, run in its confined process, does not give every output."""
    works = [
        Work(
            candidate=candidate, demonstrations=[pair.input for pair in task.demonstrations],
            tests=[pair.input for pair in task.tests],
        )
        for task, candidate in zip(tasks, candidates, strict=True)
    ]  # fmt: skip
    with Runner(library=[library()]) as runner:
        made = run_all(works, runner=runner)
    return [
        task.key
        for task, outputs in zip(tasks, made, strict=True)
        if (*outputs.demonstrations, *outputs.tests) != tuple(pair.output for pair in task.pairs)
    ]


def program(source: str) -> ArcCandidate:
    """A program as a candidate."""
    return ArcCandidate(Track.PROGRAM, source)
