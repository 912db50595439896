"""Reports of `planarena doctor` from operators' workers: the last one of each class of devices and profile."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from evaluator.core import canonical_json
from gpu_jobs.contract import DoctorReport as Report
from gpu_jobs.contract import ExaminedExpert
from leaderboard.evaluations.results.devices import Device
from leaderboard.platform.problems import ProblemError
from leaderboard.queue.models import DoctorReport
from leaderboard.queue.workers.tokens import Holder

MOST_REPORTS = 50
"""Beyond it, the oldest report is deleted."""


class OperatorsOnlyError(ProblemError):
    """Only operators' workers report on the site's devices."""

    status = 403
    code = "operators_only"

    def __init__(self) -> None:
        super().__init__("Only workers of the site's operators deliver reports of planarena doctor.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownReport:
    """A report as pages and the API show it."""

    device: Device
    profile: str
    weights: str
    received: datetime
    memory_bytes: int | None
    """Of the whole device; None if unknown."""
    experts: tuple[ExaminedExpert, ...]

    @property
    def right(self) -> int:
        """Number of experts that are as the profile declares."""
        return sum(expert.is_right for expert in self.experts)


def keep(report: Report, *, holder: Holder) -> Device:
    """Store a report in the place of the last one about the same class, profile and weights.

    Returns:
        The device.

    Raises:
        OperatorsOnlyError: it comes from a self-hosted worker.
    """
    if holder.owner_id is not None:
        raise OperatorsOnlyError
    properties = {name: value for name, value in report.device.items() if isinstance(value, str)}
    with transaction.atomic():
        DoctorReport.objects.update_or_create(
            device_class=canonical_json.digest(dict(properties)),
            profile=report.profile,
            weights=report.weights,
            defaults={"content": report.model_dump(mode="json"), "received": timezone.now()},
        )
        newest = DoctorReport.objects.order_by("-received", "-pk").values("pk")[:MOST_REPORTS]
        DoctorReport.objects.exclude(pk__in=list(newest.values_list("pk", flat=True))).delete()
    return _device(report)


def latest(*, with_problems: bool) -> list[ShownReport]:
    """All reports, the newest first.

    Args:
        with_problems: include why experts could not be examined: errors of libraries, which name paths of the machine.
    """
    rows = DoctorReport.objects.order_by("-received", "-pk").values_list("content", "received")
    return [_shown(Report.model_validate(content), received, with_problems) for content, received in rows]


def _shown(report: Report, received: datetime, with_problems: bool) -> ShownReport:
    experts = report.experts
    if not with_problems:
        experts = tuple(expert.model_copy(update={"problem": ""}) for expert in experts)
    memory = report.device.get("total_bytes")
    return ShownReport(
        device=_device(report),
        profile=report.profile,
        weights=report.weights,
        received=received,
        memory_bytes=memory if isinstance(memory, int) else None,
        experts=experts,
    )


def _device(report: Report) -> Device:
    facts = {name: value for name, value in report.device.items() if isinstance(value, str)}
    return Device(
        kind=facts.get("kind", ""),
        name=facts.get("card") or facts.get("vendor", ""),
        driver=report.driver or "",
        cuda=facts.get("cuda", ""),
    )
