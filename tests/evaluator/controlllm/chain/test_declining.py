"""The chain does what tools do and declines the rest, whatever the words are like."""

import tomllib
from pathlib import Path

import pytest

from evaluator.controlllm.strategies.demands import demand_of, parts_of
from evaluator.controlllm.strategies.strategy import AdaptiveControlLLM, ChainControlLLM
from evaluator.controlllm.toolbench.abstention import Need
from evaluator.core.planner import Expected, PlannerRequest, RequestedTask, offered_tools, request_for
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import ResourceType
from evaluator.episodes.judgement import all_tools
from evaluator.execution.experts.profile import load_profile


def requests_of(name):
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))


REQUESTS = requests_of("requests")
CALIBRATION = requests_of("calibration")
MINIATURE = frozenset(load_profile("lilliput").experts)
ALL_TOOLS = frozenset(CONTROLLLM.tools)
KINDS = {"png": "image", "jpg": "image", "mp4": "video", "wav": "audio"}


def end_of(generator):
    with pytest.raises(StopIteration) as end:
        next(generator)
    return end.value.value


def asked(words, *, experts=MINIATURE):
    names = [word.strip(".,:;?") for word in words.split()]
    files = {name: KINDS[name[-3:]] for name in names if name[-4:-3] == "." and name[-3:] in KINDS}
    offered = CONTROLLLM.restricted_to(experts)
    return PlannerRequest(
        suite="",
        task=RequestedTask(id="request", request=words, resources=files),
        expects=Expected(type=None),
        tools=list(offered_tools(offered)),
    )


def planned(words, *, experts=MINIATURE):
    return end_of(AdaptiveControlLLM().stages(asked(words, experts=experts), by_demand=True)).planned


def is_declined(parts):
    return not parts or any(not part.candidates for part in parts)


def share_declined(requests, *, experts=MINIATURE):
    return sum(is_declined(planned(words, experts=experts)) for words in requests) / len(requests)


@pytest.mark.parametrize("requests", [REQUESTS, CALIBRATION])
def test_what_tools_do_is_not_declined(requests):
    assert len(requests["can"]) >= 120
    assert share_declined(requests["can"]) <= 0.02


@pytest.mark.parametrize("requests", [REQUESTS, CALIBRATION])
def test_what_no_tool_does_is_declined(requests):
    assert len(requests["cannot"]) >= 120
    assert share_declined(requests["cannot"]) >= 0.98


@pytest.mark.parametrize(
    ("name", "can", "cannot"),
    [("unseen", 0, 60), ("fresh", 2, 40), ("later", 1, 40), ("first_play", 2, 60), ("second_play", 2, 40)],
)
def test_requests_that_were_written_after_the_rules_are_read_as_documented(name, can, cannot):
    requests = requests_of(name)
    assert len(requests["can"]) == len(requests["cannot"]) >= 40
    assert sum(is_declined(planned(words)) for words in requests["can"]) <= can
    assert sum(is_declined(planned(words)) for words in requests["cannot"]) >= cannot


def test_what_only_other_tools_do_is_declined_without_them():
    requests = CALIBRATION["can_with_all_tools"]
    assert share_declined(requests) == 1
    assert share_declined(requests, experts=ALL_TOOLS) <= 0.05


def test_more_tools_do_not_do_what_none_does():
    assert share_declined(CALIBRATION["cannot"], experts=ALL_TOOLS) >= 0.95


@pytest.mark.parametrize(
    ("words", "tool"),
    [
        ("What's the weather like in Oslo?", "get_weather"),
        ("Write down what is said in talk.wav.", "speech_to_text"),
        ("Replace the soundtrack of surf.mp4 with waves.wav.", "dub_video"),
    ],
)
def test_tools_without_an_expert_here_are_planned_where_they_are_offered(words, tool):
    (part,) = planned(words, experts=ALL_TOOLS)
    assert part.candidates[0].path[-1] == tool


@pytest.mark.parametrize(
    ("words", "tool"),
    [
        ("I'd be glad if you removed the bin from yard.png.", "image_inpainting"),
        ("The bin in yard.png bothers me, take it away.", "image_inpainting"),
        ("Imagine a tower and paint it.", "text_to_image"),
        ('Is this kind? Tell me its mood: "I loved it."', "sentiment_analysis"),
        ("Crop the window out of wall.png and give it to me.", "image_cropping"),
        ("Turn the collar in dog.png into a bow tie.", "text_image_editing"),
    ],
)
def test_what_is_said_around_an_order_demands_nothing(words, tool):
    (part,) = planned(words)
    assert part.candidates[0].path[-1] == tool


@pytest.mark.parametrize(
    ("slug", "need"), [("toolworld", None), ("toolmini", None), ("toolmini-abstain", Need.SOLVABLE)]
)
def test_requests_of_suites_that_have_a_plan_are_not_declined(slug, need):
    assert share_of_suite(slug, need=need) <= 0.05


@pytest.mark.parametrize("need", [Need.NO_TOOL, Need.MISSING_FILE])
def test_requests_of_a_suite_that_no_plan_meets_are_declined(need):
    assert share_of_suite("toolmini-abstain", need=need) >= 0.95


def share_of_suite(slug, *, need):
    suite = suite_of(slug)
    tasks = [task for task in suite.tasks if need is None or task.need is need]
    found = []
    for task in tasks:
        request = request_for(suite=suite, task=task, context=all_tools(suite=suite, task=task))
        found.append(is_declined(end_of(AdaptiveControlLLM().stages(request, by_demand=True)).planned))
    return sum(found) / len(found)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("Email yard.png to my neighbour.", "Email"),
        ("What is the weather in Paris?", "get_weather"),
        ("Make a video of yard.png.", "image_to_video"),
        ("Segment the thing at point 20,30 in yard.png.", "image_segmentation_by_points needs point"),
        ("Crop clip.mp4 to the train.", "image_cropping does not work on what is given: video"),
        ("Delete yard.png.", "no tool deletes files"),
    ],
)
def test_the_reason_names_what_is_missing(words, why):
    (part,) = planned(words)
    assert why in part.searching.subtask.lacks


@pytest.mark.parametrize(
    ("words", "tool"),
    [
        ("The sign in stop.png - what does it say?", "optical_character_recognition"),
        ("Any idea how many kites there are in sky.png?", "image_question_answering"),
        ("The crane in sky.png has to go.", "image_inpainting"),
        ("The shelves in shed.png, with bounding boxes.", "select_bbox"),
        ("Something similar to sky.png, but not the same.", "image_to_image"),
        ('Which city is this about? "We spent a week in Rome."', "extract_location"),
        ('Who is mentioned? "Ada met Grace in Rome."', "named_entity_recognition"),
    ],
)
def test_a_file_or_text_that_is_named_without_an_order_implies_what_is_wanted(words, tool):
    (part,) = planned(words)
    assert part.candidates[0].path[-1] == tool


@pytest.mark.parametrize("words", ["A kite is in sky.png.", "sky.png is mine.", 'He said "hello".'])
def test_a_statement_about_a_file_implies_nothing(words):
    assert planned(words) == ()


def test_one_part_that_no_tool_does_leaves_the_others():
    email, highlight = planned("Email yard.png to my neighbour and highlight the house in it.")
    assert email.searching.subtask.lacks
    assert highlight.candidates[0].path[-1] == "highlight_object_on_image"


def test_every_solution_ends_with_the_demanded_tool():
    (part,) = planned("Cut the tree in yard.png out along its outline.")
    assert {candidate.path[-1] for candidate in part.candidates} == {"mask_image"}
    assert not any("highlight_object_on_image" in candidate.path for candidate in part.candidates)


def test_it_and_what_was_named_before_are_the_same_object():
    _, removal = planned("Find the lamp in yard.png and remove it.")
    assert [argument.value for argument in removal.searching.subtask.args] == ["yard.png", "lamp"]


@pytest.mark.parametrize("words", ["Do this and nothing else.", "My camera is off.", "A cat sits on a mat."])
def test_remarks_demand_nothing(words):
    assert demand_of(words, kinds={ResourceType.IMAGE}, tools=tuple(CONTROLLLM.tools.values())).is_empty


def test_clauses_with_a_verb_of_their_own_are_parts():
    assert list(parts_of("Count the forks and spoons in the image and text the number to me")) == [
        "Count the forks and spoons in the image",
        "text the number to me",
    ]


def test_the_strategy_of_sites_abstains_from_what_no_tool_does():
    draft = end_of(ChainControlLLM().converse(asked("Email yard.png to my neighbour.")))
    assert draft.plan == []
    assert "Email" in draft.notes["declined"][0]
    assert end_of(ChainControlLLM().converse(asked("Describe yard.png."))).plan


@pytest.mark.parametrize(
    "words", [f"Count the dogs{' ' * 20_000}and the cats", "turn " * 5000, "get " * 5000, "I, so please " * 3000]
)
def test_long_texts_are_read_in_linear_time(words):
    # In quadratic or cubic time it would take minutes.
    for part in parts_of(words):
        demand_of(part, kinds={ResourceType.IMAGE}, tools=tuple(CONTROLLLM.tools.values()))


def test_long_requests_are_planned_in_linear_time():
    assert not is_declined(planned(f"Count the dogs{' ' * 20_000}in a.png."))
