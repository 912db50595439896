"""`planarena evaluate --reliability`: measures and prints a reliability profile."""

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from evaluator.core.commands.listing import Listing
from evaluator.core.commands.usage import log, out
from evaluator.episodes.base import Evaluator

if TYPE_CHECKING:
    from evaluator.core.planner import Planner
    from evaluator.core.records import ResultRecord
    from evaluator.reliability.profile import Profile
    from evaluator.scoring.metrics.statistics import Interval

_NONE = "not measured"
NEVER_SUCCEEDS = "No run succeeds on any task: outcomes are alike because all are failures."


def measured(
    *,
    evaluator: Evaluator,
    profile: str,
    planner: "Planner",
    tasks: Sequence[str],
    records: "Iterable[ResultRecord]",
    runs: int,
) -> "Profile":
    """The reliability profile of a planner with the records of its first run."""
    from evaluator.core.suites.registry import suites_without_gold
    from evaluator.episodes.base import episode_of
    from evaluator.reliability.study import Study, reliability

    slug = evaluator.suite.slug
    study = Study(
        evaluator=evaluator, episode=episode_of(slug), profile=profile, planner=planner, tasks=tasks,
        has_gold=slug not in suites_without_gold(), runs=runs,
    )  # fmt: skip
    started = time.monotonic()
    measured_profile = reliability(
        study,
        first={record.task: record for record in records},
        say=lambda what: log.print(f"reliability: {what}", markup=False, highlight=False),
    )
    log.print(f"reliability: measured in {time.monotonic() - started:.0f} s", highlight=False)
    return measured_profile


def print_profile(profile: "Profile") -> None:
    table = Listing("measure", "mean", "95 % interval", title=f"Reliability, {profile.runs} runs")
    rows = [
        ("success rate", profile.success_rate),
        *((f"pass^{k}", interval) for k, interval in profile.pass_hat.items()),
    ]
    rows += [
        ("outcome consistency", profile.outcomes),
        ("equal plans", profile.equal_plans),
        ("equal edges of plans", profile.equal_edges),
    ]
    rows += [(f"consistency of {name}", interval) for name, interval in profile.resources.items()]
    for name, interval in rows:
        table.add_row(name, *_in_words(interval))
    table.show(out)
    tasks = _counted(profile.tasks, left_out=profile.left_out)
    once = f" {profile.once} tasks ran only once and are left out of consistency." if profile.once else ""
    never = f" {NEVER_SUCCEEDS}" if profile.never_succeeds else ""
    words = f"{tasks} tasks. Success: {profile.success}{once}{never}"
    out.print(words, markup=False, highlight=False, soft_wrap=True)
    _print_robustness(profile)
    _print_predictability(profile)


def _print_robustness(profile: "Profile") -> None:
    table = Listing("perturbation", "ratio", "95 % interval", "tasks", "worst tasks", title="Robustness")
    for row in profile.robustness:
        tasks, worst = _counted(row.tasks, left_out=row.left_out), ", ".join(row.worst[:3])
        table.add_row(row.name, *_in_words(row.ratio), tasks, worst)
    for kind, ratio in profile.robustness_by_kind.items():
        table.add_row(f"all of {kind}", *_in_words(ratio), str(ratio.count), "")
    if profile.robustness_overall is not None:
        table.add_row("all", *_in_words(profile.robustness_overall), str(profile.robustness_overall.count), "")
    table.show(out)
    for perturbation in profile.unavailable:
        line = f"{perturbation.name}: not available for this suite. {perturbation.why}"
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def _print_predictability(profile: "Profile") -> None:
    values = profile.predictability
    if values is None:
        out.print("No answer came with a confidence.")
        return
    title = f"Predictability, {values.answers} answers with a confidence"
    table = Listing("measure", "value", "95 % interval", title=title)
    table.add_row("calibration error", *_in_words(values.calibration_error))
    table.add_row("the same by chance", f"{values.calibration_floor:.4f}", "")
    table.add_row("Brier score", *_in_words(values.brier))
    table.add_row("AUROC", *_in_words(values.auroc))
    table.add_row("selective gain", *_in_words(values.selective_gain))
    table.show(out)


def _counted(tasks: int, *, left_out: int) -> str:
    return f"{tasks}, {left_out} left out" if left_out else str(tasks)


def _in_words(interval: "Interval | None") -> tuple[str, str]:
    return (_NONE, "") if interval is None else (f"{interval.mean:.4f}", interval.in_words())
