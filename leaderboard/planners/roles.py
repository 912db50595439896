"""Options of a planner's strategy, and language models of its roles.

The strategy declares both (`evaluator.core.strategy_options`). The model of a role is validated, found and leased by
the rules of its kind, as if it were a planner's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from evaluator.core.strategy_options import OptionError
from evaluator.planners.strategies.registry import StrategyEntry
from gpu_jobs.contract import LeasedPlanner, RoleModel
from gpu_jobs.contract import StrategyPlanner as LeasedStrategy
from leaderboard.people.models import User
from leaderboard.planners import secret_headers
from leaderboard.planners.data import TIMEOUT, Errors, PlannerData
from leaderboard.planners.kinds import KINDS
from leaderboard.planners.kinds.base import Facts, Kind
from leaderboard.planners.kinds.checkpoint import CHECKPOINT_DIGEST
from leaderboard.planners.kinds.hub import DEFAULT_REVISION, REVISION
from leaderboard.planners.kinds.language_models import MODEL_ID, OPTIONS, ROLES, STRATEGY, strategy_named, too_large
from leaderboard.planners.models import Planner
from leaderboard.platform.fields import Field
from leaderboard.platform.problems import FieldErrors

_FOUND = "facts"
"""Member of a stored model with the facts that the site found."""
ROLE_KINDS: Mapping[str, Kind] = {name: kind for name, kind in KINDS.items() if kind.role_message is not None}
"""Kinds of models of roles."""
FIELDS_OF_ROLES: Mapping[str, tuple[Field[Any], ...]] = {name: kind.role_fields for name, kind in ROLE_KINDS.items()}
"""Fields of the model of a role, by its kind."""
ALL_FIELDS: tuple[Field[Any], ...] = tuple(dict.fromkeys(one for fields in FIELDS_OF_ROLES.values() for one in fields))
"""All of them once."""
NOUNS: Mapping[str, str] = {name: kind.role_noun or kind.noun for name, kind in ROLE_KINDS.items()}
"""Kinds of models at the beginning of a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """The model of a role as entered."""

    role: str
    data: PlannerData
    """As of a planner with this model alone."""

    @property
    def kind(self) -> Kind:
        """Its rules."""
        return ROLE_KINDS[self.data.kind]

    def named(self, errors: Mapping[str, list[str]]) -> Errors:
        """Errors of its fields under their names in the planner."""
        return {path_of(self.role, field): texts for field, texts in errors.items()}


def path_of(role: str, field: str) -> str:
    """The name of a field of a role's model in errors."""
    return f"{ROLES.name}.{role}.{field}"


def has_roles(data: PlannerData) -> bool:
    """Whether the planner's kind can have options and roles."""
    return data.kind in KINDS and ROLES in KINDS[data.kind].fields


def check(data: PlannerData) -> Errors:
    """Errors in options and roles by field. Asks no other service."""
    entry = strategy_named(data[STRATEGY]) if has_roles(data) else None
    if entry is None:
        return {}
    errors = _check_options(data, entry=entry)
    known = {role.name: role for role in entry.roles}
    for role, value in (data[ROLES] or {}).items():
        if role not in known:
            there_are = f"It has {', '.join(known)}." if known else "It has none."
            errors[ROLES.name] = [f"{entry.name} has no role {role[:80]!r}. {there_are}"]
        elif not isinstance(value, Mapping) or value.get("kind") not in FIELDS_OF_ROLES:
            errors[path_of(role, "kind")] = [f"Choose one of {', '.join(FIELDS_OF_ROLES)}."]
        else:
            errors |= _check_model(_model(role=role, value=value, strategy=entry.name))
    return errors


def _check_options(data: PlannerData, *, entry: StrategyEntry) -> Errors:
    name, at, text = data[STRATEGY].partition("@")
    if at and data[OPTIONS]:
        return {OPTIONS.name: ["Give the options once: after the strategy's name, or here."]}
    try:
        entry.options.read_text(text) if at else entry.options.read(data[OPTIONS] or {})
    except OptionError as error:
        where = STRATEGY.name if at else f"{OPTIONS.name}.{error.option}" if error.option else OPTIONS.name
        return {where: [f"{name}: {error}."]}
    most = Planner._meta.get_field("strategy").max_length
    if most is not None and len(full_strategy(data)) > most:
        return {STRATEGY.name if at else OPTIONS.name: [f"Name fewer options: their text may have {most} characters."]}
    return {}


def _check_model(model: _Model) -> Errors:
    data, fields = model.data, FIELDS_OF_ROLES[model.data.kind]
    errors = {field.name: [problem] for field in fields if (problem := field.problem(data[field]))}
    errors |= {
        field.name: [f"{NOUNS[data.kind]} has no {field.noun}: leave this empty."]
        for field in ALL_FIELDS
        if field not in fields and field.is_given(data[field])
    }
    return model.named({**model.kind.check_role(data), **errors})


def check_owned(*, data: PlannerData, owner: User, planner: Planner | None) -> Errors:
    """Addresses of valid models that may not be called, and conflicts with the owner's stored planner. Waits for name
    servers: call it outside transactions."""
    errors: Errors = {}
    for model in _models(data):
        # Without the planner, whose own header it is not.
        found = model.kind.check_owned(data=_without_header(model), suites=(), owner=owner, planner=None)
        kept = secret_headers.check_kept(planner=planner, data=model.data, role=model.role)
        errors |= model.named({**found, **kept})
    return errors


def _without_header(model: _Model) -> PlannerData:
    return PlannerData(kind=model.data.kind, values={**model.data.values, "header_name": "", "header_value": ""})


def asks_others(data: PlannerData) -> bool:
    """Whether finding facts asks other services, so that the submission is a job."""
    return any(kind.asks_others for kind in (KINDS[data.kind], *(model.kind for model in _models(data))))


def full_strategy(data: PlannerData) -> str:
    """The valid strategy with its options in canonical form; empty for kinds without one."""
    entry = strategy_named(data[STRATEGY])
    if entry is None:
        return data[STRATEGY]
    _, at, text = data[STRATEGY].partition("@")
    return entry.with_options(text if at else entry.options.text(entry.options.read(data[OPTIONS] or {}))).full_name


def find(*, data: PlannerData, owner: User, main: Facts) -> dict[str, dict[str, Any]]:
    """The models of all roles as they are stored, with the facts about them. May ask other services.

    Args:
        main: facts about the planner's own model.

    Raises:
        FieldErrors: there is no such model, it cannot be evaluated here, or the models together are too large.
    """
    found: dict[str, dict[str, Any]] = {}
    size = main.weights_bytes or 0
    for model in _models(data):
        try:
            facts = model.kind.find_role_facts(data=model.data, owner=owner)
        except FieldErrors as error:
            raise FieldErrors(model.named(error.errors)) from error
        size += facts.weights_bytes or 0
        found[model.role] = {
            **_entered(model),
            _FOUND: {name: value for name, value in asdict(facts).items() if value not in ("", None)},
        }
    if found and (problem := too_large(what="All models together", weights_bytes=size)):
        raise FieldErrors({ROLES.name: [problem]})
    return found


def _entered(model: _Model) -> dict[str, Any]:
    """The model's fields as they are stored, without secrets."""
    fields = FIELDS_OF_ROLES[model.data.kind]
    kept = {field.name: field.clean(model.data[field]) for field in fields if field.is_kept}
    if REVISION in fields:
        kept[REVISION.name] = kept[REVISION.name] or DEFAULT_REVISION
    return {"kind": model.data.kind, **kept}


def as_entered(planner: Planner) -> dict[str, dict[str, Any]]:
    """The stored models without the facts about them."""
    return without_facts(planner.roles)


def without_facts(models: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Stored models without the facts about them."""
    return {role: {k: v for k, v in model.items() if k != _FOUND} for role, model in models.items()}


def as_entered_in(data: PlannerData) -> dict[str, dict[str, Any]]:
    """The valid models as they would be stored, without the facts about them."""
    return {model.role: _entered(model) for model in _models(data)}


def columns(models: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The columns of a planner with these models."""
    digests = {model.get(CHECKPOINT_DIGEST.name) for model in models.values()}
    return {
        "roles": models,
        "role_kinds": sorted({model["kind"] for model in models.values()}),
        "role_checkpoints": sorted(digest for digest in digests if digest),
    }


def keep_headers(*, planner: Planner, data: PlannerData) -> None:
    """Store the secret headers of endpoints, in the transaction that creates the planner.

    Raises:
        FieldErrors: a value is missing.
    """
    for model in _models(data):
        try:
            secret_headers.keep(planner=planner, data=model.data, role=model.role)
        except FieldErrors as error:
            raise FieldErrors(model.named(error.errors)) from error


def leased(message: LeasedPlanner, *, planner: Planner) -> LeasedPlanner:
    """The planner of a lease with the models of its roles, without secrets.

    Raises:
        HeaderUnreadableError: a secret header cannot be decrypted.
    """
    if not planner.roles or not isinstance(message, LeasedStrategy):
        return message
    return message.model_copy(update={"roles": {role: _leased(planner, role=role) for role in planner.roles}})


def _leased(planner: Planner, *, role: str) -> RoleModel:
    model = ROLE_KINDS[planner.roles[role]["kind"]].lease_role(as_planner(planner, role=role))
    # The planner without a row has no header.
    has_header = secret_headers.header_of(planner, role=role) is not None
    return model.model_copy(update={"has_header": True}) if has_header else model


def as_planner(planner: Planner, *, role: str) -> Planner:
    """The model of a role as a planner, which is not stored."""
    stored = planner.roles[role]
    fields = {name: value for name, value in stored.items() if name != _FOUND}
    return Planner(**{**fields, **stored.get(_FOUND, {}), "owner_id": planner.owner_id, "strategy": planner.strategy})


def kinds_of(planner: Planner) -> Iterator[Kind]:
    """The kinds of a planner and of the models of its roles, of which a worker needs what each needs."""
    for kind in dict.fromkeys((planner.kind, *planner.role_kinds)):
        yield KINDS[kind]


def shown_of(model: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a stored model, and the facts about it."""
    return {**{name: value for name, value in model.items() if name != _FOUND}, **model.get(_FOUND, {})}


def has_secret(planner: Planner) -> bool:
    """See `Kind.has_secret`."""
    return any(kind.has_secret for kind in kinds_of(planner))


def samples(planner: Planner) -> bool | None:
    """See `Kind.samples`: whether any of the planner's models samples; None: of one that the site cannot know."""
    found = [KINDS[planner.kind].samples(planner)]
    found += [
        ROLE_KINDS[model["kind"]].samples(as_planner(planner, role=role)) for role, model in planner.roles.items()
    ]
    return True if True in found else None if None in found else False


def may_declare_determinism(data: PlannerData) -> bool:
    """See `Kind.may_declare_determinism`: of a planner with these models, which may be invalid."""
    models = data[ROLES] if has_roles(data) and isinstance(data[ROLES], Mapping) else {}
    kinds = [data.kind, *(str(model.get("kind")) for model in models.values() if isinstance(model, Mapping))]
    return any(KINDS[kind].may_declare_determinism for kind in kinds if kind in KINDS)


def longest_timeout(planner: Planner) -> int:
    """The longest timeout of one answer, in seconds."""
    return max(planner.timeout_seconds, *(int(model.get(TIMEOUT.name, 0)) for model in planner.roles.values()), 0)


def model_names(models: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Names of the stored models by role, as boards show them: of an endpoint, whose model is unknown, its kind."""
    return {
        role: str(model.get(_FOUND, {}).get("model_name") or model.get(MODEL_ID.name) or model["kind"])
        for role, model in models.items()
    }


def parameters_with(models: Mapping[str, Mapping[str, Any]], *, kind: str, main: int | None) -> int | None:
    """Parameters of the model of a planner of a kind and of the stored models of its roles together; None unless all
    are known."""
    counts = [
        *([main] if KINDS[kind].has_main_model else []),
        *(shown_of(model).get("parameters") for model in models.values()),
    ]
    return None if None in counts else sum(count for count in counts if count is not None)


def are_open_with(models: Mapping[str, Mapping[str, Any]], *, kind: str, main: bool | None) -> bool | None:
    """Whether the weights of all these models are public; None: unknown."""
    known = [
        *([main] if KINDS[kind].has_main_model else []),
        *(shown_of(model).get("open_weights") for model in models.values()),
    ]
    return False if False in known else None if None in known else True


def _models(data: PlannerData) -> list[_Model]:
    """The models of valid data in the order of the declared roles."""
    entry = strategy_named(data[STRATEGY]) if has_roles(data) else None
    given = data[ROLES] or {}
    if entry is None:
        return []
    return [_model(role=role, value=given[role], strategy=entry.name) for role in entry.role_names if role in given]


def _model(*, role: str, value: Mapping[str, Any], strategy: str) -> _Model:
    values = {name: part for name, part in value.items() if name != "kind"}
    return _Model(role=role, data=PlannerData(kind=value["kind"], values={**values, STRATEGY.name: strategy}))
