"""One verification from beginning to end."""

from collections.abc import Callable
from dataclasses import dataclass

from evaluator.client.verify.addresses import BoardAddress
from evaluator.client.verify.announcements import check_announcements
from evaluator.client.verify.documents import (
    EvaluationProof,
    ListedSnapshot,
    MalformedError,
    Row,
    SnapshotProof,
)
from evaluator.client.verify.fetching import FetchError, MissingError
from evaluator.client.verify.history import History, check_history
from evaluator.client.verify.pins import KnownSite
from evaluator.client.verify.ranks import Runs, check_ranges, has_tests
from evaluator.client.verify.records import check_sample, draw
from evaluator.client.verify.report import Kind, Report
from evaluator.client.verify.rows import check_evaluation, check_figures, check_rows, check_run, columns_of, score_of
from evaluator.client.verify.seasons import regenerated
from evaluator.client.verify.site import Site
from evaluator.client.verify.trust import Basis, Trust, UntrustedError, trust
from evaluator.signatures import Conditions, SnapshotStatement


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be verified, and how."""

    address: BoardAddress
    sample: int
    """Records that are read."""
    seed: int
    key: str = ""
    """A key, or its id, that alone is trusted."""
    first_use: bool = True
    """Whether a site that was never seen may name its own key."""


class _Stop(Exception):
    """Nothing after this can be checked."""


def check(
    *, order: Order, site: Site, known: KnownSite, report: Report, tell: Callable[[str], None] = lambda _: None
) -> KnownSite:
    """Verify a snapshot, its history, its rows, their results and a sample of records.

    Args:
        known: what is known of the site.
        report: the findings are added to it.
        tell: prints progress.

    Returns:
        What is known of the site now; as before where something is wrong.
    """
    report.facts |= {"site": order.address.site, "suite": order.address.suite, "seed": order.seed}
    try:
        return _check(order=order, site=site, known=known, report=report, tell=tell)
    except _Stop:
        return known


def _check(*, order: Order, site: Site, known: KnownSite, report: Report, tell: Callable[[str], None]) -> KnownSite:
    trusted = _trust(order=order, site=site, known=known, report=report)
    tell("reading the history of snapshots")
    suite = order.address.suite
    listed = _history(suite=suite, site=site, report=report)
    history = check_history(suite=suite, listed=listed, trust=trusted, known=known.heads.get(suite), report=report)
    number = _number(order=order, site=site, history=history, report=report)
    statement, proof = _snapshot(suite=suite, number=number, site=site, history=history, listed=listed, report=report)
    seasons = check_announcements(statement=statement, site=site, trust=trusted, known=known.seasons, report=report)
    season = regenerated(statement=statement, site=site, report=report)
    proofs = _rows(proof=proof, statement=statement, site=site, trusted=trusted, report=report, tell=tell)
    sample = draw(proofs=proofs, size=order.sample, seed=order.seed, report=report)
    tell(f"reading {len(sample)} records and their artefacts")
    check_sample(sample=sample, site=site, report=report, season=season)
    if report.of(Kind.MISMATCH):
        return known
    head = history.head
    heads = known.heads if head is None else {**known.heads, suite: head}
    return KnownSite(keys={**known.keys, **trusted.pins()}, heads=heads, seasons=dict(seasons))


def _trust(*, order: Order, site: Site, known: KnownSite, report: Report) -> Trust:
    try:
        found = trust(document=site.keys(), known=known, given=order.key, first_use=order.first_use)
    except UntrustedError as error:
        # A key that is not the known one is a mismatch; that none is known is not.
        if known.keys or order.key:
            report.mismatch("key", str(error), expected=error.expected, found=error.found)
        else:
            report.not_checked("key", str(error))
        raise _Stop from None
    except MissingError:
        report.not_checked("key", "the site publishes no keys: it signs nothing, or is no PlanArena site")
        raise _Stop from None
    except (FetchError, MalformedError) as error:
        report.not_checked("key", f"the list of keys: {error}")
        raise _Stop from None
    names = ", ".join(found.trusted)
    if found.basis is Basis.FIRST_USE:
        report.note("key", f"{names}, trusted on first use: compare it with the one that the operator announces")
    else:
        report.ok("key", f"{names}, {'as given' if found.basis is Basis.GIVEN else 'as before, or introduced by it'}")
    report.facts["keys"] = list(found.trusted)
    return found


def _history(*, suite: str, site: Site, report: Report) -> list[ListedSnapshot]:
    try:
        return list(site.history(suite))
    except (FetchError, MalformedError) as error:
        report.not_checked("history", f"the list of snapshots of {suite!r}: {error}")
        raise _Stop from None


def _number(*, order: Order, site: Site, history: History, report: Report) -> int:
    """Which snapshot is meant. Of a board, the newest one."""
    address = order.address
    if address.number is not None:
        return address.number
    if address.conditions is not None or address.season:
        return _newest_under(address, history=history, report=report)
    try:
        number = site.newest(address.suite)
    except (FetchError, MalformedError) as error:
        report.not_checked("snapshot", f"the board of {address.suite!r}: {error}")
        raise _Stop from None
    shown = history.statements.get(number)
    if shown is not None:
        newer = [
            one.number
            for one in history.statements.values()
            if one.number > number and (one.suite.digest, one.conditions) == (shown.suite.digest, shown.conditions)
        ]
        if newer:
            report.mismatch(
                "snapshot", "the board shows an old snapshot as the newest", expected=max(newer), found=number
            )
    return number


def _newest_under(address: BoardAddress, *, history: History, report: Report) -> int:
    fitting = [one.number for one in history.statements.values() if _fits(one.conditions, address=address)]
    if not fitting:
        report.not_checked("snapshot", "no signed snapshot has these conditions")
        raise _Stop
    return max(fitting)


def _fits(conditions: Conditions, *, address: BoardAddress) -> bool:
    named = (conditions.profile_digest, conditions.split, str(conditions.samples), conditions.data_digest)
    return (not address.season or conditions.season == address.season) and address.conditions in (None, named)


def _snapshot(
    *, suite: str, number: int, site: Site, history: History, listed: list[ListedSnapshot], report: Report
) -> tuple[SnapshotStatement, SnapshotProof]:
    report.facts["snapshot"] = number
    try:
        proof = site.snapshot(suite=suite, number=number)
    except (FetchError, MalformedError) as error:
        report.not_checked("snapshot", f"snapshot {number}: {error}")
        raise _Stop from None
    statement = history.statements.get(number)
    if statement is None or proof.signature is None:
        is_listed_signed = any(one.number == number and one.signature is not None for one in listed)
        if statement is not None:
            report.mismatch(
                "snapshot", f"snapshot {number} is shown without its signature", expected="signed", found="unsigned"
            )
        elif not is_listed_signed:
            report.not_checked("snapshot", f"snapshot {number} is not signed")
        raise _Stop
    if proof.signature.digest != history.digests[number]:
        report.mismatch(
            "snapshot", f"snapshot {number} is shown with another statement than in the history",
            expected=history.digests[number], found=proof.signature.digest,
        )  # fmt: skip
        raise _Stop
    if proof.number != number or proof.suite != suite:
        report.mismatch(
            "snapshot", "another snapshot is shown", expected=f"{suite} {number}", found=f"{proof.suite} {proof.number}"
        )
    delay = statement.signed - statement.created
    later = f", which was published {statement.created:%Y-%m-%d %H:%M}" if delay.total_seconds() > 3600 else ""
    report.ok("snapshot", f"{suite} {number}, signed {statement.signed:%Y-%m-%d %H:%M} UTC by {statement.key}{later}")
    return statement, proof


def _rows(
    *, proof: SnapshotProof, statement: SnapshotStatement, site: Site, trusted: Trust, report: Report,
    tell: Callable[[str], None],
) -> dict[str, EvaluationProof]:  # fmt: skip
    """Check rows and their evaluations. Returns the results that are as they were signed, by evaluation."""
    rows = check_rows(proof=proof, statement=statement, report=report)
    before, tasks = len(report.findings), 0
    proofs: dict[str, EvaluationProof] = {}
    results: dict[str, Runs] = {}
    for position, (row, digests) in enumerate(rows, start=1):
        tell(f"checking row {position} of {len(rows)}")
        if digests.tasks is None:
            report.not_checked("results", f"evaluation {row.evaluation} was gone when the snapshot was signed")
            continue
        found = _evaluation(row.evaluation, site=site, report=report)
        if found is None or not check_evaluation(
            row=row, digests=digests, proof=found, snapshot=statement, trust=trusted, report=report
        ):
            continue
        proofs[row.evaluation] = found
        tasks += len(found.tasks)
        runs = _runs(row=row, own=found, statement=statement, site=site, trusted=trusted, report=report)
        if runs is not None:
            check_figures(row=row, runs=runs, tasks=found.tasks, snapshot=statement, report=report)
            results[row.evaluation] = runs
    if proofs and len(report.findings) == before:
        many = f"{len(proofs)} evaluation{'' if len(proofs) == 1 else 's'}, {tasks} tasks"
        report.ok(
            "results", f"{many}: every mean, interval, count and usage follows from the signed results of all tasks"
        )
    readable = [row for row, _ in rows]
    if has_tests(readable):
        check_ranges(
            rows=readable, results=results, columns=columns_of(statement.suite), suite=statement.suite,
            samples=statement.conditions.samples, report=report,
        )  # fmt: skip
    return proofs


def _runs(
    *, row: Row, own: EvaluationProof, statement: SnapshotStatement, site: Site, trusted: Trust, report: Report
) -> Runs | None:
    """The results of every run that a row shows; None if one of them is missing or not as it was signed."""
    runs = []
    for evaluation in row.runs.evaluations or (row.evaluation,):
        found = own if evaluation == row.evaluation else _evaluation(evaluation, site=site, report=report)
        if found is None:
            return None
        if found is not own and not check_run(
            evaluation=evaluation, proof=found, snapshot=statement, trust=trusted, report=report
        ):
            return None
        runs.append([score_of(task) for task in found.tasks])
    return runs


def _evaluation(evaluation: str, *, site: Site, report: Report) -> EvaluationProof | None:
    try:
        return site.evaluation(evaluation)
    except MissingError as error:
        text = f"evaluation {evaluation}, which the snapshot names, is missing: {error}"
        report.mismatch("results", text, expected="its results", found="none")
    except (FetchError, MalformedError) as error:
        report.not_checked("results", f"evaluation {evaluation}: {error}")
    return None
