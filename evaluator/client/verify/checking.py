"""One verification from beginning to end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.client.verify.documents import ListedSnapshot, MalformedError, Row, shaped
from evaluator.client.verify.fetching import FetchError, MissingError
from evaluator.client.verify.hidden_data import check_announcements, check_withheld, in_words, regenerated
from evaluator.client.verify.history import History, Withdrawn, check_binding, check_history, read_withdrawals
from evaluator.client.verify.pins import Head, KnownSite
from evaluator.client.verify.publications import check_publications
from evaluator.client.verify.ranks import Runs, check_ranges
from evaluator.client.verify.records import check_commitments, check_readable, check_sample, draw
from evaluator.client.verify.report import Kind, Report
from evaluator.client.verify.rows import (
    check_evaluation,
    check_figures,
    check_rows,
    check_run,
    check_steps,
    columns_of,
    score_of,
)
from evaluator.client.verify.site import BoardAddress, Site
from evaluator.client.verify.trust import Basis, ForgedListError, Trust, UntrustedError, trust
from evaluator.core.signatures.documents import EvaluationProof, SnapshotProof
from evaluator.core.signatures.statements import STATISTICS, Conditions, RowDigests, SnapshotStatement
from evaluator.core.suites.hidden import HIDDEN


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
    head: Head | None = None
    """A snapshot that another reader saw, which must be part of the history."""


MOST_STEPS = 20
"""Earlier snapshots that are read to look for rows that left the board."""


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
    withdrawn = _withdrawals(suite=suite, site=site, trusted=trusted, report=report)
    listed = _history(suite=suite, site=site, report=report)
    pinned = known.heads.get(suite)
    heads = [head for head in (pinned, order.head) if head is not None]
    history = check_history(
        suite=suite, listed=listed, trust=trusted, known=heads, report=report, replaced=withdrawn.contents
    )
    check_binding(withdrawn=withdrawn, history=history, report=report)
    number = _number(order=order, site=site, history=history, report=report)
    snapshot = _Snapshots(suite=suite, site=site, history=history, listed=listed, withdrawn=withdrawn, report=report)
    proof = snapshot.proof(number)
    if proof is None:
        raise _Stop
    statement = history.statements[number]
    report.ok("snapshot", _in_words(statement))
    announced = check_announcements(statement=statement, site=site, trust=trusted, known=known, report=report)
    data = regenerated(statement=statement, site=site, report=report)
    rows = check_rows(proof=proof, statement=statement, withdrawn=withdrawn, report=report)
    snapshot.check_steps(to=number, rows=_rows_of(proof), seen=pinned.number if pinned else None)
    proofs = _results(rows=rows, statement=statement, site=site, trusted=trusted, report=report, tell=tell)
    tell("reading the board as pages, files and the API show it")
    served = proof.content.get("rows")
    if isinstance(served, list) and len(rows) == len(served):
        check_publications(site=site, address=order.address, statement=statement, proof=proof, report=report)
    possible = check_commitments(
        proofs=proofs, may_be_withheld=_withheld(rows=rows, statement=statement, is_open=data is not None),
        report=report,
    )  # fmt: skip
    sample = draw(possible=possible, size=order.sample, seed=order.seed, report=report)
    tell(f"reading {len(sample)} records and their artefacts")
    records = check_sample(sample=sample, site=site, report=report, data=data)
    check_readable(rows=[row for row, _ in rows], records=records, report=report)
    if report.of(Kind.MISMATCH):
        return known
    head = history.head
    newest = known.heads if head is None else {**known.heads, suite: head}
    return announced.model_copy(update={"keys": {**known.keys, **trusted.pins()}, "heads": newest})


def _in_words(statement: SnapshotStatement) -> str:
    conditions = statement.conditions
    delay = statement.signed - statement.created
    later = f", which was published {statement.created:%Y-%m-%d %H:%M}" if delay.total_seconds() > 3600 else ""
    board = f"profile {conditions.profile}, split {conditions.split}, {conditions.samples} samples"
    signed = f"signed {statement.signed:%Y-%m-%d %H:%M} UTC by {statement.key}"
    return f"{statement.suite.slug} {statement.number} ({board}{in_words(conditions)}), {signed}{later}"


def _withheld(*, rows: Sequence[tuple[Row, RowDigests]], statement: SnapshotStatement, is_open: bool) -> set[str]:
    """Evaluations whose records are withheld: all on hidden data until the seed is published; afterwards those of
    planners that know the gold plans, since later data have the same plans."""
    if statement.conditions.split != HIDDEN:
        return set()
    if not is_open:
        return {row.evaluation for row, _ in rows}
    # Loaded here: verifying open boards needs less than planners do.
    from evaluator.planners.bundled import KNOW_GOLD

    return {row.evaluation for row, _ in rows if row.kind == "bundled" and row.strategy in KNOW_GOLD}


def _rows_of(proof: SnapshotProof) -> list[dict[str, Any]]:
    """The rows of a snapshot; empty if any is malformed, which `check_rows` reports."""
    rows = proof.content.get("rows")
    try:
        found = rows if isinstance(rows, list) else []
        return [row for row in found if shaped(row, shape=Row)]
    except MalformedError:
        return []


@dataclass(frozen=True, kw_only=True)
class _Snapshots:
    """The signed snapshots of a suite, read one by one."""

    suite: str
    site: Site
    history: History
    listed: Sequence[ListedSnapshot]
    withdrawn: Withdrawn
    report: Report

    def proof(self, number: int) -> SnapshotProof | None:
        """Read a snapshot and compare it with the list. Returns None after reporting a finding if it is unusable."""
        report, where = self.report, f"snapshot {number}"
        report.facts.setdefault("snapshot", number)
        entry = next((one for one in self.listed if one.number == number), None)
        try:
            proof = self.site.snapshot(suite=self.suite, number=number)
        except (FetchError, MalformedError) as error:
            report.not_checked("snapshot", f"{where}: {error}")
            return None
        statement = self.history.statements.get(number)
        if statement is None or proof.signature is None or entry is None:
            if statement is not None:
                text = f"{where} is shown without its signature"
                report.mismatch("snapshot", text, expected="signed", found="unsigned")
            elif entry is None:
                text = f"{where} is not in the list of snapshots; if it was published just now, verify again"
                report.not_checked("snapshot", text)
            elif entry.signature is None:
                report.not_checked("snapshot", f"{where} is not signed")
            return None
        if proof.signature.digest != self.history.digests[number]:
            report.mismatch(
                "snapshot", f"{where} is shown with another statement than in the history",
                expected=self.history.digests[number], found=proof.signature.digest,
            )  # fmt: skip
            return None
        for what, expected, found in (
            ("suite", self.suite, proof.suite),
            ("number", number, proof.number),
            ("content digest", entry.digest, proof.digest),
            ("signature", entry.signature, proof.signature),
        ):
            if expected != found:
                text = f"{where} is shown with another {what} than in the history"
                report.mismatch("snapshot", text, expected=expected, found=found)
        return proof

    def check_steps(self, *, to: int, rows: list[dict[str, Any]], seen: int | None) -> None:
        """Check which rows left the board: from the snapshot that was seen last, at least from the one before."""
        board = self.history.statements[to]
        earlier = [
            number
            for number, one in sorted(self.history.statements.items(), reverse=True)
            if number < to and (one.suite.digest, one.conditions) == (board.suite.digest, board.conditions)
        ]
        wanted = [number for position, number in enumerate(earlier) if position == 0 or number >= (seen or to)]
        after, number = rows, to
        for last in wanted[:MOST_STEPS]:
            proof = self.proof(last)
            if proof is None:
                return
            check_rows(
                proof=proof, statement=self.history.statements[last], withdrawn=self.withdrawn, report=self.report
            )
            before = _rows_of(proof)
            check_steps(
                before=before, after=after, last=last, number=number, withdrawn=self.withdrawn, report=self.report
            )
            after, number = before, last
        if len(wanted) > MOST_STEPS:
            text = f"rows that left the board before snapshot {number} were not looked for"
            self.report.note("rows", f"{text}: verify older snapshots by their numbers")


def _withdrawals(*, suite: str, site: Site, trusted: Trust, report: Report) -> Withdrawn:
    try:
        document = site.withdrawals(suite)
    except (FetchError, MalformedError) as error:
        report.not_checked("withdrawn", f"the list of withdrawals of {suite!r}: {error}")
        raise _Stop from None
    return read_withdrawals(suite=suite, document=document, trust=trusted, report=report)


def _trust(*, order: Order, site: Site, known: KnownSite, report: Report) -> Trust:
    try:
        found = trust(document=site.keys(), known=known, given=order.key, first_use=order.first_use)
    except ForgedListError as error:
        report.mismatch("key", str(error), expected=error.expected, found=error.found)
        raise _Stop from None
    except UntrustedError as error:
        # An unexpected key is a mismatch; having no known key is not.
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
    """The number in the address, or that of the board's newest snapshot."""
    address = order.address
    if address.number is not None:
        return address.number
    if address.conditions:
        return _newest_under(address, history=history, report=report)
    try:
        number = site.rows(address.suite, page=1).snapshot
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
    return all(str(getattr(conditions, name)) == value for name, value in address.conditions.items())


def _results(
    *, rows: Sequence[tuple[Row, RowDigests]], statement: SnapshotStatement, site: Site, trusted: Trust,
    report: Report, tell: Callable[[str], None],
) -> dict[str, EvaluationProof]:  # fmt: skip
    """Check the evaluations of rows and the runs that each row averages. Returns the valid results of the rows by
    evaluation."""
    before, tasks, withheld = len(report.findings), 0, 0
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
        if found.withheld:
            withheld += 1
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
    if withheld:
        check_withheld(withheld, statement=statement, site=site, report=report)
    elif statement.version < STATISTICS:
        report.note("rows", "signed under earlier statistics: intervals and ranges of ranks are not computed again")
    else:
        check_ranges(
            rows=[row for row, _ in rows], results=results, columns=columns_of(statement.suite), suite=statement.suite,
            samples=statement.conditions.samples, summary=statement.summary, report=report,
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
