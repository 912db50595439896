"""What the operator took back: names and rows. Only a signed statement excuses what is missing. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from evaluator.client.verify.history import History
from evaluator.client.verify.report import Report
from evaluator.client.verify.trust import Trust
from evaluator.core.signatures.documents import WithdrawalsDocument
from evaluator.core.signatures.envelope import Envelope, EnvelopeError, open_envelope
from evaluator.core.signatures.statements import WithdrawalStatement

_PART = "withdrawn"


@dataclass(frozen=True)
class Withdrawn:
    """The signed withdrawals of a suite, the oldest first."""

    statements: Sequence[WithdrawalStatement] = ()
    digests: Sequence[str] = ()

    def placeholders(self, *, evaluation: str, field: str, number: int) -> Collection[str]:
        """What may stand for a name in the row of an evaluation in a snapshot; empty where it is not withdrawn."""
        return {
            one.placeholder
            for one in self.statements
            if one.what == field
            and number <= one.through
            and evaluation in one.evaluations
            and one.placeholder is not None
        }

    def reason_of(self, *, evaluation: str, last: int) -> str | None:
        """Why a row is in no snapshot after the `last` one that has it; None if no statement says so."""
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
        report.mismatch(_PART, "the withdrawals are those of another suite", expected=suite, found=document.suite)
    statements, digests = list[WithdrawalStatement](), list[str]()
    bound: str | None = None
    # The newest first: a key that is not trusted suffices where a trusted statement names this one by its digest.
    for number, envelope in reversed(list(enumerate(document.withdrawals, start=1))):
        where = f"withdrawal {number}"
        try:
            statement = _opened(envelope, trust=trust, bound=bound)
        except EnvelopeError as error:
            report.mismatch(_PART, f"{where} {error}", expected="a valid statement", found=envelope.key_id)
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
                report.mismatch(_PART, f"{where} {text}", expected=expected, found=found)
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
            report.mismatch(_PART, text, expected=f"{count}, the last one {wanted}", found=found or "none")
    for withdrawal in withdrawn.statements:
        concerned = history.digests.get(withdrawal.through)
        if withdrawal.snapshot is not None and withdrawal.snapshot != concerned:
            text = f"withdrawal {withdrawal.number} is about another snapshot {withdrawal.through} than is listed"
            report.mismatch(_PART, text, expected=withdrawal.snapshot, found=concerned or "none")
    if withdrawn.statements:
        report.note(_PART, f"{len(withdrawn.statements)} signed withdrawals of names or rows")


def _opened(envelope: Envelope, *, trust: Trust, bound: str | None) -> WithdrawalStatement:
    keys = {**trust.listed, **trust.keys} if bound == envelope.digest else trust.keys
    return open_envelope(envelope, expected=WithdrawalStatement, keys=keys)
