"""The requests of `toolworld` about writing and texts: what solves them, what does not, and what their files show."""

from collections import Counter

import pytest

from evaluator.controlllm.toolbench.judging import judge
from evaluator.controlllm.toolbench.world import materials
from evaluator.controlllm.toolbench.world.contents import Material, Want
from evaluator.controlllm.toolbench.world.hidden import hidden_requests
from evaluator.controlllm.toolbench.world.suite import WorldTask, toolworld_suite, world_samples, world_task
from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import plan_to_json
from evaluator.core.values import Labels
from evaluator.miniature import annotations
from evaluator.miniature.seeds import Split

SUITE = toolworld_suite()
TASKS = [task for task in SUITE.tasks if isinstance(task, WorldTask) and task.group == "text"]
PUBLIC = world_samples(profile="lilliput", split="public", hidden_seed=None)


def the(want: Want, *, of_file: bool) -> WorldTask:
    """The first request for one result of a kind, about a text of its own or one that is made of a file."""
    return next(task for task in TASKS if [one.kind for one in task.wanted] == [want] and bool(task.given) is of_file)


def calls(*made: tuple[str, dict[str, str], str]) -> JsonValue:
    """A plan of calls, each with the name of its output; the last one is the answer."""
    steps: list[JsonValue] = [
        {"id": f"s{n}", "tool": tool, "inputs": dict(inputs), "outputs": {output: f"s{n}.{output}"}}
        for n, (tool, inputs, output) in enumerate(made, start=1)
    ]
    return {"steps": steps, "answers": [f"s{len(made)}.{made[-1][2]}"]}


def solves(task: WorldTask, plan: JsonValue) -> int | None:
    return judge(suite=SUITE, task=task, value=plan).judgement.SE


def test_a_text_is_to_be_handed_on_word_for_word() -> None:
    task = the(Want.TITLE, of_file=False)
    said = task.wanted[0].said
    assert said is not None
    assert solves(task, calls(("title_generation", {"text": said.text}, "title"))) == 1
    assert solves(task, calls(("title_generation", {"text": f'"{said.text}" '}, "title"))) == 1
    for other in (task.text, said.text.split(". ")[0], said.text.replace("On ", "At "), "a text", said.title):
        assert solves(task, calls(("title_generation", {"text": other}, "title"))) == 0, other


@pytest.mark.parametrize("want", [Want.TITLE, Want.TAGS, Want.NAMES, Want.PLACE, Want.SUMMARY, Want.MOOD])
def test_only_its_own_tool_says_what_is_wanted_of_a_text(want: Want) -> None:
    task = the(want, of_file=False)
    assert task.gold is not None
    right = task.gold.tools()[0]
    for tool, output in (
        ("title_generation", "title"), ("text_to_tags", "tags"), ("named_entity_recognition", "tags"),
        ("extract_location", "location"), ("summarization", "summarized_text"), ("sentiment_analysis", "text"),
        ("text_to_text_generation", "answer"),
    ):  # fmt: skip
        text = task.gold.steps[0].inputs["text"]
        assert solves(task, calls((tool, {"text": text}, output))) == int(tool == right), tool


def test_writing_is_read_and_not_described() -> None:
    task = the(Want.READING, of_file=True)
    (image,) = task.resources
    assert solves(task, calls(("optical_character_recognition", {"image": image}, "text"))) == 1
    assert solves(task, calls(("image_captioning", {"image": image}, "text"))) == 0
    question = {"image": image, "text": "What does the sign say?"}
    assert solves(task, calls(("image_question_answering", question, "response"))) == 0


def test_what_is_said_about_the_writing_of_a_sign_is_not_said_about_its_caption() -> None:
    task = the(Want.NAMES, of_file=True)
    (image,) = task.resources
    for tool, solved in (("optical_character_recognition", 1), ("image_captioning", 0)):
        plan = calls((tool, {"image": image}, "text"), ("named_entity_recognition", {"text": "s1.text"}, "tags"))
        assert solves(task, plan) == solved
    assert solves(task, calls(("named_entity_recognition", {"text": task.text}, "tags"))) == 0
    assert solves(task, calls(("optical_character_recognition", {"image": image}, "text"))) == 0


def test_signs_show_what_is_asked_about_and_their_truth_is_what_is_written() -> None:
    seen = Counter[Want]()
    for task in TASKS:
        for wanted in task.wanted:
            given = task.file(wanted.file) if wanted.file else None
            if given is None or given.material is not Material.SIGN:
                continue
            for index in range(3):
                source = materials.Source(split=Split.PUBLIC, hidden_seed=None, key=task.key, sample=index)
                words = materials.sign(given=given, source=source).words
                answer = next(one for one in task.answers if one.wanted[0] == wanted)  # type: ignore[attr-defined]
                right = PUBLIC.reference(task=answer, index=index)
                if wanted.kind is Want.READING:
                    assert right == " ".join(words)
                else:
                    assert isinstance(right, Labels)
                    said = annotations.of_words(words)
                    expected = said.names if wanted.kind is Want.NAMES else said.tags
                    assert [one.name for one in right.items] == list(expected)
                    assert expected
            seen[wanted.kind] += 1
    assert set(seen) == {Want.READING, Want.NAMES, Want.TAGS}


def test_hidden_requests_hand_on_other_texts_and_are_solved_by_their_gold_plans() -> None:
    public = {task.wanted[0].said.text for task in TASKS if task.wanted[0].said}
    for request in hidden_requests(seed="a secret"):
        if request.raw.group != "text":
            continue
        task = world_task(request)
        assert not {one.said.text for one in task.wanted if one.said} & public
        assert task.gold is not None
        context = SUITE.context(task=task, offered=frozenset(SUITE.catalogue.tools))
        assert check_plan(plan=task.gold, context=context) == ()
        assert solves(task, plan_to_json(task.gold)) == 1
