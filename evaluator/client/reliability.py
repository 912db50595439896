"""`planarena reliability`: the reliability profile of a planner on a site."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

import typer

from evaluator.client.api import Client
from evaluator.client.errors import UnreachableError, UsageError
from evaluator.client.options import IdArgument, PatienceOption, UrlOption, client_of
from evaluator.client.output import exit_codes, say, write_json
from evaluator.client.shapes import FINAL_STATES, WAITS_FOR_OWNER, Reliability
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import printable
from evaluator.core.commands.options import JsonFlag, OutputFile

PAUSE = 10.0
_NONE = "not measured"

_MEASURING = "Measuring"


def reliability(
    any_id: IdArgument,
    url: UrlOption = "",
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            help="Repeat it, also on perturbed requests; each run counts towards the quota.",
            rich_help_panel=_MEASURING,
        ),
    ] = False,
    cancel: Annotated[
        bool,
        typer.Option(
            "--cancel",
            help="Cancel the unfinished runs.",
            rich_help_panel=_MEASURING,
        ),
    ] = False,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait",
            help="Wait until it is measured.",
            rich_help_panel=_MEASURING,
        ),
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Seconds to wait at most.",
            rich_help_panel=_MEASURING,
        ),
    ] = None,
    as_json: JsonFlag = False,
    output: OutputFile = None,
    patience: PatienceOption = 30.0,
) -> None:
    """Print the reliability profile of an evaluation's planner, or have it measured.

    Exit code 0 if it is measured without gaps or under way, 4 if runs have no figures.
    """
    with exit_codes(), client_of(url=url, patience=patience, needs_token=measure or cancel) as client:
        evaluation = _evaluation(client, any_id=any_id)
        if measure:
            client.request_reliability(evaluation)
        if cancel:
            client.cancel_reliability(evaluation)
        found = (
            follow(client=client, evaluation=evaluation, timeout=timeout) if wait else client.reliability(evaluation)
        )
        write_json(found.model_dump(), printed=as_json, file=output)
        if not as_json:
            sys.stdout.writelines(f"{printable(line)}\n" for line in lines_of(found))
    raise typer.Exit(ExitCode.INFRASTRUCTURE if found.is_measured and found.gaps else ExitCode.PASSED)


def _evaluation(client: Client, *, any_id: str) -> str:
    evaluations = client.find(any_id)
    if len(evaluations) != 1:
        suites = ", ".join(f"{evaluation.id} ({evaluation.suite})" for evaluation in evaluations)
        raise UsageError(f"{any_id} has several evaluations, name one: {suites}")
    return evaluations[0].id


def follow(
    *,
    client: Client,
    evaluation: str,
    timeout: float | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Reliability:
    """Wait until a profile is measured or waits for its owner, and report changes.

    Args:
        timeout: seconds to wait at most; None: no limit.

    Raises:
        UnreachableError: the site was unreachable for longer than the client's patience, or the timeout passed.
        RefusedError: there is no profile.
    """
    until, last = None if timeout is None else clock() + timeout, ""
    while True:
        found = client.reliability(evaluation)
        if (now := progress(found)) != last:
            say(now)
        last = now
        states = {member.state for member in found.members}
        if found.is_measured or (WAITS_FOR_OWNER in states and states <= FINAL_STATES | {WAITS_FOR_OWNER}):
            return found
        if until is not None and clock() + PAUSE > until:
            raise UnreachableError(
                f"the profile was not measured within {timeout:g} seconds; its runs continue on the site"
            )
        sleep(PAUSE)


def progress(profile: Reliability) -> str:
    """The progress of a profile in one line."""
    ended = sum(member.state in FINAL_STATES for member in profile.members)
    waiting = sum(member.state == WAITS_FOR_OWNER for member in profile.members)
    words = f"reliability: {profile.state}, {ended} of {len(profile.members)} runs have ended"
    return f"{words}, {waiting} wait for you" if waiting else words


def lines_of(found: Reliability) -> Iterator[str]:
    """The figures of a profile: measure, mean and interval, separated by tabs; then its gaps."""
    profile = found.profile
    if profile is None:
        yield progress(found)
        return
    for name, value in profile["dimensions"].items():
        yield _line(name, value)
    if profile["never_succeeds"]:
        yield "note: no run succeeds on any task, so that outcomes are alike because all are failures"
    for k, value in profile["pass_hat"].items():
        yield _line(f"pass^{k}", value)
    for name in ("equal_plans", "equal_edges"):
        yield _line(name.replace("_", " "), profile[name])
    for name, value in profile["resources"].items():
        yield _line(f"consistency of {name}", value)
    if (known := profile["predictability"]) is not None:
        yield _line("calibration error", known["calibration_error"])
        yield f"calibration error by chance\t{known['calibration_floor']:.4f}\t"
        yield _line("AUROC", known["auroc"])
        yield _line("selective gain", known["selective_gain"])
    for one in profile["robustness"]:
        yield _line(f"ratio, {one['label']}", one["ratio"])
    for one in profile.get("unavailable", []):
        yield f"not available: {one['label']}: {one['why']}"
    for gap in found.gaps:
        yield f"{_NONE}: {gap.perturbation or f'run {gap.repetition}'}: {gap.why}"


def _line(name: str, value: Mapping[str, Any] | None) -> str:
    if value is None:
        return f"{name}\t{_NONE}\t"
    ends = "" if value["low"] is None else f"{value['low']:.4f} to {value['high']:.4f}"
    return f"{name}\t{value['mean']:.4f}\t{ends}"
