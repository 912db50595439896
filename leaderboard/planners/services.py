"""Validating, creating and identifying planners; shared by forms and API."""

import json
import posixpath
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlsplit

from django.db import IntegrityError, transaction

from evaluator.core.strategy_options import OptionError
from leaderboard.people.models import User
from leaderboard.planners import roles
from leaderboard.planners.data import (
    COMMON,
    DECLARED,
    DESCRIPTION,
    NAME,
    Errors,
    PlannerData,
    declare,
    differing_declarations,
    price_problems,
)
from leaderboard.planners.kinds import FIELDS, KINDS
from leaderboard.planners.kinds.base import Facts, Kind
from leaderboard.planners.kinds.language_models import MODEL_ID, ROLES, STRATEGY, strategy_named
from leaderboard.planners.models import NEEDED, Planner, PlannerKind
from leaderboard.platform.fields import Field
from leaderboard.platform.problems import FieldErrors

_KEPT = tuple(field for field in FIELDS if field.is_kept)
"""The fields with a column."""
NOTHING_WRONG: Mapping[str, list[str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidPlanner:
    """A validated planner; only `validate_planner` returns it."""

    owner: User
    data: PlannerData
    facts: Facts
    roles: Mapping[str, Mapping[str, Any]]
    """Models of roles with their facts, as they are stored."""


def validate_planner(
    *, owner: User, data: PlannerData, suites: Sequence[str] = (), besides: Mapping[str, list[str]] = NOTHING_WRONG
) -> ValidPlanner:
    """Validate a planner for these suites, and find its facts.

    May take seconds, since it asks other services: call it outside transactions.

    Args:
        besides: errors in other fields of the submission.

    Raises:
        FieldErrors: a field is invalid, or there is no such planner.
        NotReadyError: a required service does not answer.
    """
    if errors := planner_problems(owner=owner, data=data, suites=suites, besides=besides):
        raise FieldErrors(errors)
    facts = KINDS[data.kind].find_facts(data=data, owner=owner)
    return ValidPlanner(owner=owner, data=data, facts=facts, roles=roles.find(data=data, owner=owner, main=facts))


def planner_problems(
    *, owner: User, data: PlannerData, suites: Sequence[str], besides: Mapping[str, list[str]] = NOTHING_WRONG
) -> Errors:
    """Errors in a planner and its suites by field, and `besides`. Asks no other service."""
    wrong_suites = {} if "suites" in besides else check_suites(data=data, suites=suites)
    if found := {**check_planner(data), **wrong_suites, **besides}:
        return found
    planner = find_planner(owner=owner, name=data[NAME])
    owned = KINDS[data.kind].check_owned(data=data, suites=suites, owner=owner, planner=planner)
    owned |= roles.check_owned(data=data, owner=owner, planner=planner)
    return owned or check_name(data=data, planner=planner)


def check_planner(data: PlannerData) -> Errors:
    """Errors in a planner by field. Asks no other service."""
    errors = {field.name: [problem] for field in FIELDS if (problem := field.problem(data[field]))}
    if not NAME.is_given(data[NAME]):
        errors[NAME.name] = ["Give the planner a name."]
    kind = KINDS.get(data.kind)
    if kind is None:
        return {**errors, "kind": [f"Choose one of {', '.join(KINDS)}."]}
    errors |= _foreign(data=data, kind=kind)
    if kind.declares and not errors:
        errors |= price_problems(data)
    return {**errors, **kind.check(data), **roles.check(data)}


def _foreign(*, data: PlannerData, kind: Kind) -> Errors:
    """Errors for fields of other kinds that have a value."""
    return {
        field.name: [f"{kind.noun} has no {field.noun}: leave this empty."]
        for field in FIELDS
        if field not in kind.fields and field not in COMMON and field.is_given(data[field])
    }


def check_suites(*, data: PlannerData, suites: Sequence[str]) -> Errors:
    """Errors in the choice of suites by field."""
    kind = KINDS.get(data.kind)
    return {} if kind is None else kind.check_suites(data=data, suites=suites)


def check_name(*, data: PlannerData, planner: Planner | None) -> Errors:
    """Errors if the owner's planner of this name (None: none exists) has other values. Asks no other service."""
    kind = KINDS.get(data.kind)
    if planner is None or kind is None or roles.check(data):
        return {}
    # Empty fields may be filled in from the facts.
    known = [field for field in _compared(data) if field in COMMON or field.is_given(data[field])]
    wanted = _columns(data=data, facts=Facts(), models=roles.as_entered_in(data))
    differing = _differences(planner=planner, wanted=wanted, fields=known) or differing_declarations(
        planner=planner, data=data
    )
    return _another(planner, differing[0]) if differing else {}


def enter_planner(valid: ValidPlanner) -> Planner:
    """The owner's planner with this name: a new one, or the existing one if it is the same.

    Raises:
        FieldErrors: since the validation, the owner entered a different planner of this name, or removed the header.
    """
    with transaction.atomic():
        planner = _found_or_made(valid)
        KINDS[valid.data.kind].entered(planner=planner, data=valid.data)
        roles.keep_headers(planner=planner, data=valid.data)
    return planner


def _found_or_made(valid: ValidPlanner) -> Planner:
    owner, data = valid.owner, valid.data
    wanted = _columns(data=data, facts=valid.facts, models=valid.roles)
    found = find_planner(owner=owner, name=data[NAME])
    if found is None:
        try:
            with transaction.atomic():
                return Planner.objects.create(owner=owner, **wanted)
        except IntegrityError:
            # A concurrent request created it.
            found = find_planner(owner=owner, name=data[NAME])
            if found is None:
                raise
    differing = _differences(planner=found, wanted=wanted, fields=_compared(data))
    if ROLES.noun not in differing and found.roles != wanted[ROLES.name]:
        differing.append(ROLES.noun)
    if found.commit != wanted.get("commit", ""):
        differing.append("commit")
    if differing := differing + differing_declarations(planner=found, data=data):
        raise FieldErrors(_another(found, differing[0]))
    declare(planner=found, data=data)
    return found


def _another(planner: Planner, what: str) -> Errors:
    return {"name": [f"You have a planner {planner.name!r} with another {what}: choose another name."]}


def data_of(planner: Planner) -> PlannerData:
    """The data with which a planner would be submitted again."""
    of_kind = {*KINDS[planner.kind].fields, *COMMON}
    values = {field.name: getattr(planner, field.name) for field in _KEPT if field in of_kind}
    if planner.roles:
        values[ROLES.name] = roles.as_entered(planner)
    return PlannerData(kind=planner.kind, values=values)


def find_planner(*, owner: User, name: str) -> Planner | None:
    """The owner's planner of this name, with its secret header; None if there is none."""
    return Planner.objects.filter(owner=owner, name__iexact=name.strip()).select_related("secret").first()


def _columns(*, data: PlannerData, facts: Facts, models: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "kind": data.kind,
        **{field.name: field.clean(data[field]) for field in _KEPT},
        STRATEGY.name: roles.full_strategy(data),
        **roles.columns(models),
        # Facts take precedence: an omitted revision, for example, is one of them.
        **{name: value for name, value in asdict(facts).items() if value not in ("", None)},
    }


def _compared(data: PlannerData) -> list[Field[Any]]:
    """The fields in which planners of one name must agree; an omitted description keeps the stored one."""
    compared = [field for field in _KEPT if field is not NAME and field not in DECLARED]
    return [field for field in compared if field is not DESCRIPTION or field.is_given(data[field])]


def _differences(*, planner: Planner, wanted: Mapping[str, Any], fields: Sequence[Field[Any]]) -> list[str]:
    kind = ["kind"] if planner.kind != wanted["kind"] else []
    return kind + [field.noun for field in fields if not _is_same(planner, wanted=wanted, field=field)]


def _is_same(planner: Planner, *, wanted: Mapping[str, Any], field: Field[Any]) -> bool:
    if field is ROLES:
        # Facts are compared where they are known.
        return roles.as_entered(planner) == roles.without_facts(wanted[field.name])
    return bool(getattr(planner, field.name) == wanted[field.name])


_NAMED_BY_COMMIT = "revision"
"""Of a model of the hub, which its commit identifies: branches and tags of one commit are one planner."""


def identity_of(planner: Planner) -> tuple[str, ...]:
    """The kind of a planner and its required fields in canonical form: equal for the same planner under other names.

    An endpoint is identified by its address without scheme, query and fragment, since other parameters may lead to the
    same planner; a chat endpoint by its address, model and strategy; a model of the hub by its repository, commit and
    strategy; a checkpoint by its digest and strategy, each with the strategy's options except seeds, and those models
    of its roles that are others than its own (only those if they answer every call); a bundled planner by its name with
    all options; a plans file by its digest. All agents of a submitter are one planner.
    """
    entry = strategy_named(planner.strategy)
    uses_main = entry is None or entry.uses_main(planner.roles)
    # A planner whose own model answers no call is identified by that of its first role.
    main = _model_of(planner if uses_main or entry is None else roles.as_planner(planner, role=entry.role_names[0]))
    models = {role: _model_of(roles.as_planner(planner, role=role)) for role in planner.roles}
    others = {role: model for role, model in models.items() if model != main}
    strategy = (_without_draws(planner.strategy),) if planner.strategy else ()
    return (*main, *strategy, *((json.dumps(others, sort_keys=True),) if others else ()))


def _model_of(planner: Planner) -> tuple[str, ...]:
    """The identity of a planner, or of the model of a role, without strategy and roles."""
    kind = PlannerKind(planner.kind)
    # A bundled model of a role is named by `model_id`.
    fields = dict.fromkeys((*NEEDED[kind], MODEL_ID.name))
    written = (_written(planner, field=field) for field in fields if field not in {_NAMED_BY_COMMIT, STRATEGY.name})
    return (kind.value, *filter(None, written))


def _without_draws(strategy: str) -> str:
    """A strategy with those of its options that change more than the random draw, in canonical form."""
    entry = strategy_named(strategy)
    if entry is None:
        return strategy
    options = entry.options
    try:
        values = options.read_text(strategy.partition("@")[2])
    except OptionError:
        # Entered before the strategy declared its present options.
        return strategy
    return f"{entry.name}@{options.text(options.without_draws(values))}"


def _written(planner: Planner, *, field: str) -> str:
    value = str(getattr(planner, field))
    if field == "endpoint_url":
        return normal_address(value)
    # The hub ignores the case of names, and so do most servers.
    return value.casefold() if field == "model_id" else value


def normal_address(url: str) -> str:
    """The canonical form of an address: host in lower case, port unless it is the default, and path without empty or
    relative parts. `HTTPS://Example.org:443/a/../plan/?x=1` is `example.org/plan`.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    # Names that are invalid in the DNS are compared as written.
    with suppress(UnicodeError):
        host = host.encode("idna").decode("ascii")
    port = "" if parts.port in {None, 80, 443} else f":{parts.port}"
    path = posixpath.normpath(f"/{unquote(parts.path)}").lstrip("/")
    return f"{host}{port}/{path}"
