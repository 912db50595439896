"""Mind2Web: the file made from the released layout, walking, and which steps count."""

import json

import pytest

from evaluator.core.suites.registry import forget, suite_of
from evaluator.core.transcripts import ActionProblem
from evaluator.core.turns import TurnRequest, TurnResponse
from evaluator.episodes.base import Setting, episode_of
from evaluator.lumos.mounted import VARIABLE
from evaluator.lumos.web.building import LONGEST, build, texts_of
from evaluator.lumos.web.steps import POOL, STEPS, StepFileError, read_walks
from evaluator.planners.bundled import bundled_planner
from tests.evaluator.episodes.turns.toy import Answers

KEY = "0a1b"


def candidate(node: int, *, tag: str = "button", **attributes: str) -> dict[str, object]:
    return {"tag": tag, "attributes": json.dumps(attributes), "backend_node_id": str(node), "score": 0.1}


def action(uid: str, *, op: str, value: str = "", right: list[int], html: str, others: int = 60) -> dict[str, object]:
    return {
        "action_uid": uid, "raw_html": "<html>", "cleaned_html": html,
        "operation": {"op": op, "original_op": op, "value": value},
        "pos_candidates": [candidate(node, tag="a") for node in right],
        "neg_candidates": [candidate(100 + number, aria_label=f"other {number}") for number in range(others)],
    }  # fmt: skip


def released() -> list[dict[str, object]]:
    """One task in the released layout, of four steps: a click, a text, one without and one below the pool."""
    page = '<html><div><a backend_node_id="7">Search <b>flights</b></a><br><a backend_node_id="8">Home'
    return [
        {
            "annotation_id": KEY, "website": "united", "domain": "Travel", "subdomain": "Airlines",
            "confirmed_task": "Find a flight.",
            "action_reprs": ["[link] Search -> CLICK", "[textbox] To -> TYPE: New York", "[a] ? -> CLICK",
                             "[a] x -> CLICK"],
            "actions": [
                action("u1", op="CLICK", right=[7, 8], html=page),
                action("u2", op="TYPE", value="New York", right=[7], html=page),
                action("u3", op="CLICK", right=[], html=page), action("u4", op="CLICK", right=[7], html=page),
            ],
        }
    ]  # fmt: skip


def ranks() -> dict[str, dict[str, int]]:
    """The right element is second in the first steps, and last in the fourth."""
    others = {str(100 + number): 2 * number for number in range(60)}
    return {f"{KEY}_u{step}": {**others, "7": 1, "8": 40} for step in (1, 2, 3)} | {f"{KEY}_u4": {**others, "7": 999}}


@pytest.fixture
def made(monkeypatch, tmp_path):
    """The suite with its file."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "mounted"))
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "test_domain_0.json").write_text(json.dumps(released()))
    (tmp_path / "ranks.json").write_text(json.dumps(ranks()))
    target = STEPS.path(STEPS.files[0])
    assert build(pages=tmp_path / "pages", ranks=tmp_path / "ranks.json", target=target) == 1
    forget()
    yield tmp_path
    forget()


def walked(*actions: str, answer: bool = False):
    """The record of an episode with these actions, one for each turn."""
    suite = suite_of("mind2web")

    def reply(request: TurnRequest) -> TurnResponse:
        place = len(request.history)
        return TurnResponse(actions=actions[place]) if place < len(actions) else TurnResponse(stop=True)

    evaluator = episode_of("mind2web").evaluator(suite=suite, setting=Setting())
    (record,) = evaluator.run(planner=Answers(reply), tasks=[KEY])
    return record


def test_the_pool_has_the_best_elements_in_their_order(made):
    (walk,) = read_walks(STEPS.path(STEPS.files[0]))
    first, second, third, fourth = walk.steps
    assert [len(step.elements) for step in walk.steps] == [POOL] * 4
    assert first.elements[:3] == ('button "other 0"', 'a "Search flights"', 'button "other 1"')
    assert first.elements[first.right[1]] == 'a "Home"'
    assert (second.operation, second.value, second.right) == ("TYPE", "New York", (1,))
    assert (third.right, fourth.right) == ((), ()), "no element, and one that is ranked below the pool"


def test_the_first_action_of_each_step_counts_and_the_recorded_one_is_taken(made):
    record = walked(
        "R1 = OPEN(start)",
        "R2 = CLICK(R1, 1)",
        "R3 = TYPE(R2, 1, TEXT: new  york)",
        "R4 = CLICK(R3, 0)",
        "R5 = CLICK(R4, 0)",
    )
    pages = [action.outputs for turn in record.transcripts[0].turns for action in turn.actions]
    assert pages[1]["R2"].startswith("Step 2 of 4. Step 1 was recorded as: [link] Search -> CLICK\n")
    assert pages[4]["R5"].startswith("All steps are done.")
    assert (record.score, record.indicators["element_accuracy"], record.indicators["solved"]) == (0.5, 0.5, 0.0)


def test_another_try_after_the_recorded_action_was_told_counts_nothing(made):
    record = walked("R1 = OPEN(start)", "R2 = CLICK(R1, 0)", "R3 = CLICK(R1, 1)")
    assert (record.score, record.indicators["element_accuracy"]) == (0.0, 0.0)


def test_the_right_element_with_another_operation_or_text_is_no_right_step(made):
    record = walked("R1 = OPEN(start)", "R2 = TYPE(R1, 1, TEXT: x)", "R3 = TYPE(R2, 1, TEXT: Boston)")
    assert (record.score, record.indicators["element_accuracy"]) == (0.0, 0.5)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("R2 = CLICK(Step 4 of 4., 1)", ActionProblem.BAD_ARGUMENTS),
        ("R2 = CLICK(R1, 50)", ActionProblem.BAD_REFERENCE),
        ("R2 = CLICK(R1, -1)", ActionProblem.BAD_ARGUMENTS), ("R2 = CLICK(R1, Search)", ActionProblem.BAD_ARGUMENTS),
        ("R2 = CLICK(R1)", ActionProblem.BAD_ARGUMENTS), ("R2 = TYPE(R1, 1)", ActionProblem.BAD_ARGUMENTS),
        ("R2, R3 = CLICK(R1, 1)", ActionProblem.BAD_ARGUMENTS), ("R2 = HOVER(R1, 1)", ActionProblem.UNKNOWN_TOOL),
        ("R2 = CLICK(R1, 99999999999999999999)", ActionProblem.BAD_ARGUMENTS),
    ],
)  # fmt: skip
def test_what_is_no_step_gets_a_sentence_and_does_not_count(made, text, problem):
    record = walked("R1 = OPEN(start)", text, "R4 = CLICK(R1, 1)")
    found = record.transcripts[0].turns[1].actions[0]
    assert (found.problem, bool(found.error)) == (problem, True)
    assert record.score == 0.25, "the next action on the page is the first that counts"


def test_gold_is_what_the_pool_allows(made):
    suite = suite_of("mind2web")
    evaluator = episode_of("mind2web").evaluator(suite=suite, setting=Setting())
    (record,) = evaluator.run(planner=bundled_planner(name="gold", suite=suite), tasks=[KEY])
    assert (record.score, record.indicators["solved"]) == (0.5, 0.0)


def test_texts_of_elements_survive_a_page_that_is_not_closed():
    page = '<p backend_node_id="1">a<br>b</div><i backend_node_id="2">c</p>d<script backend_node_id="3">e'
    assert texts_of(page, nodes=["1", "2"]) == {"1": "a b c", "2": "c"}


@pytest.mark.parametrize(
    ("pages", "ranked", "named"),
    [
        ("{}", "{}", "no list of tasks"), ('[{"annotation_id": "a"}]', "{}", "task 0 has another form"),
        (json.dumps(released()), "{}", f"the file of ranks lacks {KEY}_u1"),
        (json.dumps(released()), "[]", "no object of"),
        ("[", "{}", "cannot be read"),
    ],
)  # fmt: skip
def test_files_of_another_form_make_nothing(pages, ranked, named, tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.json").write_text(pages)
    (tmp_path / "ranks.json").write_text(ranked)
    with pytest.raises(StepFileError, match=named):
        build(pages=tmp_path / "pages", ranks=tmp_path / "ranks.json", target=tmp_path / "steps.jsonl")
    assert not (tmp_path / "steps.jsonl").exists()


@pytest.mark.parametrize("line", ["", "3", "{}", '{"steps": []}', '{"steps": [{"operation": "HOVER"}]}', "[" * 100_000])
def test_a_damaged_line_is_named(made, line):
    path = STEPS.path(STEPS.files[0])
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(StepFileError, match="line 2 is no task"):
        read_walks(path)


def test_long_elements_are_cut(made):
    page = f'<a backend_node_id="7">{"word " * 50}</a>'
    task = released()[0]
    task["actions"][0]["cleaned_html"] = page
    (made / "pages" / "test_domain_0.json").write_text(json.dumps([task]))
    target = made / "other.jsonl"
    build(pages=made / "pages", ranks=made / "ranks.json", target=target)
    words = read_walks(target)[0].steps[0].elements[1]
    assert words.endswith('…"')
    assert len(words) <= LONGEST + 4
