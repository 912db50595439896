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


def reliability(
    any_id: IdArgument,
    url: UrlOption = "",
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Run it again and on perturbed requests; each run counts towards the quota."),
    ] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="End the runs that are under way.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it is measured.")] = False,
    timeout: Annotated[float | None, typer.Option(min=0, help="Seconds to wait at most.")] = None,
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
    found = client.find(any_id)
    if len(found) != 1:
        suites = ", ".join(f"{one.id} ({one.suite})" for one in found)
        raise UsageError(f"{any_id} has several evaluations, name one: {suites}")
    return found[0].id


def follow(
    *,
    client: Client,
    evaluation: str,
    timeout: float | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Reliability:
    """Wait until a profile is measured, or until it waits for its owner, and say what changes.

    Args:
        timeout: seconds to wait at most; None: as long as it takes.

    Raises:
        UnreachableError: the site was away for longer than the client's patience, or the time is over.
        RefusedError: there is no profile.
    """
    until, last = None if timeout is None else clock() + timeout, ""
    while True:
        found = client.reliability(evaluation)
        if (now := progress(found)) != last:
            say(now)
        last = now
        waits = [one for one in found.members if one.state == WAITS_FOR_OWNER]
        if found.is_measured or (waits and all(_rests(one.state) for one in found.members)):
            return found
        if until is not None and clock() + PAUSE > until:
            raise UnreachableError(
                f"the profile was not measured within {timeout:g} seconds; its runs go on without you"
            )
        sleep(PAUSE)


def _rests(state: str) -> bool:
    return state in FINAL_STATES or state == WAITS_FOR_OWNER


def progress(found: Reliability) -> str:
    """Where a profile stands, in one line."""
    ended = sum(one.state in FINAL_STATES for one in found.members)
    waiting = sum(one.state == WAITS_FOR_OWNER for one in found.members)
    words = f"reliability: {found.state}, {ended} of {len(found.members)} runs have ended"
    return f"{words}, {waiting} wait for you" if waiting else words


def lines_of(found: Reliability) -> Iterator[str]:
    """The figures of a profile: measure, mean and interval, separated by tabs; then what was not measured."""
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
