"""The planners without a model: what they find, and that what they find runs where programs run."""

import pytest

from evaluator.arc.anchors import IdentityPlanner, SearchPlanner
from evaluator.arc.helpers.catalogue import library
from evaluator.arc.search.functions import Grid
from evaluator.arc.search.searching import search
from evaluator.arc.search.terms import Bench, WorkIsDoneError
from evaluator.core.planner import Expected, PlannerRequest, RequestedTask
from evaluator.core.suites.registry import suite_of
from evaluator.sandbox.programs.results import Returned
from evaluator.sandbox.programs.runner import Program, Runner
from tests.rings import usual


def grid(text: str) -> Grid:
    """Rows of letters, separated by spaces."""
    return [list(row) for row in text.split()]


def outputs(programs: list[str], *, inputs: list[Grid]) -> list[list[object]]:
    """What the programs return in the sandbox."""
    with Runner(library=[library()]) as runner:
        ran = runner.run([Program(source=one, entry="transform_grid", calls=[[g] for g in inputs]) for one in programs])
    return [[one.value if isinstance(one, Returned) else one for one in results] for results in ran]


CASES = {
    "flip": ([("ab. c..", ".ba ..c"), ("a.b .cc", "b.a cc.")], "abc ...", "cba ..."),
    "largest object": ([("aa.b aa.. ....", "aa aa"), ("c..d ..dd ..dd", ".d dd dd")], "e... ..ff ...f", "ff .f"),
    "recolour": ([("ab ba", "cb bc"), ("aa .b", "cc .b")], "a. bb", "c. bb"),
    "fill": (
        [("..... .aaa. .a.a. .aaa.", "..... .aaa. .aba. .aaa."), ("aaaa a..a aaaa ....", "aaaa abba aaaa ....")],
        "..... aaa.. a.a.. aaa..", "..... aaa.. aba.. aaa..",
    ),
    "halves": ([("a.da. aada.", "b. b."), (".ada. a.d.a", ".. .."), ("aadaa ..d..", "bb ..")], "aad.a a.da.", ".b b."),
    "gravity": ([("a.b ... .c.", "... ... acb"), ("abc a.. ...", "... a.. abc")], "aa. b.. ...", "... a.. ba."),
    "enlarge": ([("ab", "aabb aabb"), ("a. .b", "aa.. aa.. ..bb ..bb")], "ca", "ccaa ccaa"),
}  # fmt: skip


@pytest.mark.parametrize("name", usual(CASES, of=["flip", "largest object", "fill"]))
def test_programs_fit_the_demonstrations_and_solve_the_test_in_the_sandbox(name):
    pairs, test, right = CASES[name]
    demonstrations = [(grid(given), grid(wanted)) for given, wanted in pairs]
    found = search(demonstrations=demonstrations, tests=[grid(test)])
    made = outputs(found, inputs=[*(given for given, _ in demonstrations), grid(test)])
    assert 1 <= len(found) <= 3
    assert all(one[:-1] == [wanted for _, wanted in demonstrations] for one in made)
    assert grid(right) in [one[-1] for one in made]


def test_a_budget_bounds_the_work_and_a_larger_one_keeps_the_first_answer():
    pairs, test, _ = CASES["fill"]
    demonstrations = [(grid(given), grid(wanted)) for given, wanted in pairs]
    assert search(demonstrations=demonstrations, tests=[grid(test)], budget=100) == []
    bench = Bench(inputs=[grid(test)], budget=1000)
    bench.spend(1000)
    with pytest.raises(WorkIsDoneError):
        bench.apply("mirrored", [bench.first])


def test_nothing_is_found_where_demonstrations_contradict_each_other():
    same = [(grid("ab"), grid("ab")), (grid("ab"), grid("ba"))]
    assert search(demonstrations=same, tests=[grid("ab")], budget=200_000) == []


def request(given: dict) -> PlannerRequest:
    return PlannerRequest(
        suite="arc-111", task=RequestedTask(id="1", request="", resources={}, given=given), expects=Expected(type=None),
        tools=[],
    )  # fmt: skip


def test_planners_take_only_what_is_given():
    given = {
        "train": [{"input": [[1, 2]], "output": [[2, 1]]}, {"input": [[2, 5]], "output": [[5, 2]]}],
        "test": [{"input": [[3, 4]]}],
    }
    suite = suite_of("openagi")
    assert IdentityPlanner(suite).plan(request(given)).plan == {"grids": [[[3, 4]]]}
    found = SearchPlanner(suite).plan(request(given))
    assert outputs([found.plan["program"]], inputs=[grid("cd")]) == [[grid("dc")]]
    assert len(found.alternatives) <= 2


def test_the_answers_are_the_same_each_time_and_differ_on_the_test():
    pairs, test, _ = CASES["flip"]
    demonstrations = [(grid(given), grid(wanted)) for given, wanted in pairs[:1]]
    first, second = (search(demonstrations=demonstrations, tests=[grid(test)]) for _ in range(2))
    made = [repr(output) for output in outputs(first, inputs=[grid(test)])]
    assert first == second
    assert len(set(made)) == len(made)
