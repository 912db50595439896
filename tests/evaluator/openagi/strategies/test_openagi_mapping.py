"""Free text is read line by line; each line is mapped to a tool or shown as unmapped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.openagi.strategies.mapping import NamedCall, calls_of, map_text, plan_of_calls, step_lines
from evaluator.openagi.strategies.similarity import SENTENCES, LexicalSimilarity, calibrated_threshold, right_decisions
from evaluator.planners.strategies.prompting import context_of
from tests.evaluator.openagi.strategies.openagi_tasks import TASKS, request, task_like
from tests.evaluator.openagi.strategies.unseen_sentences import UNSEEN

CLOZED_TWICE = "Given clozed English document and clozed English query, how to answer the question in English"


class Opinion:
    """A measure that finds every line as similar to a tool as it is told, and to the others not at all."""

    name = "opinion"
    threshold = 0.5

    def __init__(self, tool, value):
        self._tool, self._value = tool, value

    def compare(self, *, lines, tools):
        return [[self._value if tool.name == self._tool else 0.0 for tool in tools] for _ in lines]


def mapped(text, *, task=TASKS[0], similarity=None):
    return map_text(text=text, request=request(task.key), similarity=similarity or LexicalSimilarity())


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Step 1: Image Super Resolution, Step 2: Image Denoising,", ("Image Super Resolution", "Image Denoising")),
        ("Sure!\nStep 1: denoise\nThis helps.\n\nStep 2. caption\nDone.", ("denoise", "caption")),
        ("**Step 1:** denoise\n### Step 2\nCaption it", ("denoise", "Caption it")),
        ("STEP 1 - denoise\nstep 2) caption as in step 1.", ("denoise", "caption as in step 1")),
        (
            "Here it is:\n1. denoise\n   with care\n2) caption\n- translate\n* end",
            ("denoise", "caption", "translate", "end"),
        ),
        ("**1. Denoise**\n**2.** Caption", ("Denoise", "Caption")),
        ("Image Denoising, Image Captioning", ("Image Denoising", "Image Captioning")),
        (
            "Image Denoising -> Image Captioning\nMachine Translation.",
            ("Image Denoising", "Image Captioning", "Machine Translation"),
        ),
        ("Step 1:\n\nStep 2: caption", ("caption",)),
        ("", ()),
        (" \n,\n", ()),
    ],
)
def test_each_step_is_a_line(text, lines):
    assert step_lines(text) == lines


@given(st.text(max_size=150))
def test_any_text_can_be_read(text):
    assert all(line == line.strip() != "" for line in step_lines(text))


def test_a_line_that_holds_one_name_is_that_tool_whatever_the_measure_says():
    (line,) = mapped("Step 1: run image-denoising first", similarity=Opinion("Colorization", 1.0))
    assert (line.best, line.mapper, line.similarity, line.is_mapped) == ("Image Denoising", "name", 1.0, True)


@pytest.mark.parametrize(("value", "is_mapped"), [(0.5, True), (0.49, False)])
def test_a_line_below_the_threshold_is_unmapped_but_shown(value, is_mapped):
    (line,) = mapped("Step 1: make it nice", similarity=Opinion("Colorization", value))
    assert line.is_mapped is is_mapped
    assert line.to_json() == {
        "line": "make it nice",
        "best": "Colorization",
        "similarity": value,
        "mapper": "opinion",
        "mapped": is_mapped,
    }
    assert calls_of([line], drops_repeats=False) == ((NamedCall("Colorization"),) if is_mapped else ())


def test_repeats_are_kept_unless_they_are_to_be_dropped():
    lines = mapped("Step 1: Colorization\nStep 2: Image Denoising\nStep 3: Colorization")
    kept = [call.tool for call in calls_of(lines, drops_repeats=False)]
    dropped = [call.tool for call in calls_of(lines, drops_repeats=True)]
    assert kept == ["Colorization", "Image Denoising", "Colorization"]
    assert dropped == ["Colorization", "Image Denoising"]


def test_lexical_similarity_decides_sentences_it_has_not_seen():
    lexical = LexicalSimilarity()
    assert right_decisions(lexical, threshold=lexical.threshold, sentences=UNSEEN) >= 42
    assert not {text for text, _ in UNSEEN} & {text for text, _ in SENTENCES}


def test_the_lexical_threshold_is_among_the_best_on_the_sentences_it_was_chosen_on():
    lexical = LexicalSimilarity()
    chosen = right_decisions(lexical, threshold=lexical.threshold)
    assert chosen == right_decisions(lexical, threshold=calibrated_threshold(lexical)) >= 60
    assert chosen > right_decisions(lexical, threshold=0.0)
    assert chosen > right_decisions(lexical, threshold=0.9)


def test_no_request_of_the_suite_is_among_the_sentences():
    texts = {task.text.casefold() for task in TASKS}
    assert not texts & {text.casefold() for text, _ in (*SENTENCES, *UNSEEN)}


def test_a_call_takes_what_has_become_of_the_input_that_was_named():
    task = task_like(text=CLOZED_TWICE)
    calls = [NamedCall("Fill Mask", ("query",)), NamedCall("Fill Mask", ("document",)), NamedCall("Question Answering")]
    plan = plan_of_calls(calls=calls, context=context_of(request(task.key)))
    assert [dict(step.inputs) for step in plan.steps] == [
        {"text": "$query"},
        {"text": "$document"},
        {"document": "s2.text", "query": "s1.text"},
    ]
