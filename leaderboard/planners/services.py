"""Entering planners. Forms and API use the same functions, so that the same rules hold for both."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.db import IntegrityError, transaction

from leaderboard.accounts.models import User
from leaderboard.planners import declared
from leaderboard.planners.data import PlannerData
from leaderboard.planners.kinds import BUNDLED_PLANNERS, KINDS, Errors, Facts, Kind
from leaderboard.planners.models import CALLED, Planner
from leaderboard.site.field_errors import FieldErrors

__all__ = [
    "BUNDLED_PLANNERS", "LONGEST_TIMEOUT", "SHORTEST_TIMEOUT", "PlannerData", "check_name", "check_owned",
    "check_planner", "check_suites", "data_of", "enter_planner", "facts_of",
]  # fmt: skip

SHORTEST_TIMEOUT = 1
LONGEST_TIMEOUT = 300
_LONGEST_NAME = 80
_LONGEST_DESCRIPTION = 4000
_FIELDS: Mapping[str, str] = {field: label for kind in KINDS.values() for field, label in kind.fields.items()}
"""What the fields are called that only some kinds use."""


def check_planner(data: PlannerData) -> Errors:
    """What is wrong with a planner, by field, without asking anybody else; empty if nothing is."""
    errors: Errors = {}
    if not data.name.strip():
        errors["name"] = ["Give the planner a name."]
    elif len(data.name) > _LONGEST_NAME:
        errors["name"] = [f"The name has {len(data.name)} characters; at most {_LONGEST_NAME} are possible."]
    elif not data.name.isprintable():
        errors["name"] = ["The name contains unprintable characters, such as line breaks."]
    if "\x00" in data.description or len(data.description) > _LONGEST_DESCRIPTION:
        errors["description"] = [f"At most {_LONGEST_DESCRIPTION} characters, none of them NUL."]
    if not SHORTEST_TIMEOUT <= data.timeout_seconds <= LONGEST_TIMEOUT:
        errors["timeout_seconds"] = [f"Give {SHORTEST_TIMEOUT} to {LONGEST_TIMEOUT} seconds."]
    kind = KINDS.get(data.kind)
    if kind is None:
        return {**errors, "kind": [f"Choose one of {', '.join(KINDS)}."]}
    if kind.kind not in CALLED and (data.header_name or data.header_value or data.remove_header):
        errors["header_name"] = [f"{kind.noun} has no secret header: leave this empty."]
    return {**errors, **_foreign(data=data, kind=kind), **declared.check(data=data, kind=kind), **kind.check(data)}


def _foreign(*, data: PlannerData, kind: Kind) -> Errors:
    """Fields of other kinds that were filled in."""
    return {
        field: [f"{kind.noun} has no {label}: leave this empty."]
        for field, label in _FIELDS.items()
        if field not in kind.fields and getattr(data, field)
    }


def check_suites(*, data: PlannerData, suites: Sequence[str]) -> Errors:
    """What is wrong with the suites that a planner is entered for, by field; empty if nothing is."""
    kind = KINDS.get(data.kind)
    return {} if kind is None else kind.check_suites(data=data, suites=suites)


def check_owned(*, data: PlannerData, suites: Sequence[str], owner: User) -> Errors:
    """What is wrong with data that are right by themselves, in view of what their owner has on this site."""
    kind = KINDS.get(data.kind)
    return {} if kind is None else kind.check_owned(data=data, suites=suites, owner=owner)


def check_name(*, data: PlannerData, owner: User) -> Errors:
    """Whether the owner has another planner of this name, as far as that can be told without asking anybody else."""
    found = _find(owner=owner, name=data.name)
    if found is None:
        return {}
    wanted = _fields(data=data, facts=Facts())
    kind = KINDS.get(data.kind)
    # What is empty may be filled in from the facts.
    known = {
        "kind",
        "timeout_seconds",
        "description",
        *(field for field in (kind.fields if kind else ()) if wanted[field]),
    }
    differing = _differences(planner=found, wanted={**vars(found), **{field: wanted[field] for field in known}})
    differing += declared.differing(planner=found, data=data)
    return _another(found, differing[0]) if differing else {}


def facts_of(*, owner: User, data: PlannerData) -> Facts:
    """What is found out about checked data before they are entered. May take seconds: call it outside transactions.

    Raises:
        FieldErrors: there is no such planner, or it cannot be evaluated here.
    """
    return KINDS[data.kind].find_facts(data=data, owner=owner)


def enter_planner(*, owner: User, data: PlannerData, facts: Facts | None = None) -> Planner:
    """The owner's planner with this name: made now, or the one that was entered before if it is the same.

    Args:
        facts: what `facts_of` gave for the data; None: it is asked here.

    Raises:
        FieldErrors: the data are wrong, or the owner has a different planner of this name.
    """
    if errors := check_planner(data):
        raise FieldErrors(errors)
    wanted = _fields(data=data, facts=facts or facts_of(owner=owner, data=data))
    with transaction.atomic():
        planner = _found_or_made(owner=owner, data=data, wanted=wanted)
        KINDS[data.kind].entered(planner=planner, data=data)
    return planner


def _found_or_made(*, owner: User, data: PlannerData, wanted: Mapping[str, Any]) -> Planner:
    found = _find(owner=owner, name=wanted["name"])
    if found is None:
        try:
            with transaction.atomic():
                return Planner.objects.create(owner=owner, **wanted)
        except IntegrityError:
            # Entered at the same moment by another request.
            found = _find(owner=owner, name=wanted["name"])
            if found is None:
                raise
    if differing := _differences(planner=found, wanted=wanted) + declared.differing(planner=found, data=data):
        raise FieldErrors(_another(found, differing[0]))
    declared.add(planner=found, data=data)
    return found


def _another(planner: Planner, what: str) -> Errors:
    return {"name": [f"You have a planner {planner.name!r} with another {what}: choose another name."]}


def data_of(planner: Planner) -> PlannerData:
    """A planner as it would be entered today."""
    return PlannerData(
        name=planner.name,
        kind=planner.kind,
        timeout_seconds=planner.timeout_seconds,
        description=planner.description,
        **{field: getattr(planner, field) for field in _FIELDS},
    )


def _find(*, owner: User, name: str) -> Planner | None:
    return Planner.objects.filter(owner=owner, name__iexact=name.strip()).first()


def _fields(*, data: PlannerData, facts: Facts) -> dict[str, Any]:
    return {
        "name": data.name.strip(),
        "description": data.description.strip(),
        "kind": data.kind,
        "timeout_seconds": data.timeout_seconds,
        **{field: getattr(data, field) for field in _FIELDS},
        **declared.given(data),
        # After what was entered: a revision that was left out, for example, is one of the facts.
        **{field: value for field, value in asdict(facts).items() if value not in ("", None)},
    }


def _differences(*, planner: Planner, wanted: Mapping[str, Any]) -> list[str]:
    labels = {"kind": "kind", **_FIELDS, "commit": "commit", "timeout_seconds": "timeout"}
    if wanted["description"]:
        labels["description"] = "description"
    return [label for field, label in labels.items() if getattr(planner, field) != wanted.get(field, "")]
