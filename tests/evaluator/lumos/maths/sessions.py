"""Running actions one after another, each result recorded as text and read again."""

from evaluator.lumos.maths.algebra.values import read_value
from evaluator.lumos.maths.tools import ToolFailure, run
from evaluator.replies.turns.actions import read_actions


def texts_of(reply, **recorded):
    """The texts of the results of a reply's actions by output; earlier results are given as texts.

    Every value passes through its text, as in an interrupted episode.
    """
    found = dict(recorded)
    for action in read_actions(text=reply).actions:
        values = {name: read_value(text) for name, text in found.items()}
        outcome = run(tool=action.tool, arguments=action.raw, values=values, outputs=len(action.outputs))
        assert not isinstance(outcome, ToolFailure), (str(action), outcome)
        assert [read_value(text) for text in outcome.texts] == list(outcome.values)
        found.update(zip(action.outputs, outcome.texts, strict=True))
    return found


def text_of(tool, arguments, **recorded):
    """The text of the one result of an action."""
    return texts_of(f"R99 = {tool}({arguments})", **recorded)["R99"]


def failure_of(tool, arguments, *, outputs=1, **recorded):
    """The failure of an action."""
    values = {name: read_value(text) for name, text in recorded.items()}
    outcome = run(tool=tool, arguments=arguments, values=values, outputs=outputs)
    assert isinstance(outcome, ToolFailure), outcome
    return outcome
