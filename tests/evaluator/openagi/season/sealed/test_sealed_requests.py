"""Sealed requests of a season: their goals, their places, the commitment to them, and the reader by rules."""

import json
from dataclasses import replace

import pytest

from evaluator.core.canonical_json import dumps
from evaluator.core.planner import request_for
from evaluator.core.suites.hidden import HIDDEN, HiddenSeed, commitment, suite_on_split
from evaluator.core.suites.registry import suite_of
from evaluator.core.suites.sealed import (
    SealedRequest,
    SealedRequestError,
    as_proof,
    form_of,
    placed,
    sealed_digest,
    shown_facts,
)
from evaluator.episodes.judgement import all_tools
from evaluator.scoring.metrics.plan_equality import is_same_plan

SEED = "5eed" * 16
GOAL = {
    "inputs": {"image": {"flaws": ["low_resolution"]}},
    "answers": [{"goal": "image_captioning", "language": "de"}],
}


@pytest.fixture(scope="module")
def suite():
    return suite_of("openagi-season")


def sealed(text: str, **changes: object) -> SealedRequest:
    return SealedRequest(text=text, goal=dumps({**GOAL, **changes}))


def several(suite) -> list[SealedRequest]:
    """Requests of two compositions, all with a place."""
    noisy = {"image": {"flaws": ["noise"]}, "image_2": {"needed": False}}
    wanted = [{"goal": "object_detection", "language": "en"}]
    found = [
        request
        for number in range(2)
        for request in (
            sealed(f"Scan {number} of {{image}} is coarse. Enlarge it and caption it in German."),
            sealed(f"{{image}} is noisy, skip {{image_2}}. List {number} objects.", inputs=noisy, answers=wanted),
        )
    ]
    return [request for request, _ in placed(suite=suite, requests=found, seed=SEED)]


def test_a_sealed_request_takes_the_place_of_one_that_sites_show_in_the_same_way(suite):
    requests = several(suite)
    assert len(requests) >= 2
    mixed = suite_on_split(suite=suite, split=HIDDEN, hidden_seed=SEED, sealed=requests)
    plain = suite_on_split(suite=suite, split=HIDDEN, hidden_seed=SEED)
    changed = [task.key for task in plain.tasks if mixed.task(task.key).text != task.text]
    assert len(changed) == len(requests)
    for key in changed:
        assert shown_facts(mixed.task(key)) == shown_facts(suite.task(key))
    assert [task.key for task in mixed.tasks] == [task.key for task in plain.tasks]
    assert [task.asked_as for task in mixed.tasks] == [task.asked_as for task in plain.tasks]
    again = suite_on_split(suite=suite, split=HIDDEN, hidden_seed=SEED, sealed=requests[::-1])
    assert [task.text for task in again.tasks] == [task.text for task in mixed.tasks]
    assert mixed.digest != suite.digest
    assert suite_on_split(suite=suite, split="public", hidden_seed=None, sealed=requests) is suite


def test_planners_see_the_same_fields_and_names_as_of_a_generated_request(suite):
    requests = several(suite)
    mixed = suite_on_split(suite=suite, split=HIDDEN, hidden_seed=SEED, sealed=requests)
    plain = suite_on_split(suite=suite, split=HIDDEN, hidden_seed=SEED)
    stems = {name.rpartition("_")[0] for task in plain.tasks for name in task.resources}
    for key in (key for _, key in placed(suite=suite, requests=requests, seed=SEED)):
        seen, usual = (
            request_for(suite=one, task=one.task(key), context=all_tools(suite=one, task=one.task(key)))
            for one in (mixed, plain)
        )
        assert {name.rpartition("_")[0] for name in seen.task.resources} <= stems
        assert all(name in seen.task.request for name in seen.task.resources)
        assert "{" not in seen.task.request
        assert (seen.expects, seen.task.id, seen.tools) == (usual.expects, usual.task.id, usual.tools)


def test_a_commitment_binds_every_sealed_request_and_without_any_it_is_the_former_one():
    one, two = sealed("Enlarge {image} and caption it."), sealed("Enlarge {image}, then caption it.")
    bound = HiddenSeed(SEED, season="a", sealed=(one, two)).commitment("openagi-season")
    assert bound == HiddenSeed(SEED, season="a", sealed=(two, one)).commitment("openagi-season")
    others = [
        HiddenSeed(SEED, season="a", sealed=(one,)).commitment("openagi-season"),
        HiddenSeed(SEED, season="a", sealed=(one, replace(two, goal="{}"))).commitment("openagi-season"),
        HiddenSeed("a5" * 32, season="a", sealed=(one, two)).commitment("openagi-season"),
        HiddenSeed(SEED, season="a").commitment("openagi-season"),
    ]
    assert len({bound, *others}) == 5
    assert others[-1] == commitment(seed=SEED, season="a", suite="openagi-season")
    assert sealed_digest([]) == ""
    assert "Enlarge" not in repr(HiddenSeed(SEED, sealed=(one,)))


def test_more_requests_than_places_are_refused(suite):
    requests = [sealed(f"Scan {number} of {{image}} is coarse. Enlarge it and caption it.") for number in range(99)]
    fitting = list(placed(suite=suite, requests=requests, seed=SEED))
    assert 0 < len(fitting) < 99
    with pytest.raises(ValueError, match="have no place in openagi-season"):
        suite_on_split(suite=suite, split=HIDDEN, hidden_seed=SEED, sealed=requests)
    with pytest.raises(ValueError, match="takes no sealed requests"):
        suite_on_split(suite=suite_of("openagi"), split=HIDDEN, hidden_seed=SEED, sealed=requests[:1])


TEXT = "Enlarge {image} and caption it in German."


@pytest.mark.parametrize(
    ("text", "changes", "complaint"),
    [
        ("Enlarge it.", {}, "15 to 4000 characters"),
        ("Enlarge {photo} and caption it.", {}, "{photo} names no input"),
        ("Enlarge {image} and {caption it.", {}, "a brace that belongs to no slot"),
        ("Enlarge that image and caption it.", {}, "never names the input 'image'"),
        (TEXT + " {text}", {}, "The goal has no input 'text'"),
        (TEXT, {"answers": []}, "Goal: answers"),
        (TEXT, {"answer": []}, "Goal: answer: Extra inputs"),
        (TEXT, {"answers": [{"goal": "summarization", "language": "en"}]}, "its answers need one each of text"),
        (TEXT, {"answers": [{"goal": "image_captioning"}]}, "needs a language"),
        (TEXT, {"answers": GOAL["answers"] * 2}, "an answer twice"),
        (TEXT, {"inputs": {"image": {"flaws": ["word"]}}}, "cannot have the flaw word"),
        (TEXT, {"answers": [{"goal": "restoration"}]}, "another plan than these repairs scores higher"),
        (TEXT, {"trick": "needs_no_repair"}, "about an image without flaws"),
        (TEXT, {"trick": "distracting_input"}, "nothing in it is distracting_input"),
    ],
)  # fmt: skip
def test_an_invalid_request_is_named(suite, text, changes, complaint):
    with pytest.raises(SealedRequestError, match=complaint.replace("{", r"\{")):
        as_proof(sealed(text, **changes), suite=suite)


def test_the_answers_of_a_reader_give_the_goal_that_a_writer_gives_as_json(suite):
    form = form_of(suite)
    text = "{image} is coarse, skip {image_2}. Caption it in German."
    values = {"input image": ["low_resolution"], "input image_2": ["not_needed"], "goal 1": ["image_captioning"],
              "language 1": ["de"], "possible": ["yes"]}  # fmt: skip
    assert {field.name for field in form.fields(text)} >= set(values)
    written = sealed(text, inputs={"image": {"flaws": ["low_resolution"]}, "image_2": {"needed": False}})
    asked = SealedRequest(text, form.goal(text, values=values))
    assert is_same_plan(plan=as_proof(asked, suite=suite).gold, other=as_proof(written, suite=suite).gold)
    other = SealedRequest(text, form.goal(text, values={**values, "input image": []}))
    assert not is_same_plan(plan=as_proof(other, suite=suite).gold, other=as_proof(written, suite=suite).gold)


@pytest.mark.parametrize(
    ("text", "flaws", "goals", "languages"),
    [
        ("The postcard in {image} is too coarse. Enlarge it, then tell me in German what it shows.", ["low_resolution"],
         ["image_captioning"], ["de"]),
        ("Sharpen {image}; it is not noisy. I want the class label in German.", ["blur"],
         ["image_classification"], ["de"]),
        ("In {image} rauscht es. Beschreibe es auf Englisch und nenne dann alle Objekte auf Deutsch.", ["noise"],
         ["image_captioning", "object_detection"], ["en", "de"]),
        ("Bring back the colours of {image}, please, and make it less blurry.", ["blur", "grayscale"],
         ["restoration"], [None]),
    ],
)  # fmt: skip
def test_the_rules_read_flaws_answers_and_languages(suite, text, flaws, goals, languages):
    found = json.loads(form_of(suite).read(text))
    assert found["inputs"] == {"image": {"flaws": flaws}}
    assert [answer["goal"] for answer in found["answers"]] == goals
    assert [answer["language"] for answer in found["answers"]] == languages


@pytest.mark.parametrize(
    "text",
    [
        "Do something nice with {image}, as you see fit.",
        "Caption {image} for me, whatever is wrong with it.",
        "Restore {image} and caption it in German or in English.",
        "{image_1} and {image_2} are blurry: describe both in English.",
    ],
)
def test_the_rules_say_nothing_where_a_text_leaves_something_open(suite, text):
    assert form_of(suite).read(text) is None
