"""One way to a task's answer, as a planner would reply it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GoldTurn:
    """One turn: a subgoal and the text of its actions, as a planner replies them."""

    subgoal: str
    actions: str
