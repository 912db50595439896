"""Proof: however little memory there is, and in whatever order tasks run, results have equal bytes."""

from evaluator.core.records import without_timings
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.episodes.execution import ExecutionEvaluator
from evaluator.execution.engine.pool import ExpertPool
from evaluator.execution.engine.store import MemoryStore
from evaluator.planners.bundled import bundled_planner
from tests.evaluator.execution.engine.test_equal_records import OF_EACH_METRIC, ONE_OF_EACH
from tests.fakes.device_memory import Card

WORKING = 4_000_000
"""Bytes of a batch."""


def run(*, card, tasks):
    """Records by task, and the pool."""
    suite, store = suite_of("openagi"), MemoryStore()
    setting = Setting(split="public", profile="lilliput", samples=2, open_store=lambda: store)
    prepared = episode_of("openagi").prepared(suite=suite, setting=setting)
    pool = ExpertPool(profile=prepared.profile, load=card.load, memory=card)
    evaluator = ExecutionEvaluator(
        suite=suite, profile=prepared.profile, samples=prepared.samples, count=2, store=store, experts=pool
    )
    made = evaluator.run(planner=bundled_planner(name="gold", suite=suite), tasks=tasks)
    return {record.task: without_timings(record).model_dump_json() for record in made}, pool


def test_openagi_has_equal_bytes_under_three_caps_and_in_any_order(full, one_thread):
    tasks = ONE_OF_EACH if full else OF_EACH_METRIC
    wide = Card(10**10, working=WORKING)
    wanted, pool = run(card=wide, tasks=tasks)
    assert all('"outcome":"scored"' in record for record in wanted.values())
    assert (wide.refused, set(pool.loads.values())) == (0, {1}), "everything stays loaded"
    most = max(size for size in pool._sizes.values())
    caps = ((most + WORKING, tasks[::-1]), (most + WORKING, tasks), (wide.peak * 2 // 3, tasks))
    # The least memory and another order at once; each alone in a full run.
    for room, order in caps if full else caps[:1]:
        card = Card(room, working=WORKING)
        found, pool = run(card=card, tasks=order)
        assert found == wanted
        assert card.peak <= room
        assert len(pool.resident) < len(pool.loads), "some were unloaded"
