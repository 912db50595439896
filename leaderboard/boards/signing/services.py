"""Signing evaluations, snapshots and withdrawals. Idempotent: signatures never change.

Processes and sites without a key publish unsigned; `sign_unsigned` signs later.
"""

import base64
import json
import logging
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from uuid import UUID

from celery.exceptions import SoftTimeLimitExceeded
from django.db import transaction
from django.db.models import Q

from evaluator.core.signatures.envelope import PrivateKey, seal
from evaluator.core.signatures.statements import (
    MOST_WITHDRAWN,
    NAMES,
    BoardSummary,
    ColumnFacts,
    Conditions,
    Digested,
    EvaluationStatement,
    FurtherRun,
    Name,
    Previous,
    RowDigests,
    SnapshotStatement,
    SuiteFacts,
    TaskEntry,
    Withdrawals,
    WithdrawalStatement,
    name_digest,
    record_commitment,
    result_digest,
    rows_digest,
    rows_that_left,
    tasks_digest,
)
from leaderboard.boards.models import EvaluationSignature, Snapshot, SnapshotSignature, Withdrawal
from leaderboard.boards.signing.keys import first_signed_at, public_keys, signing_key
from leaderboard.catalog.hidden_data import FACTS, facts_of, sign_announcements
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import primary_metric
from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult, lock_board
from leaderboard.evaluations.results.further_scores import further_results
from leaderboard.platform.database import database_now

logger = logging.getLogger(__name__)

_SALT_BYTES = 16
_EVALUATIONS_AT_ONCE = 100
_TASK_COLUMNS = {
    "task": "task__key",
    "metric": "task__metric",
    "outcome": "outcome",
    "accepted": "accepted",
    "score": "score",
    "samples": "sample_scores",
    "indicators": "indicators",
    "sample_indicators": "sample_indicators",
    "seconds": "planning_seconds",
    "prompt_tokens": "prompt_tokens",
    "completion_tokens": "completion_tokens",
    "cached_tokens": "cached_tokens",
}
"""Columns of results by field of `TaskEntry`."""
_RUN_COLUMNS = {
    name: _TASK_COLUMNS[name] for name in ("task", "outcome", "score", "samples", "indicators", "sample_indicators")
}
"""Columns of results by field of `FurtherRun`, and the task."""


def sign_evaluations(evaluation_ids: Iterable[UUID]) -> None:
    """Sign the results of completed evaluations that are not signed yet.

    Before: within a transaction; the evaluations are completed, so their results are final.
    After: each of them has a signature, if this process has a key.
    """
    unsigned = set(evaluation_ids)
    unsigned -= set(EvaluationSignature.objects.filter(pk__in=unsigned).values_list("pk", flat=True))
    key = signing_key() if unsigned else None
    if key is None:
        return
    evaluations = Evaluation.runs.filter(pk__in=unsigned).select_related("suite").order_by("pk")
    EvaluationSignature.objects.bulk_create(
        # A signature that another process creates at the same time is as good.
        [_evaluation_signature(evaluation=evaluation, key=key) for evaluation in evaluations], ignore_conflicts=True
    )  # fmt: skip


def sign_when_possible(
    *, snapshot: Snapshot | None = None, evaluation_ids: Sequence[UUID] = (), withdrawals_from: str = ""
) -> None:
    """Sign within the transaction that publishes or withdraws. A failure to sign must not block publication: it is
    logged, and the next sweep tries again (`sign_unsigned`)."""
    try:
        with transaction.atomic():
            sign_evaluations(evaluation_ids)
            if withdrawals_from and (key := signing_key()) is not None:
                sign_withdrawals(withdrawals_from, key=key)
            if snapshot is not None:
                sign_snapshot(snapshot)
    except SoftTimeLimitExceeded:
        raise
    except Exception:
        logger.exception(
            "snapshot %s and evaluations %s stay unsigned for now", snapshot, list(map(str, evaluation_ids))
        )


def sign_snapshot(snapshot: Snapshot) -> SnapshotSignature | None:
    """Sign a snapshot and its evaluations that are not signed yet.

    Before: within the transaction that created it, or with its suite locked as `lock_board` does.
    After: it has a signature; None if this process has no key.
    """
    if (signature := SnapshotSignature.objects.filter(pk=snapshot.pk).first()) is not None:
        return signature
    key = signing_key()
    if key is None:
        return None
    sign_announcements(of=snapshot, key=key, known=public_keys)
    # As PostgreSQL stores and the site serves it: `jsonb` rewrites some numbers.
    content = Snapshot.objects.get(pk=snapshot.pk).content
    salts = {
        row["evaluation"]: {field: secrets.token_hex(_SALT_BYTES) for field in NAMES if field in row}
        for row in content["rows"]
    }
    sign_evaluations([UUID(evaluation) for evaluation in salts])
    rows = _row_digests(rows=content["rows"], salts=salts)
    withdrawals = sign_withdrawals(snapshot.suite.slug, key=key)
    now = database_now()
    statement = SnapshotStatement(
        key=key.public.id,
        suite=suite_facts(snapshot.suite),
        conditions=_conditions(snapshot),
        number=snapshot.number,
        created=snapshot.created,
        signed=now,
        coverage=content["coverage"],
        summary=BoardSummary.model_validate(content["summary"]),
        rows=Digested(count=len(rows), digest=rows_digest(rows)),
        previous=_previous(snapshot),
        withdrawals=withdrawals,
    )
    envelope = seal(statement=statement, key=key)
    return SnapshotSignature.objects.create(
        snapshot=snapshot,
        key_id=key.public.id,
        envelope=envelope.model_dump(mode="json"),
        statement_digest=envelope.digest,
        signed=now,
        rows=[row.model_dump(mode="json") for row in rows],
        salts=salts,
    )


def signature_of(snapshot: Snapshot) -> SnapshotSignature | None:
    """The signature of a snapshot that was read with `select_related`, or None."""
    return getattr(snapshot, "signature", None)


def sign_withdrawals(suite: str, *, key: PrivateKey) -> Withdrawals:
    """Sign the unsigned withdrawals of a suite, in order. Returns the reference to them for the next snapshot.

    Before: within a transaction; the suite is locked as `lock_board` does.
    After: all of them are signed.
    """
    newest = Withdrawals(count=0, statement=None)
    for withdrawal in Withdrawal.objects.filter(suite=suite).order_by("number").select_for_update():
        if withdrawal.envelope is None:
            envelope = seal(statement=_withdrawal(withdrawal, key=key, previous=newest.statement), key=key)
            withdrawal.key_id, withdrawal.envelope = key.public.id, envelope.model_dump(mode="json")
            withdrawal.statement_digest = envelope.digest
            withdrawal.save(update_fields=["key", "envelope", "statement_digest"])
        newest = Withdrawals(count=withdrawal.number, statement=withdrawal.statement_digest)
    return newest


def withdraw(
    *, suite: str, what: str, reason: str, evaluations: Sequence[str], through: int, placeholder: str | None = None,
    contents: Mapping[str, str] = MappingProxyType({}),
) -> None:  # fmt: skip
    """Record the withdrawal of names or rows from the boards of a suite (see `WithdrawalStatement`).

    Before: within a transaction; the suite is locked as `lock_board` does.
    After: the statements are to be signed by `sign_when_possible` or the next sweep. A site that has never signed
    anything records none.
    """
    if first_signed_at() is None:
        return
    count = Withdrawal.objects.filter(suite=suite).count()
    now = database_now()
    for start in range(0, len(evaluations), MOST_WITHDRAWN):
        count += 1
        Withdrawal.objects.create(
            suite=suite, number=count, what=what, reason=reason, placeholder=placeholder, through=through,
            evaluations=list(evaluations[start : start + MOST_WITHDRAWN]), contents=dict(contents), created=now,
        )  # fmt: skip


def withdraw_rows(*, before: Snapshot, after: Snapshot) -> None:
    """Record which rows a new snapshot dropped without a later run of the same planner replacing them.

    Before: within the transaction that created it; the suite is locked.
    """
    left = rows_that_left(before=before.content["rows"], after=after.content["rows"])
    hidden = Evaluation.runs.filter(pk__in=left, hidden_at__isnull=False).values_list("pk", flat=True)
    by_operator = {str(pk) for pk in hidden}
    for reason, is_hidden in (("hidden by an operator", True), ("not ranked any more", False)):
        if evaluations := [evaluation for evaluation in left if (evaluation in by_operator) is is_hidden]:
            withdraw(suite=after.suite.slug, what="row", reason=reason, evaluations=evaluations, through=before.number)


def forget_salts(*, snapshot: Snapshot, field: str, evaluations: Collection[str]) -> None:
    """Delete the salts of a name in these rows of a snapshot, so that the signature cannot confirm a guessed name."""
    signature = SnapshotSignature.objects.select_for_update().filter(pk=snapshot.pk).first()
    if signature is None:
        return
    signature.salts = {
        evaluation: {name: salt for name, salt in salts.items() if name != field or evaluation not in evaluations}
        for evaluation, salts in signature.salts.items()
    }
    signature.save(update_fields=["salts"])


def bound_by_content(suite: str) -> set[int]:
    """Numbers of the unsigned snapshots that the next statement refers to by content digest."""
    envelopes = SnapshotSignature.objects.filter(snapshot__suite__slug=suite).values_list("envelope", flat=True)
    named = (json.loads(base64.b64decode(envelope["payload"]))["previous"] for envelope in envelopes)
    return {previous["number"] for previous in named if previous is not None and previous["content"] is not None}


def task_entries(*, evaluation_id: UUID, salt: str) -> tuple[list[TaskEntry], Mapping[str, str]]:
    """The signed form of an evaluation's results in the suite's order, and the digests of its records by task."""
    entries, records = list[TaskEntry](), dict[str, str]()
    further: dict[str, list[FurtherRun]] = defaultdict(list)
    for *figures, digest in further_results([evaluation_id]).values_list(*_RUN_COLUMNS.values(), "record_digest"):
        facts = dict(zip(_RUN_COLUMNS, figures, strict=True))
        task = facts.pop("task")
        commitment = record_commitment(salt=salt, task=task, digest=digest) if digest else None
        further[task].append(FurtherRun(**facts, record=commitment))
    results = TaskResult.objects.filter(evaluation=evaluation_id).order_by("task__position")
    for *figures, digest in results.values_list(*_TASK_COLUMNS.values(), "record_digest"):
        facts = dict(zip(_TASK_COLUMNS, figures, strict=True))
        commitment = record_commitment(salt=salt, task=facts["task"], digest=digest) if digest else None
        entries.append(TaskEntry(**facts, record=commitment, further=tuple(further[facts["task"]])))
        if digest:
            records[facts["task"]] = digest
    return entries, records


def suite_facts(suite: Suite) -> SuiteFacts:
    """The description of a suite in statements."""
    primary = primary_metric(suite)
    return SuiteFacts(
        slug=suite.slug,
        version=suite.version,
        digest=suite.digest,
        columns=[
            ColumnFacts(
                key=column.key,
                metric=column.metric,
                indicator=column.indicator,
                fault=column.fault,
                interval=column.interval,
                tasks=list(column.tasks),
                weights=dict(column.weights),
                undecided=column.undecided,
                by_rules=list(column.by_rules),
                low=column.low,
                high=column.high,
                decided_by=dict(column.decided_by),
            )
            for column in suite.columns
        ],
        ranked_by=primary["key"],
        higher_is_better=bool(primary.get("higher_is_better", True)),
    )


def _conditions(subject: Snapshot | Evaluation) -> Conditions:
    return Conditions(
        profile=subject.profile,
        profile_digest=subject.profile_digest,
        split=subject.split,
        samples=subject.samples,
        data_digest=subject.data_digest,
        device_class=subject.device_class,
        **(dict.fromkeys(FACTS, "") | facts_of(subject, suite=subject.suite)),
    )


def _evaluation_signature(*, evaluation: Evaluation, key: PrivateKey) -> EvaluationSignature:
    salt = secrets.token_hex(_SALT_BYTES)
    entries, _ = task_entries(evaluation_id=evaluation.pk, salt=salt)
    digest = tasks_digest(evaluation=str(evaluation.pk), tasks=entries)
    now = database_now()
    statement = EvaluationStatement(
        key=key.public.id,
        evaluation=str(evaluation.pk),
        suite=suite_facts(evaluation.suite),
        conditions=_conditions(evaluation),
        finished=evaluation.finished,
        signed=now,
        tasks=Digested(count=len(entries), digest=digest),
    )
    return EvaluationSignature(
        evaluation=evaluation,
        key_id=key.public.id,
        envelope=seal(statement=statement, key=key).model_dump(mode="json"),
        tasks_digest=digest,
        salt=salt,
        signed=now,
    )


def _withdrawal(withdrawal: Withdrawal, *, key: PrivateKey, previous: str | None) -> WithdrawalStatement:
    signatures = SnapshotSignature.objects.filter(
        snapshot__suite__slug=withdrawal.suite, snapshot__number=withdrawal.through
    )
    fields = ("number", "what", "reason", "evaluations", "placeholder", "through", "contents", "created")
    return WithdrawalStatement.model_validate({
        **{name: getattr(withdrawal, name) for name in fields},
        "suite": withdrawal.suite,
        "key": key.public.id,
        "previous": previous,
        "snapshot": signatures.values_list("statement_digest", flat=True).first(),
    })  # fmt: skip


def _row_digests(*, rows: Sequence[Mapping[str, Any]], salts: Mapping[str, Mapping[Name, str]]) -> list[RowDigests]:
    signed = EvaluationSignature.objects.filter(pk__in=list(salts)).values_list("pk", "tasks_digest")
    tasks = {str(pk): digest for pk, digest in signed}
    return [
        RowDigests(
            evaluation=row["evaluation"],
            result=result_digest(row),
            names={
                field: name_digest(evaluation=row["evaluation"], field=field, name=row[field], salt=salt)
                for field in NAMES
                if (salt := salts[row["evaluation"]].get(field)) is not None
            },
            tasks=tasks.get(row["evaluation"]),
        )
        for row in rows
    ]


def _previous(snapshot: Snapshot) -> Previous | None:
    before = Snapshot.objects.filter(suite__slug=snapshot.suite.slug, number__lt=snapshot.number)
    previous = before.order_by("-number").values("number", "digest", "signature__statement_digest").first()
    if previous is None:
        return None
    statement = previous["signature__statement_digest"]
    return Previous(number=previous["number"], statement=statement, content=None if statement else previous["digest"])


def sign_unsigned(*, everything: bool = False) -> tuple[int, int]:
    """Sign snapshots and evaluations that have no signature, oldest first. Returns the numbers of both.

    Before: nothing; concurrent runs are safe.
    After: everything published since the site first signed anything is signed, if this process has a key.

    Args:
        everything: also sign what was published before that. The statements contain the time of signing.
    """
    with transaction.atomic():
        # Registers the key of a site that has published nothing since the key was configured.
        if (key := signing_key()) is None:
            return 0, 0
        sign_announcements(key=key, known=public_keys)
    since = None if everything else first_signed_at()
    for slug in sorted(set(Withdrawal.objects.filter(envelope=None).values_list("suite", flat=True))):
        with transaction.atomic():
            lock_board(slug)
            sign_when_possible(withdrawals_from=slug)
    snapshots = _snapshots(Q() if since is None else Q(created__gte=since))
    return snapshots, _evaluations(Q() if since is None else Q(finished__gte=since))


def _snapshots(selected: Q) -> int:
    unsigned = Snapshot.objects.filter(selected, signature=None)
    signed = 0
    for slug in sorted(set(unsigned.order_by().values_list("suite__slug", flat=True))):
        numbers = unsigned.filter(suite__slug=slug).order_by("number").values_list("pk", flat=True)
        for pk in list(numbers):
            with transaction.atomic():
                lock_board(slug)
                sign_when_possible(
                    snapshot=Snapshot.objects.select_related("suite").defer("stored", "packed").get(pk=pk)
                )
                signed += SnapshotSignature.objects.filter(pk=pk).exists()
    return signed


def _evaluations(selected: Q) -> int:
    """Evaluations outside all snapshots: private ones, and superseded runs."""
    completed = Evaluation.objects.filter(selected, state=EvaluationState.COMPLETED, signature=None)
    ids = list(completed.order_by("finished").values_list("pk", flat=True))
    for start in range(0, len(ids), _EVALUATIONS_AT_ONCE):
        sign_when_possible(evaluation_ids=ids[start : start + _EVALUATIONS_AT_ONCE])
    return EvaluationSignature.objects.filter(pk__in=ids).count()
