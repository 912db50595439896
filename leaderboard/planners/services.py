"""Entering planners. Forms and API use the same functions, so that the same rules hold for both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from evaluator.planners.offline import offline_planners
from leaderboard.accounts.models import User
from leaderboard.evaluations.library import AddressRefusedError, library
from leaderboard.field_errors import FieldErrors
from leaderboard.planners.models import Planner, PlannerKind

BUNDLED_PLANNERS: Mapping[str, str] = {name: planner.description for name, planner in offline_planners().items()}
"""What the bundled planners do, by name."""
SHORTEST_TIMEOUT = 1
LONGEST_TIMEOUT = 300
_LONGEST_NAME = 80
_LONGEST_DESCRIPTION = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerData:
    """A planner as a user enters it, not checked yet."""

    name: str
    kind: str
    bundled_name: str = ""
    endpoint_url: str = ""
    timeout_seconds: int = 30
    description: str = ""


def check_planner(data: PlannerData) -> dict[str, list[str]]:
    """What is wrong with a planner, by field; empty if nothing is."""
    errors: dict[str, list[str]] = {}
    if not data.name.strip():
        errors["name"] = ["Give the planner a name."]
    elif len(data.name) > _LONGEST_NAME:
        errors["name"] = [f"The name has {len(data.name)} characters; at most {_LONGEST_NAME} are possible."]
    elif not data.name.isprintable():
        errors["name"] = ["The name holds characters that cannot be shown, such as line breaks."]
    if "\x00" in data.description or len(data.description) > _LONGEST_DESCRIPTION:
        errors["description"] = [f"At most {_LONGEST_DESCRIPTION} characters, none of them NUL."]
    if not SHORTEST_TIMEOUT <= data.timeout_seconds <= LONGEST_TIMEOUT:
        errors["timeout_seconds"] = [f"Give {SHORTEST_TIMEOUT} to {LONGEST_TIMEOUT} seconds."]
    return {**errors, **_check_kind(data)}


def check_suites(*, data: PlannerData, suites: Sequence[str]) -> dict[str, list[str]]:
    """What is wrong with the suites that a planner is entered for, by field; empty if nothing is.

    A bundled strategy understands the requests of certain suites; what an endpoint understands, nobody knows.
    """
    planner = offline_planners().get(data.bundled_name) if data.kind == PlannerKind.BUNDLED else None
    foreign = [slug for slug in suites if planner is not None and not planner.understands(slug)]
    if planner is None or not foreign:
        return {}
    made_for = ", ".join(planner.suites)
    return {"suites": [f"{planner.name} does not understand requests of {foreign[0]}; it is made for {made_for}."]}


def _check_kind(data: PlannerData) -> dict[str, list[str]]:
    if data.kind == PlannerKind.BUNDLED:
        errors = {}
        if data.bundled_name not in BUNDLED_PLANNERS:
            errors["bundled_name"] = [f"Choose one of {', '.join(BUNDLED_PLANNERS)}."]
        if data.endpoint_url:
            errors["endpoint_url"] = ["A bundled planner has no address: leave this empty."]
        return errors
    if data.kind == PlannerKind.ENDPOINT:
        errors = _check_address(data.endpoint_url)
        if data.bundled_name:
            errors["bundled_name"] = ["An HTTP endpoint is not a bundled planner: leave this empty."]
        return errors
    return {"kind": [f"Choose one of {', '.join(PlannerKind.values)}."]}


def _check_address(url: str) -> dict[str, list[str]]:
    if not url:
        return {"endpoint_url": ["Give the address of your endpoint, such as https://example.org/plan."]}
    longest = Planner._meta.get_field("endpoint_url").max_length or 0
    if len(url) > longest:
        return {"endpoint_url": [f"The address has {len(url)} characters; at most {longest} are possible."]}
    if not url.isprintable() or " " in url:
        return {"endpoint_url": ["The address holds blanks or characters that cannot be shown."]}
    try:
        library().check_endpoint(url=url, allow_private=settings.DEMO)
    except AddressRefusedError as error:
        return {"endpoint_url": [str(error)]}
    return {}


def enter_planner(*, owner: User, data: PlannerData) -> Planner:
    """The owner's planner with this name: made now, or the one that was entered before if it is the same.

    Raises:
        FieldErrors: the data are wrong, or the owner has a different planner of this name.
    """
    if errors := check_planner(data):
        raise FieldErrors(errors)
    found = _find(owner=owner, name=data.name)
    if found is None:
        try:
            with transaction.atomic():
                return Planner.objects.create(owner=owner, **_fields(data))
        except IntegrityError:
            # Entered at the same moment by another request.
            found = _find(owner=owner, name=data.name)
            if found is None:
                raise
    if differing := _differences(planner=found, data=data):
        raise FieldErrors(
            {"name": [f"You have a planner {found.name!r} with another {differing[0]}: choose another name."]}
        )
    return found


def data_of(planner: Planner) -> PlannerData:
    """A planner as it would be entered today."""
    return PlannerData(
        name=planner.name,
        kind=planner.kind,
        bundled_name=planner.bundled_name,
        endpoint_url=planner.endpoint_url,
        timeout_seconds=planner.timeout_seconds,
        description=planner.description,
    )


def _find(*, owner: User, name: str) -> Planner | None:
    return Planner.objects.filter(owner=owner, name__iexact=name.strip()).first()


def _fields(data: PlannerData) -> dict[str, Any]:
    return {
        "name": data.name.strip(),
        "description": data.description.strip(),
        "kind": data.kind,
        "bundled_name": data.bundled_name,
        "endpoint_url": data.endpoint_url,
        "timeout_seconds": data.timeout_seconds,
    }


def _differences(*, planner: Planner, data: PlannerData) -> list[str]:
    wanted = _fields(data)
    labels = {
        "kind": "kind",
        "bundled_name": "bundled planner",
        "endpoint_url": "address",
        "timeout_seconds": "timeout",
    }
    if wanted["description"]:
        labels["description"] = "description"
    return [label for field, label in labels.items() if getattr(planner, field) != wanted[field]]
