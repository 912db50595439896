"""A transcript as its task's page shows it."""

from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.transcripts import ActionProblem, ActionRun, StopReason, Transcript, TurnRun
from leaderboard.evaluations.web.tasks.transcript_shown import (
    MOST_ACTIONS,
    MOST_TRANSCRIPTS,
    MOST_TURNS,
    shown_transcripts,
)


def record(*turns: TurnRun, episodes: int = 1) -> ResultRecord:
    one = Transcript(
        sample=0, formulation="iterative", turns=list(turns), stop=StopReason.ANSWERED, answer="7", expected="8",
        score=0.0,
    )  # fmt: skip
    return ResultRecord(
        suite="s", task="1", request="", metric="solved", outcome=Outcome.SCORED, score=0.0,
        transcripts=[one] * episodes,
    )  # fmt: skip


def test_subgoals_are_numbered_through_the_episode():
    turns = [TurnRun(received=["{}"], subgoals=goals) for goals in (["a", "b"], [], ["c"])]
    (shown,) = shown_transcripts(record(*turns))
    assert [turn.subgoals for turn in shown.turns] == [((1, "a"), (2, "b")), (), ((3, "c"),)]


def test_a_turn_tells_its_time_its_tries_and_its_tokens():
    good = ActionRun(tool="Add", arguments="1", outputs={"R1": "1"}, seconds=0.25)
    bad = ActionRun(tool="Add", arguments="x", problem=ActionProblem.BAD_ARGUMENTS, error="No.", seconds=0.5)
    first = TurnRun(
        received=["{}"], actions=[good, bad], seconds=1.5, tries=3, prompt_tokens=1200, completion_tokens=34
    )
    (shown,) = shown_transcripts(record(first, TurnRun(received=["{}"], prompt_tokens=300)))
    turn = shown.turns[0]
    assert (turn.seconds, turn.tool_seconds, turn.tries, turn.tokens) == (1.5, 0.75, 3, "tokens 1,200 in, 34 out")
    assert [(action.problem, action.error) for action in turn.actions] == [("", ""), ("bad arguments", "No.")]
    assert shown.totals == ("2 turns", "2 actions, 1 without a result", "tokens 1,500 in, 34 out")
    assert shown.is_right is False


def test_a_long_record_is_cut_and_the_page_says_so():
    actions = [ActionRun(tool="Add", arguments="1")] * (MOST_ACTIONS + 2)
    turns = [TurnRun(received=["{}"], actions=actions), *[TurnRun(received=["{}"])] * (MOST_TURNS + 2)]
    shown = shown_transcripts(record(*turns, episodes=MOST_TRANSCRIPTS + 1))
    assert len(shown) == MOST_TRANSCRIPTS
    assert (len(shown[0].turns), shown[0].turns_left_out) == (MOST_TURNS, 3)
    assert (len(shown[0].turns[0].actions), shown[0].turns[0].actions_left_out) == (MOST_ACTIONS, 2)
    assert shown[0].totals[0] == f"{MOST_TURNS + 3} turns"


def test_a_program_of_several_lines_is_numbered_and_names_the_line_that_failed():
    program = "total = 0\nfor x in R1:\n    total += 1 / 0\ntotal"
    bad = ActionRun(
        tool="Code", arguments=program, problem=ActionProblem.TOOL_ERROR, error="Line 3: The program raised an error."
    )
    quoted = ActionRun(tool="Code", arguments=repr(program), outputs={"R2": "7"})
    steps = ActionRun(tool="Steps", arguments='["f(grid)", "g(v1)"]', outputs={"R3": "Test 1: error. Line 2: x"})
    short = ActionRun(tool="Code", arguments="'1 + 1'", outputs={"R4": "2"})
    (shown,) = shown_transcripts(record(TurnRun(received=["{}"], actions=[bad, quoted, steps, short])))
    first, second, third, last = shown.turns[0].actions
    assert [line.text for line in first.code] == program.splitlines()
    assert [line.number for line in first.code if line.is_failing] == [3]
    assert [line.text for line in second.code] == program.splitlines()
    assert not any(line.is_failing for line in second.code)
    assert [(line.text, line.is_failing) for line in third.code] == [("f(grid)", False), ("g(v1)", True)]
    assert (last.code, last.text) == ((), "Code('1 + 1')")
