"""Samples of a task as its page shows them, without a database."""

import pytest
from django.template.loader import render_to_string
from PIL import Image as PillowImage

from evaluator.core.marks import mark_of
from evaluator.core.records import AnswerResult, ArtefactReference, Outcome, ResultRecord, SampleResult, StepRun
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.core.values import encode
from evaluator.execution.engine.store import MemoryStore
from leaderboard.evaluations.web.tasks.artefacts_shown import Reading
from leaderboard.evaluations.web.tasks.samples_shown import SAMPLES_PER_PAGE, samples_page, score_in_words, step_totals
from leaderboard.evaluations.web.tasks.stored_tasks import url_on

TEXT = ArtefactReference(digest="1" * 64, media_type="text/plain; charset=utf-8")


def run(step: str, *, seconds: float = 0.0, cached: bool = False, error: str | None = None, **outputs) -> StepRun:
    return StepRun(
        step=step, tool="Object Detection", expert="e", key="k", inputs={}, outputs=outputs, cached=cached,
        seconds=seconds, error=error,
    )  # fmt: skip


def record(*samples: SampleResult) -> ResultRecord:
    return ResultRecord(
        suite="openagi", task="0", request="", metric="ViT", outcome=Outcome.SCORED, score=0.5, samples=list(samples)
    )


def sample(index: int, score: float | None = 0.5, *steps: StepRun) -> SampleResult:
    return SampleResult(index=index, score=score, inputs={}, reference=None, answer=None, steps=list(steps))


def page_of(count: int, number: str | None):
    reading = Reading(store=MemoryStore(), url_of=url_on("public"))
    return samples_page(
        samples=[sample(index) for index in range(count)], number=number, reading=reading, catalogue=OPENAGI
    )


def test_fifty_samples_come_in_pages_and_few_in_none():
    firsts = {None: 1, "2": 9, "7": 49, "8": 1, "0": 1, "-1": 1, "x": 1, "²": 1, "9" * 40: 1}
    for asked, first in firsts.items():
        page = page_of(50, asked)
        assert (page.samples[0].number, page.total) == (first, 50)
        assert len(page.samples) <= SAMPLES_PER_PAGE
        assert [page.pages[0].words, page.pages[-1].words] == ["1 to 8", "49 to 50"]
        assert [link.number for link in page.pages if link.is_this] == [(first - 1) // SAMPLES_PER_PAGE + 1]
    few = page_of(5, None)
    assert few.pages == ()
    assert [one.is_open for one in few.samples] == [True, True, True, False, False]


def test_a_picture_of_the_request_is_shown_with_the_marks_in_it_and_their_words():
    store = MemoryStore()
    picture = encode(PillowImage.new("RGB", (64, 32)))
    store.put(picture)
    reference = ArtefactReference(digest=picture.digest, media_type=picture.media_type)
    marks = {
        "point-1": mark_of("point", picture="a.png", at=[(20, 30)]),
        "box-1": mark_of("box", picture="a.png", at=[(4, 5), (9, 8)]),
        "stroke-1": mark_of("stroke", picture="b.png", at=[(1, 1), (2, 2)]),
    }
    given = sample(0).model_copy(update={"inputs": {"a.png": reference, "c.png": reference}})
    page = samples_page(
        samples=[given],
        number=None,
        reading=Reading(store=store, url_of=url_on("public")),
        catalogue=OPENAGI,
        marks=marks,
    )

    shown, other = page.samples[0].inputs
    assert (shown.kind, other.kind) == ("marked", "image")
    html = render_to_string("components/artefact.html", {"shown": shown})
    assert 'viewBox="0 0 64 32"' in html
    assert 'aria-label="point-1 at 20,30 in a.png; box-1 from corner 4,5 to corner 9,8 in a.png"' in html
    assert '<circle class="mark" cx="20.5" cy="30.5"' in html
    assert '<polyline class="mark" points="4.5,5.5 9.5,5.5 9.5,8.5 4.5,8.5 4.5,5.5"/>' in html
    assert "stroke-1" not in html


def test_steps_are_counted_over_all_samples():
    found = step_totals(
        record(
            sample(0, 0.5, run("s1", seconds=0.2), run("s2", seconds=1)),
            sample(1, 0.5, run("s1", cached=True), run("s2", error="out of memory")),
            sample(2, 0.5, run("s1", seconds=0.4)),
        )
    )
    assert [(one.id, one.runs, one.stored, one.failed, one.error) for one in found] == [
        ("s1", 3, 1, 0, ""),
        ("s2", 2, 0, 1, "out of memory"),
    ]
    assert found[0].seconds == pytest.approx(0.3), "what the store had took no time and says nothing of the expert's"
    assert step_totals(record(sample(0, 0.5, run("s1", cached=True))))[0].seconds is None


def test_a_score_says_where_it_comes_from():
    for scores, expected in (
        ([None], ""),
        ([0.5, 0.5], "Mean ViT over 2 samples, each the same."),
        (
            [0.5, 0.9, None],
            "Mean ViT over 2 samples: from 0.500 (sample 1) to 0.900 (sample 2). 1 more could not be scored.",
        ),
    ):
        assert score_in_words(record(*(sample(index, score) for index, score in enumerate(scores)))) == expected


def test_every_answer_of_a_request_for_several_is_shown_with_its_reference_and_score():
    further = AnswerResult(metric="BERT", score=0.9, reference=TEXT, answer=None)
    two = sample(0, 0.7).model_copy(update={"answer": TEXT, "reference": TEXT, "further": [further]})
    reading = Reading(store=MemoryStore(), url_of=url_on("public"))
    (shown,) = samples_page(samples=[two], number=None, reading=reading, catalogue=OPENAGI).samples
    assert [(one.number, one.score, one.answer is None, one.reference is None) for one in shown.answers] == [
        (1, pytest.approx(0.5), False, False),
        (2, 0.9, True, False),
    ]
    assert "reference 2" in shown.answers[1].reference.alt
    unscored = two.model_copy(update={"score": None, "further": [further.model_copy(update={"score": None})]})
    (shown,) = samples_page(samples=[unscored], number=None, reading=reading, catalogue=OPENAGI).samples
    assert [one.score for one in shown.answers] == [None, None]
