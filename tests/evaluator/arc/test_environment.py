"""ARC's episodes: candidates on demonstrations and tests, feedback, and what planners never see."""

import json

import pytest

from evaluator.arc.plan_forms import STEPS
from evaluator.arc.source import Split
from evaluator.arc.suite import expected_of
from evaluator.arc.tasks import tasks_of
from evaluator.arc.views import View
from evaluator.core.records import Outcome, Reason
from evaluator.core.turns import TurnResponse
from evaluator.sandbox.programs.results import Failed
from evaluator.sandbox.programs.runner import Runner
from evaluator.sandbox.programs.support import UnconfinedError
from evaluator.sandbox.programs.wire import Failure
from tests.evaluator.arc.small import MIRROR, TASK, TEST, evaluator, judged, mirrored
from tests.evaluator.episodes.turns.toy import Answers

WRONG = "def transform_grid(grid):\n    return grid"
RIGHT_GRIDS = {"grids": [[list(row) for row in mirrored(TEST)]]}
LEARNT = """def transform_grid(grid):
    if grid[0][0] == 'a' or grid[0][1] == 'c':
        return horizontal_flip(grid)
    return grid"""


def turns(*responses):
    left = list(responses)
    return Answers(lambda _: left.pop(0))


def played(*responses):
    planner = turns(*responses)
    with evaluator() as made:
        (record,) = made.run(planner=planner, tasks=[TASK.key])
    return record, planner


def step(tool, argument, name="R1"):
    given = {"Program": "program", "Grids": "grids", "View": "view", "Steps": "steps"}[tool]
    return TurnResponse(steps=[{"id": "s1", "tool": tool, "inputs": {given: argument}, "outputs": {"x": name}}])


@pytest.mark.parametrize("plan", [MIRROR, "R1 = horizontal_flip(INPUT)", RIGHT_GRIDS])
def test_each_track_solves_the_task(plan):
    record = judged(plan)
    assert (record.outcome, record.score, record.indicators["tests_right"]) == (Outcome.SCORED, 1.0, 1.0)
    (told,) = json.loads(record.transcripts[0].answer)
    assert record.indicators[f"by_{told['track']}"] == 1.0
    assert told["tests"] == [["h.g", "ii."]]
    assert json.loads(record.transcripts[0].expected) == RIGHT_GRIDS["grids"]


def test_up_to_three_candidates_count_in_their_order():
    record = judged(WRONG, "R1 = vertical_flip(INPUT)", MIRROR)
    assert [record.indicators[f"solved_{count}"] for count in (1, 2, 3)] == [0.0, 0.0, 1.0]
    fourth = judged(WRONG, WRONG, "R1 = vertical_flip(INPUT)", MIRROR)
    assert fourth.score == 0.0


def test_demonstrations_may_mislead():
    record = judged(LEARNT)
    assert record.indicators["demonstrations_passed"] == 1.0
    assert (record.score, record.indicators["misled"]) == (0.0, 1.0)
    assert judged(LEARNT, MIRROR).indicators["misled"] == 0.0


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("import os\ndef transform_grid(grid):\n    return grid", "Line 1"),
        ("def transform(grid):\n    return grid", "transform_grid"),
        ("def transform_grid(grid):\n    return (", "Line 2"),
    ],
)
def test_a_program_that_cannot_run_is_no_candidate(program, sentence):
    record = judged(program)
    (action,) = record.transcripts[0].turns[0].actions
    assert (record.score, action.problem) == (0.0, "bad_arguments")
    assert sentence in action.error
    assert record.transcripts[0].answer is None


def test_feedback_names_errors_sizes_and_cells():
    failing = "def transform_grid(grid):\n    if grid[0][0] == 'a':\n        return grid[0][99]\n    return grid"
    record, planner = played(step("Program", failing), step("Program", MIRROR, "R2"), TurnResponse(answer="R2, R1"))
    told = planner.asked[1].past[0].feedback
    assert "Demonstration 1: error. Line 3: " in told
    assert "Demonstration 2: 6 of 6 cells differ" not in told
    assert "(0, 0) is . instead of d" in told
    assert "Test 1: a grid of 2 x 3 cells." in told
    assert "Demonstration 1: ok.\nDemonstration 2: ok." in planner.asked[2].past[1].feedback
    assert (record.score, record.indicators["solved_1"], record.indicators["turns"]) == (1.0, 1.0, 3.0)


def test_failures_of_steps_are_told_with_the_number_of_the_step():
    steps = json.dumps(["horizontal_flip(grid)", "crop_grid(v1, (0, 0), 'x')"])
    _, planner = played(step("Steps", steps), TurnResponse(stop=True))
    assert "Demonstration 1: error. Line 2: " in planner.asked[1].past[0].feedback


def test_helpers_are_tools_whose_results_go_on_as_values():
    record, planner = played(
        TurnResponse(actions="R1 = horizontal_flip(INPUT)"),
        TurnResponse(actions="R2 = fill_value(R1, (0, 0), 'a')"),
        TurnResponse(actions="R3 = get_objects(R1, diag=True)"),
        TurnResponse(answer="R1"),
    )
    assert record.score == 1.0
    assert "Demonstration 1: ok." in planner.asked[1].past[0].feedback
    # A list of objects is no grid, which is said of each input.
    assert "Demonstration 1: error." in planner.asked[3].past[2].feedback


@pytest.mark.parametrize(
    ("tool", "argument", "words"),
    [
        ("Grids", "[[[NaN]]]", "Grids takes JSON of finite numbers"),
        ("Grids", "[[[1e999]]]", "Grids takes JSON of finite numbers"),
        ("Grids", "[" * 300 + "]" * 300, "nested at most 60 levels deep"),
        ("Grids", "[" * 20000 + "]" * 20000, "Grids takes JSON"),
        ("Steps", "[]", "Steps takes a JSON list of expressions"),
        ("Steps", "[7]", "Steps takes a JSON list of expressions"),
    ],
)
def test_a_candidate_that_cannot_be_kept_is_the_planners_mistake(tool, argument, words):
    record, _ = played(step(tool, argument), TurnResponse(stop=True))
    (action,) = record.transcripts[0].turns[0].actions
    assert (record.outcome, action.problem) == (Outcome.SCORED, "bad_arguments")
    assert words in action.error


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["v9"], "There is no value 'v9' before the step 'v9'"),
        (["grid", "v3"], "There is no value 'v3' before the step 'v3'"),
        (["grid\n    x = 1"], "A step is an expression in Python"),
    ],
)
def test_a_helper_refuses_steps_that_only_a_program_could_take(lines, words):
    record, _ = played(
        step("Steps", json.dumps(lines)), TurnResponse(actions="R2 = horizontal_flip(R1)"), TurnResponse(stop=True)
    )
    action = record.transcripts[0].turns[1].actions[0]
    assert (record.outcome, action.problem) == (Outcome.SCORED, "bad_arguments")
    assert action.error.startswith(words)


@pytest.mark.parametrize("rows", ["list(zip(*zip(*mirrored)))", "tuple(mirrored)"])
def test_rows_and_grids_are_lists_by_the_papers_rule(rows):
    program = f"def transform_grid(grid):\n    mirrored = horizontal_flip(grid)\n    return {rows}"
    record = judged(program)
    assert record.score == 0.0
    (told,) = json.loads(record.transcripts[0].answer)
    assert told["tests"][0]["message"] == "The result contains a tuple where a list is expected."
    assert judged(program.replace(rows, f"[list(row) for row in {rows}]")).score == 1.0


def test_the_fourth_candidate_is_refused():
    record, _ = played(*(step("Program", WRONG, f"R{n}") for n in range(1, 5)), TurnResponse(answer="R1"))
    assert [action.problem for turn in record.transcripts[0].turns for action in turn.actions][-1] == "too_much"


def test_views_are_given_on_demand():
    _, planner = played(step("View", "objects_diag, more_info"), step("View", "x"), TurnResponse(stop=True))
    shown = json.loads(next(iter(planner.asked[1].past[0].results[0].outputs.values())))
    assert set(shown) == {"train", "test"}
    assert "There is no view 'x'; there are: grid, objects" in planner.asked[2].past[1].feedback


@pytest.mark.parametrize("grids", ["[]", "[[[1, 2], [3]]]", "{}", "x", "[[[77]]]"])
def test_grids_that_are_none_score_nothing(grids):
    record, _ = played(step("Grids", grids), TurnResponse(stop=True))
    assert (record.outcome, record.score) == (Outcome.SCORED, 0.0)


def test_steps_as_json_are_checked_like_programs():
    hostile = json.dumps(["open('/etc/passwd')"])
    record, planner = played(step(STEPS, hostile), TurnResponse(stop=True))
    assert record.score == 0.0
    assert "open" in planner.asked[1].past[0].feedback


def test_where_nothing_confines_programs_no_task_runs(monkeypatch):
    from evaluator.sandbox.programs import support

    class Missing:
        def require(self):
            raise UnconfinedError("This machine cannot keep programs from files.")

    monkeypatch.setattr(support, "support", Missing)
    record = judged(MIRROR)
    assert (record.outcome, record.reason) == (Outcome.NOT_RUN, Reason.UNCONFINED)


def test_a_lost_process_is_nobodys_fault(monkeypatch):
    gone = Failed(Failure.UNAVAILABLE, "The process of programs was lost.", None)
    monkeypatch.setattr(Runner, "run", lambda self, programs, *, schema: [(gone,) * 3 for _ in programs])
    record = judged(MIRROR)
    assert (record.outcome, record.reason) == (Outcome.INFRA_FAULT, Reason.EXPERT_FAILED)
    assert record.reason_text == "The process of programs was lost."


def forms(grid):
    """A grid as text in every form that requests contain."""
    letters = ["".join(".abcdefghi"[cell] for cell in row) for row in grid]
    rows = [list(row) for row in grid]
    yield json.dumps(rows, separators=(",", ":"))
    yield json.dumps(rows)
    yield "\\n".join(letters)
    yield json.dumps([list(row) for row in letters], separators=(",", ":"))
    yield json.dumps(letters, separators=(",", ":"))


def test_no_byte_that_a_planner_is_sent_has_a_right_test_output(released, full):
    """Of the paper's tasks: every view, all feedback, and the task itself."""
    tasks = tasks_of(Split.PAPER, folder=released)[:: 1 if full else 6]
    expected = {task.key: expected_of(task.key, folder=released) for task in tasks}
    answers = [
        *(step("View", view, f"R{place + 1}") for place, view in enumerate(View)),
        step("Program", WRONG, "R20"), step("Program", "def transform_grid(grid):\n    return [['a']]", "R21"),
        TurnResponse(actions="R22 = vertical_flip(INPUT)"), TurnResponse(stop=True),
    ]  # fmt: skip
    planner = Answers(lambda request: answers[len(request.history)])
    with evaluator(*tasks, expected=expected) as made:
        records = list(made.run(planner=planner, tasks=[task.key for task in tasks]))
    assert len(records) == len(tasks) >= 18
    assert len(planner.asked) == len(tasks) * len(answers)
    # One cell, or a row of blanks, is in every text.
    telling = {
        key: [grid for grid in grids if len(grid) * len(grid[0]) > 4 and not _is_known(grid, tasks=tasks, key=key)]
        for key, grids in expected.items()
    }
    assert sum(map(bool, telling.values())) > 0.7 * len(tasks)
    sent = [(request.task.id, _plain(request.model_dump_json())) for request in planner.asked]
    leaks = {key for key, text in sent for grid in telling[key] for form in forms(grid) if form in text}
    assert leaks == set()


def _plain(text):
    """A request as it is sent, without the marks of texts in texts."""
    return text.replace("\\\\n", "\\n").replace('\\"', '"')


def _is_known(grid, *, tasks, key):
    """Whether what a task gives contains a grid, so that views do too, or one of the answers above makes it."""
    task = next(task for task in tasks if task.key == key)
    own = {one for pair in task.demonstrations for one in (pair.input, pair.output)} | set(task.test_inputs)
    return any(_contains(one, part=grid) for one in own | {one[::-1] for one in own})


def _contains(grid, *, part):
    rows, columns = len(part), len(part[0])
    return any(
        all(grid[top + row][left : left + columns] == part[row] for row in range(rows))
        for top in range(len(grid) - rows + 1)
        for left in range(len(grid[0]) - columns + 1)
    )


def test_columns_tell_of_errors_helpers_and_views():
    record, _ = played(
        step("View", "grid"), step("View", "grid", "R2"), step("View", "x", "R3"), step("View", "pixels", "R3"),
        step("Program", "def transform_grid(grid):\n    return crop_grid(horizontal_flip(grid), 0, 0)", "R4"),
        TurnResponse(answer="R4"),
    )  # fmt: skip
    assert [record.indicators[key] for key in ("views", "helpers", "errors")] == [2.0, 2.0, 1.0]
    given = judged(RIGHT_GRIDS)
    assert (given.indicators["views"], given.indicators["errors"]) == (0.0, 0.0)
    assert "helpers" not in given.indicators
    assert judged("R1 = horizontal_flip(INPUT)").indicators["helpers"] == 1.0
