"""How one task ended, as the API and files write it."""

from typing import Any

from rest_framework import serializers

from evaluator.scoring.causes.taxonomy import Cause
from leaderboard.evaluations.causes import read_findings
from leaderboard.evaluations.gold import withheld_from
from leaderboard.evaluations.models import TaskResult
from leaderboard.platform.api.examples import DIGEST, example
from leaderboard.platform.api.shapes import ModelOutput, Output

FINDING = {"cause": "wrong_tool", "step": "s1", "tool": "Image Denoising", "wanted": "Image Super Resolution"}


@example(FINDING, may_lack=("step", "tool", "input", "wanted", "given", "where"))
class FindingOutput(Output):
    """One cause why a task is below the gold score, with what it is about. What does not apply is absent."""

    cause = serializers.ChoiceField(choices=[cause.value for cause in Cause])
    step = serializers.CharField(required=False, help_text="Id of the planner's step; in turns, its number.")
    tool = serializers.CharField(required=False, help_text="Of that step, or the one that is missing or invented.")
    input = serializers.CharField(required=False, help_text="Argument of the tool.")
    wanted = serializers.CharField(required=False, help_text="What would be right.")
    given = serializers.CharField(required=False, help_text="What the planner gave.")
    where = serializers.CharField(required=False, help_text="Place in a text that could not be read, or its form.")


@example({
    "task": "14", "metric": "vit", "outcome": "scored", "reason": "", "reason_text": "", "score": 0.71,
    "indicators": {}, "seconds": 1.8, "plan_summary": "Image Denoising, Image Classification", "accepted": False,
    "record_digest": DIGEST, "episodes": None,
    "causes": [FINDING],
})  # fmt: skip
class ResultOutput(ModelOutput[TaskResult]):
    """How one task ended."""

    task = serializers.CharField(source="task.key")
    metric = serializers.CharField(source="task.metric")
    indicators = serializers.DictField(
        child=serializers.FloatField(),
        help_text="Indicators of the plan and of its answers by the key of their column, in [0, 1].",
    )

    episodes = serializers.JSONField(
        allow_null=True,
        help_text="Of suites in turns, how the task's episodes went: `ends` (for each `stop`, `turns` and `score`) and "
        "`problems` (of actions: `tool`, `problem` and `count`). Null elsewhere, and where the plan is withheld.",
    )

    causes = FindingOutput(
        many=True,
        allow_null=True,
        help_text="Why the task is below the gold score; empty at the gold score, and for tasks that never ran. Null: "
        "not found yet. Where gold plans are withheld, only the planner's own plan is named; where plans are, only "
        "the cause.",
    )

    class Meta:
        model = TaskResult
        fields = [
            "task", "metric", "outcome", "reason", "reason_text", "score", "indicators", "seconds", "plan_summary",
            "accepted", "record_digest", "episodes", "causes",
        ]  # fmt: skip

    def to_representation(self, instance: TaskResult) -> dict[str, Any]:
        shown = super().to_representation(instance)
        request = self.context.get("request")
        withheld = withheld_from(reader=request.user if request else None, evaluation=instance.evaluation)
        empty = {"record_digest"} if withheld.data else set()
        if withheld.plan:
            empty |= {"record_digest", "plan_summary", "reason_text"}
        if "causes" in shown:
            found = read_findings(instance.causes, withheld=withheld)
            shown["causes"] = None if found is None else [one.to_json() for one in found]
        if "episodes" in shown and (withheld.plan or not shown["episodes"]):
            shown["episodes"] = None
        return {**shown, **dict.fromkeys(empty & shown.keys(), "")}
