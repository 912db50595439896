"""The secret header of an endpoint: stored encrypted, sent to live attempts only, never shown again."""

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from django.conf import settings
from django.db import transaction

from evaluator.network.secret_header import SecretHeader, problem_of_name, problem_of_value
from leaderboard.people.models import User
from leaderboard.planners.data import ENDPOINT_URL, HEADER_NAME, HEADER_VALUE, REMOVE_HEADER, PlannerData
from leaderboard.planners.models import EndpointSecret, Planner, RoleSecret
from leaderboard.platform.audit import record
from leaderboard.platform.encryption import UnreadableSecretError, decrypt, encrypt
from leaderboard.platform.models import Action
from leaderboard.platform.problems import FieldErrors

PURPOSE = "secret header of an endpoint"
"""Purpose of the encryption."""
_ENDING = 4
_LONG_ENOUGH = 20
"""Least length, in characters, of values whose ending is shown."""
UNREADABLE = "The stored secret header is unreadable because this site's key was changed: enter its value again."


class HeaderUnreadableError(Exception):
    """The key that encrypted a header is gone; its owner must enter the header again."""

    def __init__(self) -> None:
        super().__init__(UNREADABLE)


class KeptHeader(NamedTuple):
    """The parts of a stored header that its owner may see."""

    name: str
    ending: str
    """The last characters of its value; empty if they would reveal too much."""

    def in_words(self) -> str:
        """For pages: "Authorization, set, ends in …ab12"."""
        return f"{self.name} is set" + (f", ends in …{self.ending}" if self.ending else "")


def check(data: PlannerData) -> Mapping[str, list[str]]:
    """Errors in the entered header by field; no message contains the value."""
    errors: dict[str, list[str]] = {}
    if data[REMOVE_HEADER] and (data[HEADER_NAME] or data[HEADER_VALUE]):
        errors[REMOVE_HEADER.name] = ["Either give a header or remove the stored one, not both."]
    if data[HEADER_VALUE] and not data[HEADER_NAME]:
        errors[HEADER_NAME.name] = ["Give the header's name too, such as Authorization."]
    elif data[HEADER_NAME] and (problem := problem_of_name(data[HEADER_NAME])):
        errors[HEADER_NAME.name] = [problem]
    if data[HEADER_VALUE] and (problem := problem_of_value(data[HEADER_VALUE])):
        errors[HEADER_VALUE.name] = [problem]
    elif data[HEADER_VALUE] and not data[ENDPOINT_URL].lower().startswith("https://") and not settings.DEMO:
        errors[HEADER_NAME.name] = ["A secret is only sent to an address that begins with https://."]
    return errors


def check_kept(*, planner: Planner | None, data: PlannerData, role: str = "") -> Mapping[str, list[str]]:
    """Errors if a name without a value does not match the header stored for this planner (None: a new planner), or for
    one of its roles."""
    if not data[HEADER_NAME] or data[HEADER_VALUE]:
        return {}
    kept = None if planner is None else kept_header(planner, role=role)
    if kept is None:
        return {
            HEADER_VALUE.name: [f"Give the value of {data[HEADER_NAME]}; it is stored encrypted and never shown again."]
        }
    if kept.name.lower() != data[HEADER_NAME].lower():
        return {
            HEADER_VALUE.name: [f"{kept.name} is kept for this planner; give the value of {data[HEADER_NAME]} too."]
        }
    return {}


def keep(*, planner: Planner, data: PlannerData, role: str = "") -> None:
    """Store, replace or delete the header as entered, of the planner or of a role; without a header in the data nothing
    changes.

    Raises:
        FieldErrors: a value is missing.
    """
    if errors := check_kept(planner=planner, data=data, role=role):
        raise FieldErrors(errors)
    if data[REMOVE_HEADER]:
        remove(planner, role=role)
    elif data[HEADER_VALUE]:
        ending = data[HEADER_VALUE][-_ENDING:] if len(data[HEADER_VALUE]) >= _LONG_ENOUGH else ""
        fields = {"name": data[HEADER_NAME], "sealed": encrypt(data[HEADER_VALUE], purpose=PURPOSE), "ending": ending}
        if role:
            RoleSecret.objects.update_or_create(planner=planner, role=role, defaults=fields)
        else:
            EndpointSecret.objects.update_or_create(planner=planner, defaults=fields)


def remove(planner: Planner, *, role: str = "") -> bool:
    """Delete the header. False if there was none."""
    if role:
        return bool(RoleSecret.objects.filter(planner=planner, role=role).delete()[0])
    return bool(EndpointSecret.objects.filter(planner=planner).delete()[0])


def replace(*, planner: Planner, name: str, value: str, by: User, role: str = "") -> None:
    """Replace the header of an existing planner, or of the model of a role. Running evaluations continue with the new
    one.

    Raises:
        FieldErrors: the header is invalid; nothing was changed.
    """
    model = planner.roles[role] if role else {"kind": planner.kind, "endpoint_url": planner.endpoint_url}
    address = model.get("endpoint_url", "")
    data = PlannerData.of(
        name=planner.name, kind=model["kind"], endpoint_url=address, header_name=name, header_value=value
    )
    if not address:
        raise FieldErrors({HEADER_NAME.name: ["Only an endpoint has a secret header."]})
    missing = {} if name and value else {HEADER_VALUE.name: ["Give the header's name and its value."]}
    if errors := {**missing, **check(data)}:
        raise FieldErrors(errors)
    with transaction.atomic():
        keep(planner=planner, data=data, role=role)
        details = {"header": name, **_of_role(role)}
        record(by=by, action=Action.HEADER_SET, target=planner, label=planner.name, details=details)


def _of_role(role: str) -> dict[str, str]:
    return {"role": role} if role else {}


def take_away(*, planner: Planner, by: User, role: str = "") -> bool:
    """Delete the header of a planner, or of the model of a role, and log it. False if there was none."""
    with transaction.atomic():
        gone = remove(planner, role=role)
        if gone:
            record(by=by, action=Action.HEADER_REMOVED, target=planner, label=planner.name, details=_of_role(role))
    return gone


def kept_header(planner: Planner, *, role: str = "") -> KeptHeader | None:
    """The parts of the header of a planner, or of a role, that may be shown; None if it has none."""
    secret = _secret(planner, role=role)
    return None if secret is None else KeptHeader(name=secret.name, ending=secret.ending)


def header_of(planner: Planner, *, role: str = "") -> SecretHeader | None:
    """The header as it is sent, of the planner or of a role; None if there is none.

    Raises:
        HeaderUnreadableError: no key of this site decrypts it.
    """
    secret = _secret(planner, role=role)
    if secret is None:
        return None
    try:
        return SecretHeader(secret.name, decrypt(secret.sealed, purpose=PURPOSE))
    except UnreadableSecretError as error:
        raise HeaderUnreadableError from error


def header_to_send(*, planner: Planner | None, data: PlannerData) -> SecretHeader | None:
    """The header for a test call: the entered one, or the stored one of the owner's planner of this name (None: there
    is none) if its address is the same.

    Raises:
        FieldErrors: the stored header cannot be decrypted.
    """
    if data[REMOVE_HEADER]:
        return None
    if data[HEADER_VALUE]:
        return SecretHeader(data[HEADER_NAME], data[HEADER_VALUE])
    if planner is None or planner.endpoint_url != data[ENDPOINT_URL]:
        return None
    try:
        return header_of(planner)
    except HeaderUnreadableError as error:
        raise FieldErrors({HEADER_VALUE.name: [str(error)]}) from error


def headers_to_hide(planner: Planner) -> list[SecretHeader]:
    """The headers whose values are removed from what workers send, without those that cannot be decrypted."""
    found = []
    for role in ("", *planner.roles):
        with suppress(HeaderUnreadableError):
            found.append(header_of(planner, role=role))
    return [header for header in found if header is not None]


def addresses_to_hide(planner: Planner) -> list[str]:
    """The private addresses of the planner and of the models of its roles."""
    of_roles = (model.get(ENDPOINT_URL.name, "") for model in planner.roles.values())
    return [address for address in (planner.endpoint_url, *of_roles) if address]


def _secret(planner: Planner, *, role: str = "") -> EndpointSecret | RoleSecret | None:
    """The row; None if there is none. Lists join or prefetch it."""
    if role:
        kept = planner.role_secrets.all() if role in planner.roles else []
        return next((secret for secret in kept if secret.role == role), None)
    if not planner.endpoint_url:
        return None
    secret: EndpointSecret | None = getattr(planner, "secret", None)
    return secret
