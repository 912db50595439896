"""The form's fields for options and roles of strategies, as the strategies declare them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django import forms
from django.forms.boundfield import BoundField

from evaluator.core.strategy_options import ChoiceOption, NamesOption, NumberOption, Option, Role, WholeOption
from evaluator.planners.language_models.shipped import shipped_modules
from evaluator.planners.strategies.registry import StrategyEntry
from leaderboard.planners.data import ENDPOINT_URL, HEADER_NAME, HEADER_VALUE
from leaderboard.planners.kinds.checkpoint import CHECKPOINT_DIGEST
from leaderboard.planners.kinds.hub import REVISION
from leaderboard.planners.kinds.language_models import MODEL_ID, OPTIONS, ROLES, strategy_named
from leaderboard.planners.roles import FIELDS_OF_ROLES, NOUNS
from leaderboard.platform.fields import Field

KIND, CHECKPOINT_FILE = "kind", "checkpoint_file"
SHOWN: tuple[Field[Any], ...] = (ENDPOINT_URL, MODEL_ID, HEADER_NAME, HEADER_VALUE, REVISION, CHECKPOINT_DIGEST)
"""Fields of a role's model on the page; the API has them all."""
_SEPARATOR = "__"


def form_name(path: str) -> str:
    """Name of the form's field of a dotted name: `options__samples`, `roles__ground__model_id`."""
    return path.replace(".", _SEPARATOR)


class OptionBlock(NamedTuple):
    """An option on the page."""

    strategies: str
    """Those that have it, by name, separated by blanks."""
    field: BoundField


class RoleBlock(NamedTuple):
    """A role on the page."""

    role: Role
    strategies: str
    kind: BoundField
    fields: list["ModelField"]
    is_open: bool


class ModelField(NamedTuple):
    """A field of a role's model."""

    kinds: str
    """Kinds of models that have it, separated by blanks."""
    field: BoundField


@dataclass(frozen=True, slots=True)
class StrategyFields:
    """Fields of all options and roles of some strategies."""

    options: Mapping[str, tuple[Option, tuple[str, ...]]]
    """By name, with the strategies that have it."""
    roles: Mapping[str, tuple[Role, tuple[str, ...]]]
    """The same for roles."""
    has_main_model: bool = True
    """Whether the planner's model answers for roles without one."""

    @classmethod
    def of(cls, entries: Iterable[StrategyEntry], *, has_main_model: bool = True) -> "StrategyFields":
        """The fields of these strategies."""
        options: dict[str, tuple[Option, tuple[str, ...]]] = {}
        roles: dict[str, tuple[Role, tuple[str, ...]]] = {}
        for entry in entries:
            for option in entry.options.declared:
                options[option.name] = (option, (*options.get(option.name, (option, ()))[1], entry.name))
            for role in entry.roles:
                roles[role.name] = (role, (*roles.get(role.name, (role, ()))[1], entry.name))
        return cls(options, roles, has_main_model)

    def form_fields(self) -> dict[str, forms.Field]:
        """The fields of the form by name."""
        fields: dict[str, forms.Field] = {}
        for option, names in self.options.values():
            fields[form_name(f"{OPTIONS.name}.{option.name}")] = _option_field(option, strategies=names)
        for name in self.roles:
            path = form_name(f"{ROLES.name}.{name}")
            unset = "The planner's model" if self.has_main_model else "Choose a kind of model"
            kinds = [("", unset), *((kind, noun) for kind, noun in NOUNS.items())]
            fields[f"{path}{_SEPARATOR}{KIND}"] = forms.ChoiceField(label="Its model", required=False, choices=kinds)
            for field in SHOWN:
                shown = field.form_field()
                shown.help_text = _HELP.get(field.name, "")
                fields[f"{path}{_SEPARATOR}{field.name}"] = shown
            fields[f"{path}{_SEPARATOR}{CHECKPOINT_FILE}"] = forms.FileField(
                label="Checkpoint",
                help_text="A zip, as for an uploaded checkpoint. Only workers download it.",
                required=False,
                widget=forms.FileInput(attrs={"accept": ".zip,application/zip"}),
            )
        return fields

    def entered(self, cleaned: Mapping[str, Any], *, strategy: str) -> dict[str, Any]:
        """Values of `OPTIONS` and `ROLES`. Inputs of other strategies than the chosen one are left out."""
        entry = strategy_named(strategy)
        if entry is None:
            return {}
        values = {
            option.name: value
            for option in entry.options.declared
            if (value := cleaned.get(form_name(f"{OPTIONS.name}.{option.name}"))) not in (None, "", [])
        }
        models = {}
        for role in entry.role_names:
            path = form_name(f"{ROLES.name}.{role}")
            if kind := cleaned.get(f"{path}{_SEPARATOR}{KIND}"):
                models[role] = {
                    KIND: kind,
                    **{
                        field.name: field.from_form(cleaned.get(f"{path}{_SEPARATOR}{field.name}"))
                        for field in SHOWN
                        if field in FIELDS_OF_ROLES[kind]
                    },
                }
        return {OPTIONS.name: values or None, ROLES.name: models or None}

    def option_blocks(self, form: forms.Form) -> list[OptionBlock]:
        """The options on the page."""
        return [
            OptionBlock(" ".join(names), form[form_name(f"{OPTIONS.name}.{option.name}")])
            for option, names in self.options.values()
        ]

    def role_blocks(self, form: forms.Form) -> Iterator[RoleBlock]:
        """The roles on the page."""
        for role, names in self.roles.values():
            path = form_name(f"{ROLES.name}.{role.name}")
            kind = form[f"{path}{_SEPARATOR}{KIND}"]
            fields = [
                ModelField(
                    " ".join(kind for kind, fields in FIELDS_OF_ROLES.items() if field in fields),
                    form[f"{path}{_SEPARATOR}{field.name}"],
                )
                for field in SHOWN
            ]
            file = form[f"{path}{_SEPARATOR}{CHECKPOINT_FILE}"]
            uploaded = " ".join(kind for kind, fields in FIELDS_OF_ROLES.items() if CHECKPOINT_DIGEST in fields)
            fields.insert(-1, ModelField(uploaded, file))
            is_open = (
                not self.has_main_model
                or bool(kind.value() or kind.errors)
                or any(shown.field.errors for shown in fields)
            )
            yield RoleBlock(role, " ".join(names), kind, fields, is_open)


_HELP = {
    ENDPOINT_URL.name: "Of planner/1, or the base URL of a chat API. Only you see it.",
    MODEL_ID.name: "Of a chat endpoint: its name in requests. Of Hugging Face: ORG/NAME. Bundled: "
    f"{', '.join(shipped_modules())}.",
    HEADER_NAME.name: "Of an endpoint, if it requires one, such as Authorization.",
    HEADER_VALUE.name: "Stored encrypted and never shown again.",
    REVISION.name: "Of a Hugging Face model; main if omitted.",
    CHECKPOINT_DIGEST.name: "Of an uploaded checkpoint.",
}


def _option_field(option: Option, *, strategies: tuple[str, ...]) -> forms.Field:
    common: dict[str, Any] = {"label": option.label, "required": False}
    of = f"{option.sentence} For {', '.join(strategies)}."
    if isinstance(option, NamesOption):
        choices = [(name, name) for name in option.choices]
        text = f"{of} None: {option.when_empty}."
        return forms.MultipleChoiceField(choices=choices, widget=forms.SelectMultiple, help_text=text, **common)
    if isinstance(option, ChoiceOption):
        choices = [("", f"{option.initial} (default)"), *((name, name) for name in option.choices)]
        return forms.ChoiceField(choices=choices, help_text=of, **common)
    assert isinstance(option, WholeOption | NumberOption)
    limits = {"min": f"{option.least:g}", "max": f"{option.most:.0f}", "placeholder": f"{option.default:g}"}
    step = {} if isinstance(option, WholeOption) else {"step": "any"}
    widget = forms.NumberInput(attrs={"class": "short", **limits, **step})
    # The strategy's own check names the bounds.
    return forms.CharField(widget=widget, help_text=f"{of} {option.range_in_words().capitalize()}.", **common)
