"""The chain of a suite's snapshots, each of which names the one before it, and what the operator took back.

Only a signed withdrawal excuses a name or a row that is missing. Pure.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from evaluator.client.verify.documents import ListedSnapshot
from evaluator.client.verify.pins import Head
from evaluator.client.verify.report import Report
from evaluator.client.verify.trust import Trust
from evaluator.core.signatures.documents import WithdrawalsDocument
from evaluator.core.signatures.envelope import Envelope, EnvelopeError, open_envelope
from evaluator.core.signatures.statements import SnapshotStatement, WithdrawalStatement

_PART = "history"


@dataclass(frozen=True)
class History:
    """The signed snapshots of a suite."""

    statements: Mapping[int, SnapshotStatement]
    digests: Mapping[int, str]
    """Digest of each statement."""

    @property
    def head(self) -> Head | None:
        """The newest signed snapshot."""
        if not self.statements:
            return None
        number = max(self.statements)
        return Head(number=number, statement=self.digests[number])


def check_history(
    *, suite: str, listed: Sequence[ListedSnapshot], trust: Trust, known: Sequence[Head], report: Report,
    replaced: Mapping[int, str] = MappingProxyType({}),
) -> History:  # fmt: skip
    """Check every signed statement of a suite and the links between them.

    Args:
        listed: all snapshots, the newest first.
        trust: the keys of the site.
        known: snapshots that were seen before, here or by somebody else.
        report: the findings are added to it.
        replaced: digests of the content of unsigned snapshots since names in them were withdrawn.
    """
    statements: dict[int, SnapshotStatement] = {}
    digests: dict[int, str] = {}
    before = len(report.findings)
    wanted: str | None = None
    newer: SnapshotStatement | None = None
    for position, one in enumerate(listed):
        older = listed[position + 1] if position + 1 < len(listed) else None
        if older is not None and older.number >= one.number:
            report.mismatch(
                _PART, "the list of snapshots is not in order", expected=f"below {one.number}", found=older.number
            )
        statement = _statement(one=one, suite=suite, trust=trust, bound=wanted, report=report)
        wanted = None
        if statement is not None and one.signature is not None:
            statements[one.number], digests[one.number] = statement, one.signature.digest
            wanted = _check_link(statement=statement, older=older, replaced=replaced, report=report)
            _check_times(statement=statement, newer=newer, report=report)
            newer = statement
    found = History(statements=statements, digests=digests)
    for head in known:
        _check_known(known=head, listed=listed, found=found, report=report)
    _tell(listed=listed, found=found, report=report, clean=len(report.findings) == before)
    return found


def _statement(
    *, one: ListedSnapshot, suite: str, trust: Trust, bound: str | None, report: Report
) -> SnapshotStatement | None:
    """The statement of a snapshot, if it is signed and may be believed.

    Args:
        bound: digest under which the snapshot after it names it.
    """
    if one.signature is None:
        return None
    where = f"snapshot {one.number}"
    try:
        statement = _opened(one.signature, trust=trust, bound=bound)
    except EnvelopeError as error:
        report.mismatch(_PART, f"the statement of {where} {error}", expected="a valid one", found=one.signature.key_id)
        return None
    if (statement.number, statement.suite.slug) != (one.number, suite):
        report.mismatch(
            _PART, f"the statement of {where} is about another one", expected=f"{suite} {one.number}",
            found=f"{statement.suite.slug} {statement.number}",
        )  # fmt: skip
        return None
    key = trust.trusted.get(statement.key)
    if statement.key != one.signature.key_id or (key is not None and not key.covers(statement.signed)):
        report.mismatch(
            _PART, f"the statement of {where} was signed when its key was not in use",
            expected=f"{key.created if key else ''} to {key.retired if key else ''}", found=statement.signed,
        )  # fmt: skip
    return statement


def _opened(envelope: Envelope, *, trust: Trust, bound: str | None) -> SnapshotStatement:
    """A key that is not trusted, such as one from before the given key, suffices where a trusted statement names this
    one by its digest."""
    names_it = bound is not None and bound == envelope.digest
    return open_envelope(
        envelope, expected=SnapshotStatement, keys={**trust.listed, **trust.keys} if names_it else trust.keys
    )


def _check_times(*, statement: SnapshotStatement, newer: SnapshotStatement | None, report: Report) -> None:
    where = f"snapshot {statement.number}"
    if statement.signed < statement.created:
        text = f"{where} was signed before it was published"
        report.mismatch(_PART, text, expected=f"{statement.created} or later", found=statement.signed)
    if newer is not None and newer.created < statement.created:
        text = f"{where} was published after snapshot {newer.number}"
        report.mismatch(_PART, text, expected=f"{newer.created} or earlier", found=statement.created)


def _check_link(
    *, statement: SnapshotStatement, older: ListedSnapshot | None, replaced: Mapping[int, str], report: Report
) -> str | None:
    """Check what a statement says of the snapshot before it. Returns the digest of that one's statement."""
    where, previous = f"snapshot {statement.number}", statement.previous
    if previous is None:
        if older is not None:
            report.mismatch(
                _PART, f"{where} says that it is the first", expected="no snapshot before it", found=older.number
            )
        return None
    if older is None or older.number != previous.number:
        found = "none" if older is None else older.number
        report.mismatch(_PART, f"the snapshot before {where} is missing", expected=previous.number, found=found)
        return None
    if previous.statement is None:
        if older.digest != previous.content and older.digest != replaced.get(older.number):
            report.mismatch(
                _PART, f"snapshot {older.number} was changed after {where} was signed", expected=previous.content,
                found=older.digest,
            )  # fmt: skip
        return None
    found = older.signature.digest if older.signature is not None else "no signature"
    if found != previous.statement:
        report.mismatch(
            _PART, f"the statement of snapshot {older.number} is another one than {where} names",
            expected=previous.statement, found=found,
        )  # fmt: skip
    return previous.statement


def _check_known(*, known: Head, listed: Sequence[ListedSnapshot], found: History, report: Report) -> None:
    if not listed or listed[0].number < known.number:
        newest = listed[0].number if listed else "none"
        report.mismatch(
            _PART, "the site has gone back to an earlier state", expected=f"snapshot {known.number} or a newer one",
            found=newest,
        )  # fmt: skip
    elif found.digests.get(known.number) != known.statement:
        report.mismatch(
            _PART, f"the history was rewritten: snapshot {known.number} is not what it was when it was seen before",
            expected=known.statement, found=found.digests.get(known.number, "none"),
        )  # fmt: skip


def _tell(*, listed: Sequence[ListedSnapshot], found: History, report: Report, clean: bool) -> None:
    if clean and found.statements:
        many = len(found.statements)
        text = "1 signed snapshot" if many == 1 else f"{many} signed snapshots, each names the one before it"
        head = found.head
        report.ok(_PART, f"{text}; compare the newest with other readers: {head}")
    if unsigned := len(listed) - len([one for one in listed if one.signature is not None]):
        report.note(_PART, f"{unsigned} of {len(listed)} snapshots of this suite are not signed")


_WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class Withdrawn:
    """The signed withdrawals of a suite, the oldest first."""

    statements: Sequence[WithdrawalStatement] = ()
    digests: Sequence[str] = ()

    def placeholders(self, *, evaluation: str, field: str, number: int) -> Collection[str]:
        """Valid placeholders of a withdrawn name in a row of a snapshot; empty if the name is not withdrawn."""
        return {
            one.placeholder
            for one in self.statements
            if one.what == field
            and number <= one.through
            and evaluation in one.evaluations
            and one.placeholder is not None
        }

    def reason_of(self, *, evaluation: str, last: int) -> str | None:
        """Why a row was withdrawn after snapshot `last`; None without a signed withdrawal."""
        reasons = (
            one.reason
            for one in self.statements
            if one.what == "row" and one.through == last and evaluation in one.evaluations
        )
        return next(reasons, None)

    @property
    def contents(self) -> Mapping[int, str]:
        """By number, digests of the content of unsigned snapshots since names in them were withdrawn."""
        return {int(number): digest for one in self.statements for number, digest in one.contents.items()}


def read_withdrawals(*, suite: str, document: WithdrawalsDocument, trust: Trust, report: Report) -> Withdrawn:
    """Check every withdrawal of a suite and the links between them. Those that do not hold excuse nothing."""
    if document.suite != suite:
        report.mismatch(_WITHDRAWN, "the withdrawals are those of another suite", expected=suite, found=document.suite)
    statements, digests = list[WithdrawalStatement](), list[str]()
    bound: str | None = None
    # The newest first: a key that is not trusted suffices where a trusted statement names this one by its digest.
    for number, envelope in reversed(list(enumerate(document.withdrawals, start=1))):
        where = f"withdrawal {number}"
        try:
            statement = _opened_withdrawal(envelope, trust=trust, bound=bound)
        except EnvelopeError as error:
            report.mismatch(_WITHDRAWN, f"{where} {error}", expected="a valid statement", found=envelope.key_id)
            return Withdrawn()
        key = trust.trusted.get(statement.key)
        in_use = statement.key == envelope.key_id and (key is None or key.covers(statement.created))
        is_first = statement.previous is None
        for is_right, text, expected, found in (
            (statement.suite == suite, "is about another suite", suite, statement.suite),
            (statement.number == number, "has another number", number, statement.number),
            (bound in {None, envelope.digest}, "is another one than the next one names", bound, envelope.digest),
            (is_first == (number == 1), "does not name the one before it", number > 1, not is_first),
            (in_use, "was signed when its key was not in use", "a key in use", statement.key),
        ):
            if not is_right:
                report.mismatch(_WITHDRAWN, f"{where} {text}", expected=expected, found=found)
                return Withdrawn()
        bound = statement.previous
        statements.insert(0, statement)
        digests.insert(0, envelope.digest)
    return Withdrawn(statements=statements, digests=digests)


def check_binding(*, withdrawn: Withdrawn, history: History, report: Report) -> None:
    """Check withdrawals against the snapshots that name them, and that they name."""
    for number, statement in history.statements.items():
        count, wanted = statement.withdrawals.count, statement.withdrawals.statement
        found = withdrawn.digests[count - 1] if 0 < count <= len(withdrawn.digests) else None
        if found != wanted:
            text = f"snapshot {number} names another list of withdrawals"
            report.mismatch(_WITHDRAWN, text, expected=f"{count}, the last one {wanted}", found=found or "none")
    for withdrawal in withdrawn.statements:
        concerned = history.digests.get(withdrawal.through)
        if withdrawal.snapshot is not None and withdrawal.snapshot != concerned:
            text = f"withdrawal {withdrawal.number} is about another snapshot {withdrawal.through} than is listed"
            report.mismatch(_WITHDRAWN, text, expected=withdrawal.snapshot, found=concerned or "none")
    if withdrawn.statements:
        report.note(_WITHDRAWN, f"{len(withdrawn.statements)} signed withdrawals of names or rows")


def _opened_withdrawal(envelope: Envelope, *, trust: Trust, bound: str | None) -> WithdrawalStatement:
    keys = {**trust.listed, **trust.keys} if bound == envelope.digest else trust.keys
    return open_envelope(envelope, expected=WithdrawalStatement, keys=keys)
