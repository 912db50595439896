"""The open turns of agent-driven evaluations, and when their agents were last heard of."""

from django.db import models

from leaderboard.evaluations.models import Evaluation


class AgentPresence(models.Model):
    """When the agent of an evaluation last called."""

    evaluation = models.OneToOneField(
        Evaluation, on_delete=models.CASCADE, primary_key=True, related_name="agent_presence"
    )
    seen_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"agent of {self.evaluation_id}"


class AgentTurn(models.Model):
    """One turn: opened by a worker, handed to the agent, answered by it. Deleted when its evaluation ends."""

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="agent_turns")
    task = models.CharField(max_length=200)
    """As planners are asked for it."""
    key = models.CharField(max_length=400)
    """Of the turn: a worker that opens it again gets the answer that it has."""
    request = models.TextField()
    """A `TurnRequest` as JSON."""
    opened_at = models.DateTimeField(auto_now_add=True)
    handed_at = models.DateTimeField(null=True)
    """When the agent last got it; null: it has not."""
    answered_at = models.DateTimeField(null=True)
    response = models.TextField(blank=True)
    """A `TurnResponse` as JSON; empty until it is answered."""
    end = models.TextField(blank=True)
    """What the agent is told at the end of the task, where this was its last turn."""
    end_is_error = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["evaluation", "key"], name="an_agents_turn_is_opened_once"),
            models.CheckConstraint(
                condition=models.Q(answered_at=None, response="")
                | models.Q(answered_at__isnull=False) & ~models.Q(response=""),
                name="an_answered_turn_has_an_answer",
            ),
        ]

    def __str__(self) -> str:
        return self.key
