"""Figures of episodes: of one task, and of many."""

from evaluator.core.transcripts import (
    LONGEST_TOOL,
    MOST_PROBLEMS,
    UNREADABLE_REPLY,
    ActionProblem,
    ActionRun,
    StopReason,
    Transcript,
    TurnRun,
    summary_of,
)


def turn(*problems: ActionProblem | None, tool: str = "Add", error: str = "") -> TurnRun:
    actions = [ActionRun(tool=tool, arguments="1", problem=problem) for problem in problems]
    return TurnRun(received=["{}"], actions=actions, error=error)


def transcript(*turns: TurnRun, stop: StopReason = StopReason.STOPPED, score: float | None = 1.0) -> Transcript:
    return Transcript(sample=0, formulation="integrated", turns=list(turns), stop=stop, answer=None, score=score)


def test_problems_are_counted_by_tool_the_most_frequent_first():
    bad, unknown = ActionProblem.BAD_ARGUMENTS, ActionProblem.UNKNOWN_TOOL
    found = summary_of(
        [transcript(turn(bad, None, bad), turn(unknown, tool="Invented"), turn(error="No reply is read like this."))]
    )
    assert found is not None
    assert [(one.tool, one.problem, one.count) for one in found.problems] == [
        ("Add", "bad_arguments", 2), ("", "unknown_tool", 1), ("", UNREADABLE_REPLY, 1),
    ]  # fmt: skip
    assert [(end.stop, end.turns, end.score) for end in found.ends] == [(StopReason.STOPPED, 3, 1.0)]


def test_what_a_stranger_names_stays_short():
    turns = [turn(ActionProblem.TOOL_ERROR, tool=f"{place:03}" * 100) for place in range(100)]
    found = summary_of([transcript(*turns)])
    assert found is not None
    assert len(found.problems) == MOST_PROBLEMS
    assert max(len(one.tool) for one in found.problems) == LONGEST_TOOL
