"""A rolling upgrade: both releases serve, take messages and evaluate at once, and nothing is lost or doubled."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.driving import Ground, Site, kill, lives, prepared, site, wait_until
from tests.crash.upgrading import PREVIOUS, Visitor, beside, previous_release, upgrade

PEOPLE = 6


@pytest.fixture(scope="module")
def old_ground(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """The warm process of the release before, and a template with its tables."""
    root = previous_release(tmp_path_factory.mktemp("previous"))
    with prepared(postgres_url, root=root) as made:
        yield made


def submit(going: Site, *people: int) -> None:
    for person in people:
        going.submit(name=f"planner {person}", person=person)


def comparable(outcome: dict[str, Any]) -> dict[str, Any]:
    """Of boards only the last state: how many evaluations one snapshot publishes is a matter of speed."""
    last = outcome["boards"][-1]
    return {**outcome, "boards": {**last, "number": 0, "rows": sorted(last["rows"], key=lambda row: row["planner"])}}


def end(*pids: int) -> None:
    """As a rolling update does."""
    for pid in pids:
        kill(pid, signal.SIGTERM)
    wait_until(lambda: not any(lives(pid) for pid in pids), what="the old processes ended", seconds=60)


@pytest.mark.rotating(of=3)
def test_both_releases_run_side_by_side_and_nothing_is_lost(ground: Ground, old_ground: Ground):
    with site(ground=ground, instrumented=False) as alone:
        alone.start("web")
        alone.start("celery")
        submit(alone, *range(PEOPLE))
        alone.finish(sweeps=True)
        expected = comparable(alone.outcome())
    with (
        site(ground=old_ground, instrumented=False, pace=0.3) as old,
        beside(old, ground=ground, name="new") as new,
        beside(old, ground=old_ground, name="old-worker", port=new.run.port) as old_worker,
        beside(old, ground=ground, name="new-worker", port=old.run.port) as new_worker,
        Visitor(suite=ground.suite) as visitor,
    ):
        _roll(old=old, new=new, old_worker=old_worker, new_worker=new_worker, visitor=visitor)
        assert comparable(new.outcome()) == expected
        assert not visitor.failed
        assert min(visitor.answered[port] for port in (old.run.port, new.run.port)) > 10
        names = {row[0] for row in new.query("SELECT worker FROM evaluations_attempt")}
        assert len(names) >= 2, names
        # The old site could not read it.
        assert not new.query("SELECT 1 FROM boards_snapshot WHERE packed IS NOT NULL")


def _roll(*, old: Site, new: Site, old_worker: Site, new_worker: Site, visitor: Visitor) -> None:
    old.start("web")
    old.start("celery")
    submit(old, 0, 1)
    visitor.sites.append(old.run.port)
    wait_until(lambda: old.query("SELECT 1 FROM evaluations_taskresult"), what="a first result", seconds=60)
    upgrade(new)
    # The old code writes into the new tables.
    submit(old, 2)
    new.start("web")
    new.start("celery")
    submit(new, 3)
    visitor.sites.append(new.run.port)
    new_worker.start("second_worker")
    old_worker.start("second_worker")
    submit(old, 4)
    wait_until(lambda: len(old.query("SELECT 1 FROM boards_snapshot")) > 1, what="two snapshots", seconds=60)
    visitor.leave(old.run.port)
    end(old.pids.pop("web"), old.pids.pop("celery"), old_worker.pids.pop("second_worker"))
    # Whoever asks the address of the old site now reaches the new one.
    new_worker.start("web")
    submit(new, 5)
    new.finish(sweeps=True)


def test_a_release_that_is_not_in_the_history_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr("tests.crash.upgrading.PREVIOUS", f"{PREVIOUS}0000")
    with pytest.raises(AssertionError, match="fetch the whole history"):
        previous_release(tmp_path)
