"""Delivers a report of `planarena doctor` to a site, which shows the last one of each class of devices."""

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gpu_jobs.client import ApiClient, EnrolmentExpiredError, RefusedError, UnreachableError
from gpu_jobs.contract import LONGEST_PROBLEM, DoctorReport
from gpu_jobs.exits import Exit


def deliver_doctor_report(path: Path, *, client: ApiClient, worker: str) -> int:
    """Deliver a report, print what the site did with it, and return the exit code."""
    try:
        report = read_doctor_report(path, worker=worker)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"--doctor-report {path}: {error}.\n")
        return Exit.MISCONFIGURED
    try:
        taken = client.doctor_report(report)
    except EnrolmentExpiredError as error:
        sys.stderr.write(f"{error}\n")
        return Exit.ENROLMENT_EXPIRED
    except RefusedError as error:
        sys.stderr.write(f"The site refuses the report: {error}\n")
        return Exit.TOKEN_REFUSED
    except UnreachableError as error:
        sys.stderr.write(f"{error}\n")
        return Exit.UNREACHABLE
    sys.stdout.write(f"Delivered: {len(report.experts)} experts of {report.profile} on {taken.device}.\n")
    return Exit.IDLE


def read_doctor_report(path: Path, *, worker: str) -> DoctorReport:
    """The report in a file of `planarena doctor --output FILE`.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no such report.
    """
    document = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(document, dict) or not isinstance(document.get("experts"), list):
        raise ValueError("this is not a report from `planarena doctor --output FILE`")
    experts = [_with_short_problem(expert) for expert in document["experts"]]
    try:
        return DoctorReport.model_validate({**document, "worker": worker, "experts": experts})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"this is not a report from `planarena doctor`: {where}: {first['msg']}") from None


def _with_short_problem(expert: Any) -> Any:
    """Errors of libraries have several lines."""
    if not isinstance(expert, dict) or not isinstance(expert.get("problem"), str):
        return expert
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in expert["problem"]).split())
    return {**expert, "problem": line[: LONGEST_PROBLEM - 1] + "…" if len(line) > LONGEST_PROBLEM else line}
