"""Thoughts-on-Graph: what every path it finds has, and what the four strategies find of each other."""

from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.controlllm.strategies.search import (
    MAX_TOOLS,
    adaptive,
    beam,
    exhaustive,
    greedy,
    search,
    tools_in_domains,
)
from evaluator.core.tools.catalogues import CONTROLLLM
from tests.evaluator.controlllm.strategies.tog_factories import ALL, kinds, tools

SCORES = dict.fromkeys(CONTROLLLM.tools, 3.0)
DOMAINS = sorted({tool.domain for tool in ALL})
KINDS = sorted({kind for tool in ALL for kind in (*tool.input_types, *tool.output_types)})

some_scores = st.fixed_dictionaries({name: st.integers(1, 5).map(float) for name in CONTROLLLM.tools})
subtasks = st.fixed_dictionaries(
    {
        "tools": st.lists(st.sampled_from(DOMAINS), min_size=1, max_size=2).map(
            lambda domains: tools_in_domains(tools=ALL, domains=domains)
        ),
        "args": st.lists(st.sampled_from(KINDS), min_size=1, max_size=3).map(tuple),
        "returns": st.sampled_from(KINDS).map(lambda kind: (kind,)),
    }
)


def names(paths) -> list[tuple[str, ...]]:
    return [tuple(tool.name for tool in path) for path in paths]


@settings(max_examples=60, deadline=None)
@given(subtask=subtasks, scores=some_scores, choose=st.sampled_from([greedy, beam, adaptive, exhaustive]))
def test_every_path_can_be_called_in_order_and_ends_in_what_is_returned(subtask, scores, choose):
    found = search(**subtask, choose=choose, scores=scores)
    for path in found.paths:
        there = set(subtask["args"])
        for tool in path:
            assert there.issuperset(tool.input_types)
            there.update(tool.output_types)
        assert 1 <= len(path) <= MAX_TOOLS
        assert len(set(path_names := [tool.name for tool in path])) == len(path_names)
        assert set(path[-1].output_types) & set(subtask["returns"])
        assert all(tool in subtask["tools"] for tool in path)


@settings(max_examples=60, deadline=None)
@given(subtask=subtasks)
def test_no_output_is_idle_and_all_arguments_are_taken_where_that_is_said(subtask):
    found = search(**subtask, choose=exhaustive, scores=SCORES)
    for path in found.paths:
        wanted = list(subtask["returns"])
        takers = [kind for tool in path for kind in tool.input_types]
        made = [kind for tool in path for kind in tool.output_types]
        given_to_take = list(subtask["args"]) if found.all_arguments else []
        for kind in KINDS:
            # Each resource needs a taker of its own, but for those that are returned.
            assert made.count(kind) + given_to_take.count(kind) <= takers.count(kind) + wanted.count(kind)


@settings(max_examples=40, deadline=None)
@given(subtask=subtasks, scores=some_scores, choose=st.sampled_from([greedy, beam, adaptive, exhaustive]))
def test_leaving_out_dead_ends_changes_no_result(subtask, scores, choose):
    # Four tools at most, since without bounds five are too many to walk in a test.
    few = {**subtask, "choose": choose, "scores": scores, "most": 4}
    with_bounds, without = search(**few), search(**few, prune=False)
    assert with_bounds.paths == without.paths
    assert with_bounds.all_arguments == without.all_arguments
    assert with_bounds.nodes <= without.nodes


@settings(max_examples=40, deadline=None)
@given(subtask=subtasks, scores=some_scores)
def test_a_beam_as_wide_as_the_graph_is_the_exhaustive_search(subtask, scores):
    wide = search(**subtask, choose=partial(beam, width=len(ALL)), scores=scores)
    assert set(names(wide.paths)) == set(names(search(**subtask, choose=exhaustive, scores=scores).paths))


@settings(max_examples=60, deadline=None)
@given(subtask=subtasks, scores=some_scores)
def test_what_a_narrower_strategy_finds_a_wider_one_finds(subtask, scores):
    found = {choose: search(**subtask, choose=choose, scores=scores) for choose in (greedy, beam, adaptive, exhaustive)}
    for narrow, wide in [(greedy, beam), (greedy, adaptive), (beam, exhaustive), (adaptive, exhaustive)]:
        if found[narrow].all_arguments == found[wide].all_arguments:
            assert set(names(found[narrow].paths)) <= set(names(found[wide].paths))
        else:
            # The narrower found nothing that takes all arguments, and settled for less.
            assert found[wide].all_arguments


def test_the_strategies_choose_as_the_paper_says():
    there = tools("object_detection", "image_captioning", "image_classification", "segment_anything")
    scores = {"object_detection": 2.0, "image_captioning": 5.0, "image_classification": 3.0, "segment_anything": 3.0}
    chosen = {choose: [tool.name for tool in choose(there, scores)] for choose in (greedy, adaptive, exhaustive)}
    assert chosen[greedy] == ["image_captioning"]
    assert chosen[adaptive] == ["image_captioning", "image_classification", "segment_anything"]
    assert chosen[exhaustive] == [tool.name for tool in there]
    assert [tool.name for tool in beam(there, scores, width=2)] == ["image_captioning", "image_classification"]


def test_the_adaptive_strategy_takes_the_best_where_none_is_good():
    there = tools("object_detection", "image_captioning")
    chosen = adaptive(there, {"object_detection": 2.0, "image_captioning": 1.0})
    assert [tool.name for tool in chosen] == ["object_detection"]


def test_selecting_after_segmenting_is_found_only_if_the_thing_is_given():
    inside = tools_in_domains(tools=ALL, domains=["image-perception"])
    with_thing = search(
        tools=inside, args=kinds("image", "text"), returns=kinds("mask"), choose=exhaustive, scores=SCORES
    )
    without = search(tools=inside, args=kinds("image"), returns=kinds("mask"), choose=exhaustive, scores=SCORES)
    assert ("image_instance_segmentation", "select_mask") in names(with_thing.paths)
    assert ("image_instance_segmentation",) not in names(with_thing.paths)
    assert ("image_instance_segmentation",) in names(without.paths)


def test_arguments_that_nothing_takes_do_not_keep_a_subtask_from_being_solved():
    found = search(
        tools=tools("image_captioning"),
        args=kinds("image", "audio"),
        returns=kinds("text"),
        choose=exhaustive,
        scores=SCORES,
    )
    assert names(found.paths) == [("image_captioning",)]
    assert found.all_arguments is False


def test_a_type_that_cannot_be_reached_has_no_path_and_costs_nothing():
    found = search(tools=ALL, args=kinds("point"), returns=kinds("html"), choose=exhaustive, scores=SCORES)
    assert found.paths == ()
    assert found.nodes == 0


def test_a_search_that_would_take_too_long_looks_for_shorter_paths():
    wanted = {"tools": ALL, "args": kinds("image", "text"), "returns": kinds("image"), "choose": exhaustive}
    found = search(**wanted, scores=SCORES, budget=500)
    assert found.most < MAX_TOOLS
    assert found.nodes <= 500
    assert found.paths == search(**wanted, scores=SCORES, most=found.most).paths
