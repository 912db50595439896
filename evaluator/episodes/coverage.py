"""Which tasks can run in a profile. Imports no torch: the web server asks it when a planner is submitted."""

from evaluator.core.records import Reason
from evaluator.core.suites.base import ABSTENTION, Suite
from evaluator.core.suites.samples import SampleSource
from evaluator.execution.experts.profile import Profile
from evaluator.scoring.metrics.rule_names import RULE_NAMES, VARIATION


def not_run_reasons(*, suite: Suite, profile: Profile, samples: SampleSource) -> dict[str, tuple[Reason, str]]:
    """The tasks that cannot run in a profile, with reason and sentence. Follows from suite and profile alone."""
    found: dict[str, tuple[Reason, str]] = {}
    scores = {*profile.scorers, *RULE_NAMES, *([VARIATION] if "ViT" in profile.scorers else [])}
    for task in suite.tasks:
        if task.gold is None:
            found[task.key] = (Reason.NO_GOAL, "No right plan is known for this request.")
            continue
        lacking = [tool for tool in dict.fromkeys(task.gold.tools()) if tool not in profile.experts]
        if task.metric == ABSTENTION:
            continue
        no_data = next(filter(None, (samples.missing(task=answer) for answer in task.answers)), None)
        unscored = [name for answer in task.answers if (name := answer.metric) not in scores]
        if lacking:
            why = " ".join(profile.unavailable[tool] for tool in lacking if tool in profile.unavailable)
            sentence = f"Profile {profile.name} has no expert for {', '.join(lacking)}."
            found[task.key] = (Reason.NO_EXPERT, f"{sentence} {why}".strip())
        elif unscored:
            found[task.key] = (Reason.NO_EXPERT, f"Profile {profile.name} has no scorer for the {unscored[0]} score.")
        elif no_data is not None:
            found[task.key] = (Reason.NO_DATA, no_data)
    return found
