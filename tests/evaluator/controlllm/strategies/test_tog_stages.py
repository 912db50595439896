"""Each stage alone: assessment, binding, solutions, resources; offline, and with answers given by hand."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.controlllm.strategies import binding, ranking
from evaluator.controlllm.strategies.binding import bind, solution_json
from evaluator.controlllm.strategies.ranking import Ranked, keep, rank_by_answers, score_offline
from evaluator.controlllm.strategies.search import exhaustive, search, tools_in_domains
from evaluator.controlllm.strategies.subtasks import Resource, TypedSubtask
from evaluator.controlllm.strategies.words import Lexicon
from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import PlanContext
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.replies.read import read_plan
from tests.evaluator.controlllm.strategies.tog_factories import ALL, said, subtask, tools

LEXICON = Lexicon(ALL)
SCORES = dict.fromkeys(CONTROLLLM.tools, 3.0)


# --- assessment ---------------------------------------------------------------------------------------------------


def test_offline_scores_follow_the_papers_criteria():
    wanted = subtask(
        "Use `object_detection` and keep what boxes hold the dog.", returns="bbox", image="a.png", text="dog"
    )
    scores = ranking.assess_offline(subtask=wanted, tools=ALL, lexicon=LEXICON)
    assert scores["object_detection"] == 5.0
    assert 4 <= scores["select_bbox"] < 5
    assert 3 <= scores["highlight_object_on_image"] < 4
    assert 2 <= scores["image_captioning"] < 3
    assert 1 <= scores["dub_video"] < 2
    assert all(1 <= score <= 5 for score in scores.values())


SCORED = {
    '<Solution>{"thought": "yes", "score": 4}</Solution>': 4.0,
    '<Solution>{"Thought": "yes", "Score": "5"}</Solution>': 5.0,
    'I think so. {"thought": "maybe", "score": 2} Done.': 2.0,
    "<Solution>{'thought': 'python', 'score': 1}</Solution>": 1.0,
    '{"score": 4.0}': 4.0,
}
NO_SCORES = ["6", "3.5", "true", '"²"', '"5.0"', "NaN", "-Infinity", "1e999"]


def test_scores_are_read_and_what_is_none_counts_as_neutral():
    unreadable = ["no idea", "[1]", "", *(f'{{"score": {value}}}' for value in NO_SCORES)]
    for answer, score in (SCORED | dict.fromkeys(unreadable, ranking.UNREADABLE_TOOL)).items():
        read = ranking.read_assessments(tools=tools("visual_grounding"), answers=[said(answer)])["visual_grounding"]
        assert (read.score, bool(read.problem)) == (score, answer in unreadable), answer


# --- binding ------------------------------------------------------------------------------------------------------


def test_an_argument_that_only_one_resource_fits_is_bound_and_the_others_are_left_open():
    _, (detect, select, draw) = _solution()
    assert detect.inputs == {"image": "a.png"}
    assert select.inputs == {"bbox_list": "<TOOL-GENERATED>-object_detection-bbox-0", "condition": "dog"}
    assert draw.inputs == {"image": "a.png", "bbox": None}
    assert draw.outputs == {"result": "<GENERATED>-0"}
    assert draw.open_inputs == ("bbox",)


@settings(max_examples=60, deadline=None)
@given(
    domains=st.lists(st.sampled_from(sorted({tool.domain for tool in ALL})), min_size=1, max_size=2),
    args=st.lists(st.sampled_from(sorted({kind for tool in ALL for kind in tool.input_types})), min_size=1, max_size=4),
    returns=st.sampled_from(sorted({kind for tool in ALL for kind in tool.output_types})),
)
def test_every_solution_that_is_bound_and_filled_is_a_valid_plan(domains, args, returns):
    given_names = {f"r{index}": kind for index, kind in enumerate(args)}
    wanted = TypedSubtask(
        id=0,
        description="Do it.",
        domains=tuple(domains),
        args=tuple(Resource(type=kind, value=f"${name}") for name, kind in given_names.items()),
        returns=(Resource(type=returns, value="<GENERATED>-0"),),
    )
    inside = tools_in_domains(tools=ALL, domains=domains)
    found = search(tools=inside, args=args, returns=[returns], choose=exhaustive, scores=SCORES, most=4)
    context = PlanContext(catalogue=CONTROLLLM, resources=given_names, expects=None)
    for path in found.paths[:50]:
        filled = binding.fill(subtask=wanted, solution=bind(path=path, subtask=wanted))
        parsed = read_plan(value=[solution_json(filled.solution)], context=context)
        assert check_plan(plan=parsed.plan, context=context) == ()
        assert parsed.tolerated == ()
        assert parsed.plan.answers == ("<GENERATED>-0",)


# --- solutions ----------------------------------------------------------------------------------------------------


def test_the_solution_that_says_all_of_the_description_comes_first():
    wanted = subtask("Detect the objects, select boxes of the dog and crop the picture to these.", returns="image")
    paths = [
        tools("object_detection", "image_cropping"),
        tools("object_detection", "select_bbox", "image_cropping"),
        tools("object_detection", "select_bbox", "highlight_object_on_image"),
        tools("object_detection", "select_bbox", "image_cropping", "image_to_image"),
    ]
    ranked = score_offline(subtask=wanted, paths=paths, scores=SCORES, lexicon=LEXICON)
    assert [tool.name for tool in ranked[0].path] == ["object_detection", "select_bbox", "image_cropping"]
    assert all(1 <= one.score <= 5 for one in ranked)
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)


def test_the_best_solution_is_kept_whatever_its_score_and_at_most_four_alternatives_of_three():
    for scores, kept in (((2, 1), [2]), ((5, 3, 2.9), [5, 3]), ((5, 5, 4, 4, 3, 3, 3), [5, 5, 4, 4, 3]), ((), [])):
        ranked = [Ranked(path=tools("image_captioning"), score=score) for score in scores]
        assert [one.score for one in keep(ranked)] == kept


def test_answers_rank_solutions_and_an_unreadable_one_comes_last():
    given = [Ranked(path=tools(name), score=4.0) for name in ("image_captioning", "summarization", "title_generation")]
    answers = [said('{"score": 2}'), said("?"), said('{"score": 5}')]
    ranked = rank_by_answers(solutions=given, answers=answers)
    assert [one.path[0].name for one in ranked] == ["title_generation", "image_captioning", "summarization"]
    assert ranked[-1].thought.startswith("not JSON")


# --- resources ----------------------------------------------------------------------------------------------------

HIGHLIGHT = ("object_detection", "select_bbox", "highlight_object_on_image")


def _solution():
    wanted = subtask("Highlight the dog.", returns="image", image="a.png", text="dog")
    return wanted, bind(path=tools(*HIGHLIGHT), subtask=wanted)


def test_offline_the_latest_result_that_nobody_takes_fills_an_open_argument():
    wanted, solution = _solution()
    filled = binding.fill(subtask=wanted, solution=solution).solution
    assert filled[2].inputs["bbox"] == "<TOOL-GENERATED>-select_bbox-bbox-0"
    assert all(not action.open_inputs for action in filled)


def test_what_was_bound_is_never_changed():
    wanted, solution = _solution()
    answer = said('<Solution>{"bbox": "<TOOL-GENERATED>-object_detection-bbox-0", "image": "b.png"}</Solution>')
    filled = binding.fill(subtask=wanted, solution=solution, answers=[answer]).solution
    assert filled[2].inputs == {"image": "a.png", "bbox": "<TOOL-GENERATED>-object_detection-bbox-0"}
    assert filled[:2] == solution[:2]


def test_a_resource_that_is_not_there_is_refused_and_filled_offline():
    wanted, solution = _solution()
    named = [json.dumps({"bbox": value}) for value in ("<TOOL-GENERATED>-visual_grounding-bbox-7", "a.png", "it", 3)]
    for answer in (*named, "no JSON at all", "{}", '[{"image": "a.png"}]'):
        filled = binding.fill(subtask=wanted, solution=solution, answers=[said(answer)])
        assert filled.solution[2].inputs["bbox"] == "<TOOL-GENERATED>-select_bbox-bbox-0", answer
        assert filled.notes


def test_a_text_may_be_written_but_a_reference_may_not_be_invented():
    wanted = subtask("Answer.", domains=("visual-question-answering",), returns="text", image="a.png")
    path = tools("image_captioning", "image_question_answering")
    solution = tuple(bind(path=[tool], subtask=wanted)[0] for tool in path)
    written = binding.fill(subtask=wanted, solution=solution, answers=[said('{"text": "What colour is it?"}')])
    invented = binding.fill(subtask=wanted, solution=solution, answers=[said('{"text": "<GENERATED>-9"}')])
    assert written.solution[1].inputs["text"] == "What colour is it?"
    assert invented.solution[1].inputs["text"] == "<GENERATED>-0"
