"""Planners as the API reads and writes them. What kinds of planners have follows from their definitions."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from leaderboard.planners import secret_headers
from leaderboard.planners.data import HEADER_NAME, HEADER_VALUE, NAME
from leaderboard.planners.kinds import FIELDS, KINDS, fields_of, kinds_with
from leaderboard.planners.kinds.language_models import ROLES
from leaderboard.planners.models import Planner, PlannerKind
from leaderboard.planners.roles import ALL_FIELDS, FIELDS_OF_ROLES, NOUNS, shown_of
from leaderboard.platform.api.examples import example
from leaderboard.platform.api.shapes import Input, NamedChoiceField
from leaderboard.platform.fields import SeenBy

_KIND = next(iter(KINDS))
_ENTERED = {
    "kind": _KIND,
    **{
        field.name: field.example if field in fields_of(_KIND) or not kinds_with(field) else field.default
        for field in FIELDS
        if field.in_api
    },
}
"""A planner of the first kind, for examples."""


_ROLE_KIND = next(iter(FIELDS_OF_ROLES))


@example({
    "kind": _ROLE_KIND,
    **{
        field.name: field.example if field in FIELDS_OF_ROLES[_ROLE_KIND] else field.default for field in ALL_FIELDS
    },
})  # fmt: skip
class RoleInput(Input):
    """The language model of a role of the planner's strategy."""

    kind = NamedChoiceField("kind of model", choices=[(kind, noun) for kind, noun in NOUNS.items()])

    def get_fields(self) -> dict[str, Any]:
        """With the fields of all kinds of models."""
        kinds = {one: [kind for kind, fields in FIELDS_OF_ROLES.items() if one in fields] for one in ALL_FIELDS}
        return {**super().get_fields(), **{one.name: one.api_field(kinds=of) for one, of in kinds.items()}}


@example(_ENTERED)
class PlannerInput(Input):
    """A planner to enter. What its kind needs is checked by the service, so that the page gives the same answers."""

    name = NAME.api_field()
    kind = NamedChoiceField("kind of planner", choices=PlannerKind.choices)

    def get_fields(self) -> dict[str, Any]:
        """With the fields of all kinds."""
        others = {field.name: field.api_field(kinds=kinds_with(field)) for field in FIELDS if field.in_api}
        others[ROLES.name] = serializers.DictField(
            child=RoleInput(), required=False, default=None, allow_null=True, help_text=others[ROLES.name].help_text
        )
        return {**super().get_fields(), **others}


@example({"name": HEADER_NAME.example, "value": HEADER_VALUE.example})
class HeaderInput(Input):
    """A secret header to keep in the place of the one before."""

    name = HEADER_NAME.api_field(required=True)
    value = HEADER_VALUE.api_field(
        required=True, help_text="Kept encrypted, sent to the endpoint only, not shown again."
    )


@example({"name": HEADER_NAME.example, "ends_in": "ab12"})
class HeaderOutput(serializers.Serializer[Any]):
    """A secret header that is kept."""

    name = serializers.CharField(read_only=True)
    ends_in = serializers.CharField(read_only=True, help_text="Empty if the last characters would reveal too much.")


OF_OWNER = frozenset({"header", *(field.name for field in FIELDS if field.seen_by is SeenBy.OWNER)})
"""What of a planner is shown to its owner only."""


@example({
    **{field.name: _ENTERED.get(field.name, field.default) for field in FIELDS if field.is_kept},
    "id": 12, "kind": _ENTERED["kind"], "roles": {}, "owner": "ada", "commit": "", "weights_bytes": None, "licence": "",
    "header": {"name": HEADER_NAME.example, "ends_in": "ab12"},
}, may_lack=OF_OWNER)  # fmt: skip
class PlannerOutput(serializers.ModelSerializer[Planner]):
    """A planner. Its address, and whether a secret header is kept for it, are shown to its owner only."""

    owner = serializers.CharField(source="owner.username", read_only=True)
    endpoint_url = serializers.CharField(read_only=True, help_text="Empty for planners of other kinds.")
    header = serializers.SerializerMethodField(
        help_text="The secret header that is stored: its name, and the last characters of its value if they are shown."
    )

    roles = serializers.SerializerMethodField(
        help_text="Models of the strategy's roles, by role, with what is shown of planners of their kind."
    )

    class Meta:
        model = Planner
        fields = [
            "id", "kind", *(field.name for field in FIELDS if field.is_kept), "header", "commit", "weights_bytes",
            "licence", "owner",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(HeaderOutput(allow_null=True))
    def get_header(self, planner: Planner) -> dict[str, str] | None:
        kept = secret_headers.kept_header(planner) if self._is_owners(planner) else None
        return None if kept is None else {"name": kept.name, "ends_in": kept.ending}

    @extend_schema_field(serializers.DictField(child=serializers.DictField(child=serializers.JSONField())))
    def get_roles(self, planner: Planner) -> dict[str, dict[str, Any]]:
        is_owners = self._is_owners(planner)
        shown: dict[str, dict[str, Any]] = {}
        for role, model in planner.roles.items():
            shown[role] = {name: value for name, value in shown_of(model).items() if is_owners or name not in OF_OWNER}
            if is_owners:
                kept = secret_headers.kept_header(planner, role=role)
                shown[role]["header"] = None if kept is None else {"name": kept.name, "ends_in": kept.ending}
        return shown

    def to_representation(self, instance: Planner) -> dict[str, Any]:
        shown = super().to_representation(instance)
        if not self._is_owners(instance):
            for name in OF_OWNER:
                # The caller may have selected other fields only.
                shown.pop(name, None)
        return shown

    def _is_owners(self, planner: Planner) -> bool:
        request = self.context.get("request")
        return request is not None and request.user.pk == planner.owner_id
