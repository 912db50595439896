"""A run as lines, and as files."""

from typing import Any

from evaluator.core.values import Box, Boxes, Value
from evaluator.workbench.events import Ending
from evaluator.workbench.saving import files_of_run, named_artefacts
from evaluator.workbench.tree import RunTree, StepState

TEXT = {"digest": "a" * 64, "media_type": "text/plain; charset=utf-8"}
PICTURE = {"digest": "b" * 64, "media_type": "image/png"}
FOUND = {"digest": "c" * 64, "media_type": "application/json"}
VALUES: dict[str, Value] = {"a" * 64: "a red\ncircle", "c" * 64: Boxes((64, 64), (Box("cat", 1, 2, 3, 4),))}
EVENTS: list[dict[str, Any]] = [
    {"kind": "given", "files": {"a.png": {"type": "image", **PICTURE}}},
    {"kind": "asked", "planner": "some/planner", "tools": 48},
    {
        "kind": "plan", "seconds": 0.5, "tolerated": ["a comma"], "notes": {}, "edited": False,
        "plan": {"answers": ["s2.text"], "steps": [
            {"id": "s1", "tool": "find", "inputs": {"image": "$a.png"}, "outputs": {"bbox": "s1.bbox"}},
            {"id": "s2", "tool": "say", "inputs": {"bbox": "s1.bbox"}, "outputs": {"text": "s2.text"}},
            {"id": "s3", "tool": "sing", "inputs": {"bbox": "s1.bbox"}, "outputs": {"audio": "s3.audio"}},
        ]},
    },
    {"kind": "step", "step": "s1", "tool": "find", "expert": "finder", "cached": False, "seconds": 0.25,
     "inputs": {"image": PICTURE}, "outputs": {"bbox": FOUND}, "error": None},
    {"kind": "step", "step": "s2", "tool": "say", "expert": "sayer", "cached": True, "seconds": 0.0,
     "inputs": {"bbox": FOUND}, "outputs": {"text": TEXT}, "error": None},
    {"kind": "skipped", "step": "s3", "tool": "sing", "why": "It needs a result of s0, which failed."},
    {"kind": "ended", "ending": "partly", "text": "I called find.", "answers": [TEXT], "problems": ["a fault"],
     "received": ""},
]  # fmt: skip


def grown(events: list[dict[str, Any]]) -> tuple[RunTree, list[str]]:
    tree = RunTree(request="Describe a.png", values=lambda artefact: VALUES.get(artefact["digest"]))
    return tree, [line for event in events for line in tree.take(event)]


def test_each_event_is_a_line_with_values_in_words() -> None:
    tree, lines = grown(EVENTS)

    assert lines == [
        "file a.png: image",
        "some/planner is asked, with 48 tools",
        "planned in 0.50 s: 3 steps; tolerated: a comma",
        "s1 find (finder, 0.25 s): image = a picture -> bbox = 1 box (cat)",
        's2 say (from the store): bbox = 1 box (cat) -> text = "a red circle"',
        "s3 sing (not run): bbox = s1.bbox",
        "  It needs a result of s0, which failed.",
        "Partly done: I called find.",
        "a fault",
    ]
    assert tree.ending is Ending.PARTLY


def test_steps_wait_until_their_event_comes() -> None:
    tree, _ = grown(EVENTS[:4])

    assert [step.state for step in tree.steps.values()] == [StepState.DONE, StepState.WAITS, StepState.WAITS]
    assert tree.has_run_steps


def test_a_run_that_starts_again_forgets_what_was_shown() -> None:
    tree, _ = grown([*EVENTS, {"kind": "again"}])

    assert (tree.files, tree.steps, tree.ending, tree.has_run_steps) == ({}, {}, None, False)


def test_an_event_that_was_too_long_to_keep_adds_nothing() -> None:
    assert grown([{"kind": "plan", "is_too_long": True}])[1] == []


def test_a_run_is_written_with_its_files_and_what_is_lost_says_so() -> None:
    written = dict(
        files_of_run(
            request="Describe a.png", suite="toolworld", events=EVENTS, fetch=lambda d: None if d[0] == "c" else b"x"
        )
    )

    assert set(written) == {
        "request.txt", "events.jsonl", "plan.json", "files/a.png", "steps/s1-bbox.json.missing", "steps/s2-text.txt",
        "results/1.txt",
    }  # fmt: skip


def test_no_name_leads_out_of_the_folder() -> None:
    events = [
        {"kind": "given", "files": {"../../evil.png": PICTURE, "..": PICTURE, "/etc/passwd": PICTURE}},
        {**EVENTS[3], "step": "../../evil", "outputs": {"../x": FOUND}},
    ]
    assert list(named_artefacts(events)) == [
        "files/_.._evil.png", "files/file", "files/_etc_passwd", "steps/______evil-___x.json"
    ]  # fmt: skip
