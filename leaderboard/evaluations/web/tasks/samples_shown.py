"""The samples of a task as its page shows them: inputs, outputs and times of each step, and scores."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evaluator.core.records import ArtefactReference, ResultRecord, SampleResult, StepRun
from evaluator.core.tools.types import Catalogue
from evaluator.core.values import MediaType
from leaderboard.evaluations.web.tasks.artefacts_shown import Reading, Shown
from leaderboard.evaluations.web.tasks.plan_graph import types_of

SAMPLES_PER_PAGE = 8
OPEN_AT_FIRST = 3


class ShownStep(NamedTuple):
    """One executed step."""

    run: StepRun
    inputs: tuple[Shown, ...]
    outputs: tuple[Shown, ...]


class ShownAnswer(NamedTuple):
    """One answer of a sample beside its reference."""

    number: int
    """From 1; 0 where the request wants one answer."""
    score: float | None
    answer: Shown | None
    reference: Shown | None


class ShownSample(NamedTuple):
    """One sample with everything that the plan did to it."""

    number: int
    score: float | None
    inputs: tuple[Shown, ...]
    steps: tuple[ShownStep, ...]
    answers: tuple[ShownAnswer, ...]
    is_open: bool


class SampleLink(NamedTuple):
    """A page of samples."""

    number: int
    words: str
    is_this: bool


class SamplesPage(NamedTuple):
    """Some of a record's samples, and the way to the others."""

    samples: tuple[ShownSample, ...]
    total: int
    pages: tuple[SampleLink, ...]
    """Empty where one page holds all."""


class StepTotal(NamedTuple):
    """A step of the plan over all samples."""

    id: str
    tool: str
    expert: str
    runs: int
    stored: int
    """How many of them the store had already."""
    seconds: float | None
    """Mean over those that were executed; None if none was."""
    failed: int
    error: str
    """Error of the first run that failed."""


def samples_page(
    *, samples: Sequence[SampleResult], number: str | None, reading: Reading, catalogue: Catalogue | None
) -> SamplesPage:
    """One page of samples; `number` is that of the query string, and what is no page of these is the first."""
    count = max(1, -(-len(samples) // SAMPLES_PER_PAGE))
    asked = int(number) if number and number.isascii() and number.isdigit() and len(number) < 9 else 1
    page = asked if 1 <= asked <= count else 1
    first = (page - 1) * SAMPLES_PER_PAGE
    shown = [
        _sample(sample=sample, reading=reading, catalogue=catalogue, is_open=place < OPEN_AT_FIRST)
        for place, sample in enumerate(samples[first : first + SAMPLES_PER_PAGE])
    ]
    links = tuple(_link(place, total=len(samples), page=page) for place in range(1, count + 1))
    return SamplesPage(samples=tuple(shown), total=len(samples), pages=links if count > 1 else ())


def step_totals(record: ResultRecord) -> tuple[StepTotal, ...]:
    """The steps in the order in which they first ran, over all samples."""
    runs: dict[str, list[StepRun]] = {}
    for sample in record.samples:
        for run in sample.steps:
            runs.setdefault(run.step, []).append(run)
    return tuple(_total(found) for found in runs.values())


def score_in_words(record: ResultRecord) -> str:
    """Where the score comes from, as a sentence; nothing where nothing was executed."""
    scored = [(sample.score, sample.index + 1) for sample in record.samples if sample.score is not None]
    if not scored:
        return ""
    if len(scored) == 1:
        return f"{record.metric} of the one sample that was scored."
    (low, worst), (high, best) = min(scored), max(scored)
    without = len(record.samples) - len(scored)
    words = f"Mean {record.metric} over {len(scored)} samples"
    words += f": from {low:.3f} (sample {worst}) to {high:.3f} (sample {best})." if low < high else ", each the same."
    return words if not without else f"{words} {without} more could not be scored."


def _total(runs: Sequence[StepRun]) -> StepTotal:
    executed = [run.seconds for run in runs if not run.cached and run.error is None]
    errors = [run.error for run in runs if run.error]
    return StepTotal(
        id=runs[0].step,
        tool=runs[0].tool,
        expert=runs[0].expert,
        runs=len(runs),
        stored=sum(run.cached for run in runs),
        seconds=sum(executed) / len(executed) if executed else None,
        failed=len(errors),
        error=errors[0] if errors else "",
    )


def _link(place: int, *, total: int, page: int) -> SampleLink:
    first = (place - 1) * SAMPLES_PER_PAGE + 1
    last = min(place * SAMPLES_PER_PAGE, total)
    return SampleLink(place, f"{first} to {last}" if first < last else str(first), place == page)


def _sample(*, sample: SampleResult, reading: Reading, catalogue: Catalogue | None, is_open: bool) -> ShownSample:
    number = sample.index + 1

    below = _pictures_below(sample)

    def show(name: str, reference: ArtefactReference, alt: str) -> Shown:
        over = below.get(reference.digest)
        return reading.show(name=name, reference=reference, alt=f"{alt}, sample {number}", over=over)

    return ShownSample(
        number=number,
        score=sample.score,
        inputs=tuple(show(f"${name}", value, f"Given {name}") for name, value in sample.inputs.items()),
        steps=tuple(
            _step(run=run, number=number, reading=reading, catalogue=catalogue, below=below) for run in sample.steps
        ),
        answers=_answers(sample=sample, reading=reading, below=below),
        is_open=is_open,
    )


def _pictures_below(sample: SampleResult) -> dict[str, ArtefactReference]:
    """By digest of what was found in a picture, that picture: of the step that found it, or that it was selected from.

    Where the request gives one picture, what nobody found belongs to it.
    """
    given = [value for value in sample.inputs.values() if value.media_type == MediaType.PNG]
    below: dict[str, ArtefactReference] = {}
    for run in sample.steps:
        pictures = [value for value in run.inputs.values() if value.media_type == MediaType.PNG]
        pictures += [below[value.digest] for value in run.inputs.values() if value.digest in below]
        for value in run.outputs.values():
            if pictures and value.media_type == MediaType.FINDINGS:
                below.setdefault(value.digest, pictures[0])
    told = [value for value in (sample.reference, sample.answer, *sample.inputs.values()) if value is not None]
    for value in told:
        if len(given) == 1 and value.media_type == MediaType.FINDINGS:
            below.setdefault(value.digest, given[0])
    return below


def _answers(
    *, sample: SampleResult, reading: Reading, below: Mapping[str, ArtefactReference]
) -> tuple[ShownAnswer, ...]:
    pairs = [(sample.answer, sample.reference), *((one.answer, one.reference) for one in sample.further)]
    several = len(pairs) > 1
    return tuple(
        _answer(
            number=number if several else 0,
            score=score,
            pair=pair,
            sample=sample.index + 1,
            reading=reading,
            below=below,
        )
        for number, (pair, score) in enumerate(zip(pairs, _scores_of_answers(sample), strict=True), start=1)
    )


def _scores_of_answers(sample: SampleResult) -> list[float | None]:
    """The score of each answer. That of the first follows from the sample's, which is the mean of all."""
    others = [one.score for one in sample.further if one.score is not None]
    if sample.score is None or len(others) < len(sample.further):
        return [None] * (1 + len(sample.further))
    return [sample.score * (1 + len(others)) - sum(others), *others]


def _answer(
    *, number: int, score: float | None, pair: tuple[ArtefactReference | None, ArtefactReference | None], sample: int,
    reading: Reading, below: Mapping[str, ArtefactReference],
) -> ShownAnswer:  # fmt: skip
    which = f" {number}" if number else ""

    def show(name: str, value: ArtefactReference | None, alt: str) -> Shown | None:
        if value is None:
            return None
        over = below.get(value.digest)
        return reading.show(name=name, reference=value, alt=f"{alt}{which}, sample {sample}", over=over)

    answer, reference = pair
    return ShownAnswer(
        number=number,
        score=score,
        answer=show("answer", answer, "The plan's answer"),
        reference=show("reference", reference, "The reference"),
    )


def _step(
    *, run: StepRun, number: int, reading: Reading, catalogue: Catalogue | None, below: Mapping[str, ArtefactReference]
) -> ShownStep:
    where = f"step {run.step}, {run.tool}, sample {number}"
    # Outputs that the tool does not declare come last: they explain the others.
    kinds = types_of(run.tool, "outputs", catalogue=catalogue)
    pictures = [value for value in run.inputs.values() if value.media_type.startswith("image/")]
    first = pictures[0] if pictures else None
    return ShownStep(
        run=run,
        inputs=tuple(
            reading.show(name=name, reference=value, alt=f"Input {name} of {where}", over=below.get(value.digest))
            for name, value in run.inputs.items()
        ),
        outputs=tuple(
            reading.show_output(
                name=name,
                kind=kinds.get(name, ""),
                reference=value,
                over=first or below.get(value.digest),
                alt=f"Output {name} of {where}",
            )
            for name, value in sorted(run.outputs.items(), key=lambda output: output[0] not in kinds)
        ),
    )
