"""Replies of one turn: the actions of a grounding reply, and the subgoals or the stop of a planning reply."""

from evaluator.plans.turns.actions import MAX_ACTIONS, read_actions
from evaluator.plans.turns.binding import BindingError, Parameter, bind_arguments
from evaluator.plans.turns.model import (
    Action,
    Actions,
    Argument,
    Place,
    Reference,
    Stop,
    Subgoal,
    Subgoals,
    TurnSyntaxError,
    UnknownReferenceError,
    substitute,
)
from evaluator.plans.turns.scanning import MAX_TEXT
from evaluator.plans.turns.subgoals import MAX_SUBGOALS, read_plan_reply

__all__ = [
    "MAX_ACTIONS",
    "MAX_SUBGOALS",
    "MAX_TEXT",
    "Action",
    "Actions",
    "Argument",
    "BindingError",
    "Parameter",
    "Place",
    "Reference",
    "Stop",
    "Subgoal",
    "Subgoals",
    "TurnSyntaxError",
    "UnknownReferenceError",
    "bind_arguments",
    "read_actions",
    "read_plan_reply",
    "substitute",
]
