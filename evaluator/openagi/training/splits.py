"""Training and test tasks (OpenAGI, section 6.3).

10 % of the tasks of each modality are for training and another 10 % for the test, which is drawn several times and
never overlaps with the training tasks. A modality is the types of a task's inputs and of its answer. Shares are
rounded, but every modality with two tasks is included. The paper's own draws were not released.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.core.suites.base import Suite, Task

SHARE = 0.1
_TRAIN, _TEST, _HALVES = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Split:
    """Keys of tasks, in the suite's order."""

    train: tuple[str, ...]
    tests: tuple[tuple[str, ...], ...]
    """One set per draw."""

    @property
    def held_out(self) -> frozenset[str]:
        """The union of all test draws."""
        return frozenset(key for test in self.tests for key in test)


def modality(task: Task) -> tuple[tuple[str, ...], str]:
    """Types of a task's resources, in order, and of its answer."""
    return tuple(str(kind) for kind in task.resources.values()), str(task.expects)


def draw_split(*, suite: Suite, seed: int, draws: int = 5, share: float = SHARE) -> Split:
    """The split of a seed. The training tasks do not depend on the number of draws.

    Raises:
        ValueError: a modality has too few tasks for training and test.
    """
    if not 0 < share <= 0.5:
        raise ValueError(f"a share for training and another for the test: between 0 and 0.5, not {share}")
    groups = _groups(suite)
    rng = np.random.default_rng([seed, _TRAIN])
    train = {key for keys in groups for key in _drawn(keys=keys, count=_count(keys, share), rng=rng)}
    left = [([key for key in keys if key not in train], _count(keys, share)) for keys in groups]
    tests = []
    for draw in range(draws):
        rng = np.random.default_rng([seed, _TEST, draw])
        tests.append({key for keys, count in left for key in _drawn(keys=keys, count=count, rng=rng)})
    return Split(train=_in_order(suite, train), tests=tuple(_in_order(suite, test) for test in tests))


def draw_halves(suite: Suite) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Two fixed halves of every modality: tasks to train on, and held-out tasks for all seeds.

    So every seed is tested on the same tasks, none of which were used for training or tuning.

    Raises:
        ValueError: a modality has too few tasks for both.
    """
    rng = np.random.default_rng([_HALVES])
    first = {key for keys in _groups(suite) for key in _drawn(keys=keys, count=(len(keys) + 1) // 2, rng=rng)}
    return _in_order(suite, first), _in_order(suite, {task.key for task in suite.tasks} - first)


def draw_training(*, suite: Suite, seed: int, share: float = SHARE, half: int = 0) -> tuple[str, ...]:
    """Training tasks of a seed: as many of each modality as in `draw_split`, from one of `draw_halves`.

    Args:
        suite: the suite.
        seed: seed of the draw.
        share: share of the tasks of each modality.
        half: 0 or 1, the half to draw from; the other one is held out.

    Raises:
        ValueError: a modality has too few tasks.
    """
    drawn_from = set(draw_halves(suite)[half])
    rng = np.random.default_rng([seed, _TRAIN])
    train = {
        key
        for keys in _groups(suite)
        for key in _drawn(keys=[key for key in keys if key in drawn_from], count=_count(keys, share), rng=rng)
    }
    return _in_order(suite, train)


def few(tasks: Sequence[str], *, count: int) -> tuple[str, ...]:
    """A number of evenly spaced tasks, so that every modality with several tasks keeps some.

    Raises:
        ValueError: there are fewer tasks.
    """
    if not 1 <= count <= len(tasks):
        raise ValueError(f"there are {len(tasks)} training tasks: between 1 and all of them, not {count}")
    return tuple(tasks[index * len(tasks) // count] for index in range(count))


def _groups(suite: Suite) -> list[list[str]]:
    groups = defaultdict(list)
    for task in suite.tasks:
        groups[modality(task)].append(task.key)
    alone = [kind for kind, keys in groups.items() if len(keys) < 2]
    if alone:
        raise ValueError(f"{suite.slug} has a single task of {alone[0]}: too few for training and test")
    return list(groups.values())


def _count(keys: list[str], share: float) -> int:
    return min(max(1, round(share * len(keys))), len(keys) // 2)


def _drawn(*, keys: list[str], count: int, rng: np.random.Generator) -> list[str]:
    return [keys[int(index)] for index in rng.permutation(len(keys))[:count]]


def _in_order(suite: Suite, keys: set[str]) -> tuple[str, ...]:
    return tuple(task.key for task in suite.tasks if task.key in keys)
