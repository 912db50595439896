"""Records of the real experts and scorers, byte for byte: cold, warm, and on one thread and two."""

from collections.abc import Iterator

import pytest

from evaluator.core.records import without_timings
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.execution.engine.opening import open_store
from evaluator.planners.bundled import bundled_planner
from tests.rings import usual

SAMPLES = 2
ONE_OF_EACH = ("0", "7", "14", "45", "60", "61", "105", "107", "109", "117", "177", "184")
"""Of OpenAGI's requests: every metric, and every tool in some gold plan."""
OF_EACH_METRIC = ("0", "60", "117")


@pytest.fixture
def threads() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def records(*, slug, tasks, folder, threads):
    import torch

    torch.set_num_threads(threads)
    suite = suite_of(slug)
    setting = Setting(
        split="public",
        profile="lilliput",
        samples=SAMPLES,
        open_store=lambda: open_store(where=str(folder), data=folder),
    )
    evaluator = episode_of(slug).evaluator(suite=suite, setting=setting)
    made = evaluator.run(planner=bundled_planner(name="gold", suite=suite), tasks=tasks)
    return {record.task: without_timings(record).model_dump_json() for record in made}, evaluator.facts()


def differing(first, other):
    return [task for task in first if first[task] != other[task]]


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("slug", usual(["openagi", "openagi-season"], of=["openagi"]))
def test_cold_and_warm_records_are_equal_byte_for_byte_on_any_number_of_threads(slug, tmp_path, *, full):
    # Not a divisor of the blocks of 100 in which compositions repeat: all of a part could need no tool.
    season = [task.key for task in suite_of(slug).tasks][:300:47]
    tasks = season if slug == "openagi-season" else ONE_OF_EACH if full else OF_EACH_METRIC
    cold, facts = records(slug=slug, tasks=tasks, folder=tmp_path / "one", threads=1)
    assert facts["expert_calls"], "the store was empty"
    warm, facts = records(slug=slug, tasks=tasks, folder=tmp_path / "one", threads=2)
    assert not facts["expert_calls"], "everything was in the store"
    assert differing(cold, warm) == []
    on_two, _ = records(slug=slug, tasks=list(reversed(tasks)), folder=tmp_path / "two", threads=2)
    assert differing(cold, on_two) == []
    assert all('"outcome":"scored"' in record for record in cold.values())
