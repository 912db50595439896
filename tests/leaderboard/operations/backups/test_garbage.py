"""Retention and garbage collection: what goes, and that nothing which is named does."""

import os
import time
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from evaluator.core.records import ResultRecord
from evaluator.core.values import encode
from evaluator.execution.engine.store import LocalStore
from gpu_jobs.contract import GivenUp
from leaderboard.boards.services import publish
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationState, TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.messages.models import OutboxMessage
from leaderboard.operations.backups import tasks
from leaderboard.queue.leasing import leases
from leaderboard.queue.models import AttemptLog, LogChunk
from tests.leaderboard.executed import make_executed_evaluation
from tests.leaderboard.factories import make_evaluation, make_lease, make_suite, make_user
from tests.leaderboard.operations.backups.helpers import delivered_record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_store")]
OBJECTS = "objects of the store public that nothing names"
LONG_AGO = timezone.now() - timedelta(days=400)


def collect(*arguments: str) -> dict[str, tuple[int, int]]:
    """What the command prints: count and bytes by name."""
    out = StringIO()
    call_command("collect_garbage", *arguments, stdout=out)
    lines = (line.split(maxsplit=3) for line in out.getvalue().splitlines() if " bytes " in line)
    return {what: (int(count.replace(",", "")), int(size.replace(",", ""))) for count, size, _, what in lines}


def age(store: LocalStore) -> None:
    """Let no object have been used within the time of grace."""
    for path in (store.path / "objects").glob("*/*"):
        os.utime(path, (0, 0))


def old_evaluation(**changes) -> Evaluation:
    """One that failed long ago, with an attempt that was lost and its log."""
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING, suite=make_suite(slug="old", runnable=1))
    lease = make_lease(evaluation)
    log = AttemptLog.objects.create(attempt=lease.attempt, next_line=1)
    LogChunk.objects.create(log=log, first=0, lines=[[0, "INFO", "a line"]])
    leases.give_up(attempt_id=lease.attempt.pk, how=GivenUp.FAILED, detail="why")
    Attempt.objects.update(ended_at=LONG_AGO)
    Evaluation.objects.filter(pk=evaluation.pk).update(state="failed", finished=LONG_AGO, **changes)
    return evaluation


def named_by(evaluation: Evaluation, *, store: LocalStore) -> set[str]:
    """Records of the evaluation and their artefacts."""
    digests = set(TaskResult.objects.filter(evaluation=evaluation).values_list("record_digest", flat=True))
    records = [ResultRecord.model_validate_json(store.get(digest).data) for digest in digests]
    return digests | {artefact.digest for record in records for artefact in record.artefacts()}


class TestObjects:
    def test_a_published_evaluation_serves_all_it_names_after_a_collection(self):
        evaluation = make_executed_evaluation(user=make_user("ada"))
        publish(evaluation)
        store = server_store(split="public")
        garbage = store.put(encode("nobody names this"))
        before = Client().get(f"/evaluations/{evaluation.pk}/archive.tar")
        whole = b"".join(before.streaming_content) if before.streaming else before.content
        age(store)
        everything = set(store.digests())
        dry = collect("--dry-run")[OBJECTS]
        assert set(store.digests()) == everything
        named = named_by(evaluation, store=store)
        # The store served the experts, too, whose intermediate results no record names.
        unnamed = everything - named
        assert garbage in unnamed
        assert dry == (len(unnamed), sum(len(store.get(digest).data) for digest in unnamed))
        age(store)
        assert collect()[OBJECTS] == dry
        assert set(store.digests()) == named
        after = Client().get(f"/evaluations/{evaluation.pk}/archive.tar")
        assert (b"".join(after.streaming_content) if after.streaming else after.content) == whole

    def test_what_was_used_lately_stays_and_what_a_killed_write_left_goes(self):
        store = server_store(split="public")
        store.put(encode("on its way"))
        half = store.path / "objects" / "ab" / ".writing-1-x-2"
        half.parent.mkdir(parents=True, exist_ok=True)
        half.write_bytes(b"half")
        age(store)
        os.utime(half, (0, 0))
        assert store.has(encode("on its way").digest), "a worker asks whether it must send it, which is a use"
        assert collect()[OBJECTS] == (1, 4)
        assert not half.exists()

    def test_no_object_goes_while_a_record_is_missing(self):
        delivered_record()
        store = server_store(split="")
        store.put(encode("perhaps named by the record"))
        age(store)
        TaskResult.objects.update(record_digest="0" * 64)
        with pytest.raises(CommandError, match="Repair the store first"):
            collect()
        assert store.has(encode("perhaps named by the record").digest)

    @pytest.mark.parametrize("moment", ["before", "after"])
    def test_who_asks_for_an_object_while_it_is_moved_aside_loses_nothing(self, tmp_path, monkeypatch, moment):
        store, artefact, replace = LocalStore(tmp_path), encode("asked for"), Path.replace
        store.put(artefact)
        age(store)

        def asks() -> None:
            """As an intake does."""
            if not store.has(artefact.digest):
                store.put(artefact)

        with monkeypatch.context() as patch:

            def replaced(path: Path, target: Path) -> None:
                patch.undo()
                if moment == "before":
                    asks()
                replace(path, target)
                if moment == "after":
                    asks()

            patch.setattr(Path, "replace", replaced)
            store.collect(keep=set(), before=1.0, dry_run=False)
        assert store.get(artefact.digest) == artefact

    def test_a_collection_that_was_killed_is_completed(self, tmp_path):
        store = LocalStore(tmp_path)
        digest = store.put(encode("named meanwhile"))
        path = next((tmp_path / "objects").glob("*/*"))
        (tmp_path / "collected").mkdir()
        path.replace(tmp_path / "collected" / f"{path.parent.name}{path.name}")
        store.collect(keep={digest}, before=time.time() + 60, dry_run=False)
        assert store.get(digest).data == b"named meanwhile"


class TestRows:
    def test_logs_and_attempts_of_what_failed_long_ago_go(self):
        old_evaluation()
        dry = collect("--dry-run")
        assert (dry["log lines"][0], LogChunk.objects.count(), Attempt.objects.count()) == (1, 1, 1)
        assert dry["log lines"][1] > 0
        done = collect()
        assert [done[what][0] for what in ("log lines", "logs without lines", "attempts without results")] == [1, 1, 1]
        assert [model.objects.count() for model in (LogChunk, AttemptLog, Attempt)] == [0, 0, 0]
        assert Evaluation.objects.count() == 1

    @pytest.mark.parametrize("changes", [{"first_ranked": LONG_AGO}, {"finished": timezone.now()}])
    def test_what_was_ranked_has_just_ended_or_lives_keeps_them(self, changes):
        old_evaluation()
        Evaluation.objects.update(**changes)
        make_lease(make_evaluation(state=EvaluationState.LAUNCHING))
        assert collect()["log lines"][0] == 0
        assert (LogChunk.objects.count(), Attempt.objects.count()) == (1, 2)

    def test_sent_messages_and_expired_sessions_go_and_waiting_ones_stay(self):
        OutboxMessage.objects.create(kind="mail", payload={}, sent_at=LONG_AGO)
        OutboxMessage.objects.create(kind="mail", payload={}, created=LONG_AGO)
        Session.objects.create(session_key="old", expire_date=LONG_AGO)
        Session.objects.create(session_key="new", expire_date=timezone.now() + timedelta(days=1))
        done = collect()
        assert (done["messages that were sent or given up"][0], done["expired sessions"][0]) == (1, 1)
        assert OutboxMessage.objects.get().sent_at is None
        assert Session.objects.get().pk == "new"

    def test_the_beat_deletes_rows_only_if_it_is_told_to(self, settings):
        Session.objects.create(session_key="old", expire_date=LONG_AGO)
        tasks.delete_old_rows()
        assert Session.objects.exists()
        settings.COLLECT_ROWS = True
        tasks.delete_old_rows()
        assert not Session.objects.exists()
