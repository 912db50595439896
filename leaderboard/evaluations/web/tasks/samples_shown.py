"""The samples on the page of a task: inputs, outputs and times of each step, and scores."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from evaluator.core.marks import Mark
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
    """From 1; 0 if the request expects a single answer."""
    score: float | None
    answer: Shown | None
    reference: Shown | None


class ShownSample(NamedTuple):
    """One sample with the steps that ran on it."""

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
    """One page of a record's samples."""

    samples: tuple[ShownSample, ...]
    total: int
    pages: tuple[SampleLink, ...]
    """Empty if there is only one page."""


class StepTotal(NamedTuple):
    """A step of the plan over all samples."""

    id: str
    tool: str
    expert: str
    runs: int
    stored: int
    """Runs whose result was already in the store."""
    seconds: float | None
    """Mean over executed runs; None without one."""
    failed: int
    error: str
    """Error of the first run that failed."""


def samples_page(
    *,
    samples: Sequence[SampleResult],
    number: str | None,
    reading: Reading,
    catalogue: Catalogue | None,
    marks: Mapping[str, Mark] = MappingProxyType({}),
) -> SamplesPage:
    """One page of samples.

    Args:
        samples: of the record.
        number: of the page, from the query string; invalid numbers give the first page.
        reading: reads the artefacts.
        catalogue: the tools of the suite, if it is known.
        marks: in the pictures of the request, by name, as far as readers may know them.
    """
    starts = range(0, len(samples), SAMPLES_PER_PAGE)
    page = int(number) if number and number.isascii() and number.isdigit() and len(number) < 9 else 1
    page = page if 1 <= page <= len(starts) else 1
    start = (page - 1) * SAMPLES_PER_PAGE
    shown = tuple(
        _sample(sample=sample, reading=reading, catalogue=catalogue, marks=marks, is_open=place < OPEN_AT_FIRST)
        for place, sample in enumerate(samples[start : start + SAMPLES_PER_PAGE])
    )
    links = []
    for place, before in enumerate(starts, start=1):
        first, last = before + 1, min(before + SAMPLES_PER_PAGE, len(samples))
        links.append(SampleLink(place, f"{first} to {last}" if first < last else str(first), place == page))
    return SamplesPage(samples=shown, total=len(samples), pages=tuple(links) if len(links) > 1 else ())


def step_totals(record: ResultRecord) -> tuple[StepTotal, ...]:
    """Totals of each step over all samples, in the order in which the steps first ran."""
    by_step: dict[str, list[StepRun]] = {}
    for sample in record.samples:
        for run in sample.steps:
            by_step.setdefault(run.step, []).append(run)
    totals = []
    for step, runs in by_step.items():
        executed = [run.seconds for run in runs if not run.cached and run.error is None]
        errors = [run.error for run in runs if run.error]
        total = StepTotal(
            id=step,
            tool=runs[0].tool,
            expert=runs[0].expert,
            runs=len(runs),
            stored=sum(run.cached for run in runs),
            seconds=sum(executed) / len(executed) if executed else None,
            failed=len(errors),
            error=errors[0] if errors else "",
        )
        totals.append(total)
    return tuple(totals)


def score_in_words(record: ResultRecord) -> str:
    """How the score follows from the samples, as a sentence; empty if no sample was scored."""
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


def _sample(
    *,
    sample: SampleResult,
    reading: Reading,
    catalogue: Catalogue | None,
    marks: Mapping[str, Mark],
    is_open: bool,
) -> ShownSample:
    number = sample.index + 1
    below = _pictures_below(sample)
    for run in sample.steps:
        reading.listen(tool=run.tool, inputs=run.inputs, outputs=run.outputs)

    def show(name: str, value: ArtefactReference, alt: str) -> Shown:
        over = below.get(value.digest)
        return reading.show(name=name, reference=value, alt=f"{alt}, sample {number}", over=over)

    pairs = [(sample.answer, sample.reference), *((further.answer, further.reference) for further in sample.further)]
    # The first answer's score follows from the sample's, which is the mean of all.
    scores: list[float | None] = [None] * len(pairs)
    others = [further.score for further in sample.further if further.score is not None]
    if sample.score is not None and len(others) == len(sample.further):
        scores = [sample.score * (1 + len(others)) - sum(others), *others]
    answers = []
    for place, ((answer, reference), score) in enumerate(zip(pairs, scores, strict=True), start=1):
        which = f" {place}" if len(pairs) > 1 else ""
        shown = ShownAnswer(
            number=place if len(pairs) > 1 else 0,
            score=score,
            answer=show("answer", answer, f"The plan's answer{which}") if answer else None,
            reference=show("reference", reference, f"The reference{which}") if reference else None,
        )
        answers.append(shown)
    return ShownSample(
        number=number,
        score=sample.score,
        inputs=tuple(
            reading.with_marks(show(f"${name}", value, f"Given {name}"), file=name, reference=value, marks=marks)
            for name, value in sample.inputs.items()
        ),
        steps=tuple(
            _step(run=run, number=number, reading=reading, catalogue=catalogue, below=below) for run in sample.steps
        ),
        answers=tuple(answers),
        is_open=is_open,
    )


def _pictures_below(sample: SampleResult) -> dict[str, ArtefactReference]:
    """The picture of each finding by digest: the input of the step that made the finding, or the picture of the finding
    that it was selected from.

    All other findings belong to the request's picture, if it has exactly one.
    """
    given = [value for value in sample.inputs.values() if value.media_type == MediaType.PNG]
    below: dict[str, ArtefactReference] = {}
    for run in sample.steps:
        pictures = [value for value in run.inputs.values() if value.media_type == MediaType.PNG]
        pictures += [below[value.digest] for value in run.inputs.values() if value.digest in below]
        for value in run.outputs.values():
            if pictures and value.media_type == MediaType.FINDINGS:
                below.setdefault(value.digest, pictures[0])
    for other in (sample.reference, sample.answer, *sample.inputs.values()):
        if other is not None and len(given) == 1 and other.media_type == MediaType.FINDINGS:
            below.setdefault(other.digest, given[0])
    return below


def _step(
    *, run: StepRun, number: int, reading: Reading, catalogue: Catalogue | None, below: Mapping[str, ArtefactReference]
) -> ShownStep:
    where = f"step {run.step}, {run.tool}, sample {number}"
    # Outputs that the tool does not declare explain the others, so they come last.
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
