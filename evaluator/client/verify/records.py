"""The sample: records of single tasks, and the artefacts that they name."""

import hashlib
import math
import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from evaluator.client.verify.documents import Row
from evaluator.client.verify.fetching import FetchError, MissingError
from evaluator.client.verify.report import Report
from evaluator.client.verify.site import Site
from evaluator.core import canonical_json
from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.signatures.documents import EvaluationProof
from evaluator.core.signatures.statements import TaskEntry, record_commitment
from evaluator.scoring.metrics.aggregate import indicators_of_samples, scores_of_samples
from evaluator.scoring.readability import is_readable

if TYPE_CHECKING:
    from evaluator.client.verify.regenerating import Regenerated

_SAME_SCORE = 1e-9
_CONFIDENCE = 0.95
_PART = "records"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A task whose record is checked."""

    evaluation: str
    task: TaskEntry
    record: str
    """Digest of the record."""


def check_commitments(
    *, proofs: Mapping[str, EvaluationProof], may_be_withheld: Collection[str], report: Report
) -> list[Drawn]:
    """Check the digest of every record against the signed, salted one. Returns the records that can be read.

    Args:
        proofs: results that are as they were signed, by evaluation.
        may_be_withheld: evaluations whose records nobody may read yet, as those of a hidden split.
        report: the findings are added to it.
    """
    possible, closed, missing = list[Drawn](), 0, dict[str, int]()
    before = len(report.findings)
    for evaluation, proof in proofs.items():
        with_record = [task for task in proof.tasks if task.record is not None]
        if unknown := proof.records.keys() - {task.task for task in with_record}:
            text = f"evaluation {evaluation}: there are digests of records of tasks that have none"
            report.mismatch(_PART, text, expected="none", found=sorted(unknown))
        if proof.salt is None:
            if evaluation in may_be_withheld:
                closed += len(with_record)
            elif with_record:
                missing[evaluation] = len(with_record)
            continue
        for task in with_record:
            where, record = f"evaluation {evaluation}, task {task.task!r}", proof.records.get(task.task)
            if record is None:
                report.mismatch(_PART, f"{where}: its record is not named", expected=task.record, found="none")
                continue
            commitment = record_commitment(salt=proof.salt, task=task.task, digest=record)
            if commitment != task.record:
                text = f"{where}: another record is named than was signed"
                report.mismatch(_PART, text, expected=task.record, found=commitment)
                continue
            possible.append(Drawn(evaluation, task, record))
    if possible and len(report.findings) == before:
        report.ok(_PART, f"the digests of all {len(possible)} records are the signed ones")
    for evaluation, count in missing.items():
        report.not_checked(
            _PART, f"evaluation {evaluation}: its {count} records are withheld, though its data are open"
        )
    if closed:
        report.note(
            _PART,
            f"{closed} records are not public, as of a hidden split: their digests are signed, but what they say was "
            "not checked",
        )  # fmt: skip
    report.facts |= {"records": len(possible), "records_withheld": closed + sum(missing.values())}
    return possible


def draw(*, possible: Sequence[Drawn], size: int, seed: int, report: Report) -> list[Drawn]:
    """A random sample of the records that can be read."""
    size = min(size, len(possible))
    report.facts["sampled"] = size
    # Sorted, so that the same seed draws the same sample whatever order the site gives.
    ordered = sorted(possible, key=lambda one: (one.evaluation, one.task.task))
    return random.Random(seed).sample(ordered, k=size)  # noqa: S311 - repeatable on purpose


def check_sample(
    *, sample: Sequence[Drawn], site: Site, report: Report, data: "Regenerated | None" = None
) -> list[tuple[Drawn, ResultRecord]]:
    """Check each drawn record, and every artefact that it names. Returns the records that were read.

    Args:
        data: hidden data regenerated from their published seed; requests, inputs and references are compared with
            them. Artefacts of hidden data are not public, so none are read.
    """
    before = len(report.findings)
    artefacts: dict[str, bool] = {}
    found: list[tuple[Drawn, ResultRecord]] = []
    for one in sample:
        record = _record(one=one, site=site, report=report)
        if record is not None:
            found.append((one, record))
        if record is not None and data is not None:
            _compare_with_data(record=record, data=data, where=_where(one), report=report)
        for reference in record.artefacts() if record is not None and data is None else ():
            if reference.digest not in artefacts:
                artefacts[reference.digest] = _has_digest(
                    digest=reference.digest, what=f"artefact of {_where(one)}", site=site, report=report
                )
    if sample and len(report.findings) == before:
        total = int(report.facts.get("records", len(sample)))
        text = f"{len(sample)} of {total} records and their {len(artefacts)} artefacts"
        if data is not None:
            text = f"{len(sample)} of {total} records; their requests, inputs and references follow from the seed"
        report.ok(_PART, f"{text}; {meaning(size=len(sample), total=total)}")
    return found


def check_readable(*, rows: Iterable[Row], records: Iterable[tuple[Drawn, ResultRecord]], report: Report) -> None:
    """Check that no row claims fewer unreadable replies than the drawn records of its evaluation have.

    Args:
        rows: of the snapshot.
        records: as `check_sample` returns them.
        report: the findings are added to it.
    """
    unreadable = Counter(
        one.evaluation for one, record in records
        if is_readable(outcome=record.outcome, reason=record.reason) is False
    )  # fmt: skip
    for row in rows:
        if row.readable is not None and unreadable[row.evaluation] > row.readable.unreadable:
            text = f"evaluation {row.evaluation}: its records have more unreadable replies than its row says"
            report.mismatch(
                _PART, text, expected=f"at least {unreadable[row.evaluation]}", found=row.readable.unreadable
            )


def meaning(*, size: int, total: int) -> str:
    """What a sample of this size shows, in words."""
    if size >= total:
        return "these are all"
    least = 1 - (1 - _CONFIDENCE) ** (1 / size)
    return (
        f"the others were not read: if {math.ceil(1000 * least) / 10:g} % or more of all records were wrong, such a "
        f"sample would have met one with a probability of {_CONFIDENCE:.0%}"
    )


def _where(one: Drawn) -> str:
    return f"evaluation {one.evaluation}, task {one.task.task!r}"


def _record(*, one: Drawn, site: Site, report: Report) -> ResultRecord | None:
    where = _where(one)
    data = _fetched(digest=one.record, what=f"record of {where}", site=site, report=report)
    if data is None:
        return None
    try:
        # A planner may answer with numbers of any size.
        value = canonical_json.loads(data, any_integer=True)
        if canonical_json.dumps(value).encode() != data:
            raise ValueError("is not canonical JSON")
        record = ResultRecord.model_validate_json(data)
    except ValidationError:
        report.not_checked(_PART, f"record of {where} is in a form that this version does not know")
        return None
    except ValueError as error:
        report.not_checked(_PART, f"record of {where} {error}")
        return None
    _compare(record=record, one=one, report=report)
    return record


def _compare(*, record: ResultRecord, one: Drawn, report: Report) -> None:
    """Whether a record says the same as the signed results."""
    task = one.task
    outcome = Outcome.INFRA_FAULT.value if task.accepted else task.outcome
    pairs: list[tuple[str, object, object]] = [
        ("task", task.task, record.task),
        ("metric", task.metric, record.metric),
        ("outcome", outcome, record.outcome.value),
        ("indicators", task.indicators, record.indicators),
    ]
    if not task.accepted:
        pairs.append(("indicators of samples", task.sample_indicators, indicators_of_samples(record)))
        pairs.append(("score", task.score, record.score))
        pairs.append(("scores of samples", task.samples, list(scores_of_samples(record))))
    if task.seconds is not None:
        pairs.append(("seconds", task.seconds, record.planner and record.planner.seconds))
        pairs.append(("cached tokens", task.cached_tokens, _cached_in(record)))
    for name, expected, found in pairs:
        if expected != found:
            report.mismatch(
                _PART,
                f"record of {_where(one)}: its {name} differs from the signed results",
                expected=expected,
                found=found,
            )
    scores = [sample.score for sample in record.samples if sample.score is not None]
    if record.outcome is Outcome.SCORED and scores and record.score is not None:
        mean = sum(scores) / len(scores)
        if not math.isclose(mean, record.score, rel_tol=_SAME_SCORE, abs_tol=_SAME_SCORE):
            text = f"record of {_where(one)}: its score is not the mean of its samples"
            report.mismatch(_PART, text, expected=mean, found=record.score)


def _cached_in(record: ResultRecord) -> int | None:
    """The cached tokens of a record as results of tasks have them."""
    call = record.planner
    if call is None or call.prompt_tokens is None or not call.cached_tokens:
        return None
    return min(call.cached_tokens, call.prompt_tokens)


def _compare_with_data(*, record: ResultRecord, data: "Regenerated", where: str, report: Report) -> None:
    try:
        differences = data.differences(record)
    except LookupError as error:
        report.mismatch(_PART, f"record of {where}: {error}", expected="a task of the data", found=record.task)
        return
    for what, wanted, found in differences:
        text = f"record of {where}: its {what} does not follow from the published seed"
        report.mismatch(_PART, text, expected=wanted, found=found)


def _fetched(*, digest: str, what: str, site: Site, report: Report) -> bytes | None:
    """The object with a digest; None, with a finding, if there is none or its bytes have another digest."""
    try:
        data = site.object(digest)
    except MissingError as error:
        report.mismatch(_PART, f"{what} is missing: {error}", expected=digest, found="none")
        return None
    except FetchError as error:
        report.not_checked(_PART, f"{what}: {error}")
        return None
    if (found := hashlib.sha256(data).hexdigest()) != digest:
        report.mismatch(_PART, f"{what} was changed", expected=digest, found=found)
        return None
    return data


def _has_digest(*, digest: str, what: str, site: Site, report: Report) -> bool:
    return _fetched(digest=digest, what=what, site=site, report=report) is not None
