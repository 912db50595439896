"""The submit form, and the fields that say who sees a submission. Forms read input and show errors; the rules are in
`services.py` and `evaluations/visibility.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple, TypedDict

from django import forms
from django.forms.boundfield import BoundField, BoundWidget
from django.urls import reverse_lazy

from evaluator.core.plans_file import MAX_BYTES
from evaluator.planners.named import offline_planners
from leaderboard.catalog.hidden_data import data_fields_on_page
from leaderboard.catalog.models import Suite, current_suites
from leaderboard.evaluations.models import Visibility
from leaderboard.people.models import Team, User
from leaderboard.people.web.forms import ServiceForm
from leaderboard.planners import checkpoints
from leaderboard.planners.checkpoints import ReceivedFile
from leaderboard.planners.data import CALL_TEMPLATE, DECLARED, DESCRIPTION, NAME, PlannerData
from leaderboard.planners.kinds import SECRETS
from leaderboard.planners.kinds.base import Kind
from leaderboard.planners.kinds.bundled import BUNDLED_NAME
from leaderboard.planners.kinds.chat import SETTINGS as CHAT_SETTINGS
from leaderboard.planners.kinds.chat import SETTINGS_TEMPLATE
from leaderboard.planners.kinds.checkpoint import CHECKPOINT_DIGEST
from leaderboard.planners.kinds.language_models import OPTIONS, ROLES, STRATEGY, model_strategies
from leaderboard.planners.kinds.plans import PLANS_DIGEST
from leaderboard.planners.models import CheckpointUpload
from leaderboard.planners.roles import path_of
from leaderboard.platform.fields import FIELD_TEMPLATE, Field
from leaderboard.platform.problems import FieldErrors
from leaderboard.submissions.fields import (
    ASKED_AGAIN,
    DETERMINISTIC,
    EMBARGO_UNTIL,
    OWN_WORKER,
    PRIORITY,
    TEAM,
    VERSION,
    VISIBILITY,
)
from leaderboard.submissions.services import SubmissionData
from leaderboard.submissions.web.strategy_fields import (
    CHECKPOINT_FILE,
    OptionBlock,
    RoleBlock,
    StrategyFields,
    form_name,
)


class VisibilityEntered(TypedDict):
    """What was chosen, for the services."""

    visibility: str
    embargo_until: datetime | None


class VisibilityFields(forms.Form):
    """Visibility, and the end of an embargo."""

    visibility = VISIBILITY.form_field()
    embargo_until = EMBARGO_UNTIL.form_field()

    def visibility_entered(self) -> VisibilityEntered:
        """The entered values; the date only for an embargo."""
        chosen = self.cleaned_data.get("visibility") or Visibility.PUBLIC
        until = self.cleaned_data.get("embargo_until") if chosen == Visibility.EMBARGO else None
        return VisibilityEntered(visibility=chosen, embargo_until=until)


class ChangeVisibilityForm(VisibilityFields, ServiceForm):
    """The new visibility of a submission."""


CHECK_ADDRESS = reverse_lazy("planners:check")
UPLOADS: Mapping[str, Field[Any]] = {"plans_file": PLANS_DIGEST, CHECKPOINT_FILE: CHECKPOINT_DIGEST}
"""Inputs for files, with the field of a kind that gets the digest."""
_TYPED = frozenset({"text", "url", "number", "password"})
"""Types of inputs that change with every key; textareas have none."""
_ROLES = sorted({role for entry in model_strategies().values() for role in entry.role_names})
CHECKPOINT_FILES: Mapping[str, str] = {
    CHECKPOINT_FILE: CHECKPOINT_DIGEST.name,
    **{form_name(path_of(role, CHECKPOINT_FILE)): form_name(path_of(role, CHECKPOINT_DIGEST.name)) for role in _ROLES},
}
"""Inputs for checkpoints, with the fields that get their digests."""
SECRETS_OF_FORM: Sequence[str] = (
    *SECRETS,
    *(form_name(path_of(role, secret)) for role in _ROLES for secret in SECRETS),
)
"""Fields of the form that nobody may read."""
FOLDED: Mapping[str, Sequence[str]] = {
    "call": ("timeout_seconds", "header_name", "header_value", "remove_header"),
    "chat": tuple(field.name for field in CHAT_SETTINGS),
    "about": ("description", *(field.name for field in DECLARED)),
    "options": sorted(
        {
            form_name(f"{OPTIONS.name}.{option.name}")
            for entry in model_strategies().values()
            for option in entry.options.declared
        }
    ),
    "more": ("team", "version", "priority", "own_worker", "deterministic", "asked_again"),
}
"""Fields of the parts of the page that are folded at first."""
_FOLDED_TEMPLATES = frozenset({CALL_TEMPLATE, SETTINGS_TEMPLATE})


class Block(NamedTuple):
    """A part of the page for a field, or for neighbours that are shown together."""

    template: str
    field: BoundField


class Group(NamedTuple):
    """Choices under a heading that can be folded."""

    title: str
    choices: list[BoundWidget]
    is_open: bool


class SubmitForm(VisibilityFields, ServiceForm):
    """A planner of one kind, which defines the fields of the planner, and its suites.

    Its view calls `offer_checkpoints`, and `keep_checkpoints` when something was sent.
    """

    plans_file = forms.FileField(
        label="Plans file",
        help_text=f"JSON or JSON lines, at most {MAX_BYTES // 1024**2} MiB: one plan per task of one suite that "
        "judges plans.",
        required=False,
        allow_empty_file=True,
        widget=forms.FileInput(attrs={"accept": ".json,.jsonl,application/json"}),
    )
    checkpoint_file = forms.FileField(
        label="Checkpoint",
        help_text="A zip of config.json, the tokenizer's files and model*.safetensors. Only workers download it.",
        required=False,
        widget=forms.FileInput(attrs={"accept": ".zip,application/zip"}),
    )
    suites = forms.MultipleChoiceField(
        label="Suites",
        help_text="Executed: expert models run your plans. Judged: rules read them. In turns: your planner sees each "
        "result before its next step.",
        widget=forms.CheckboxSelectMultiple,
    )
    team = forms.ChoiceField(label=TEAM.label, help_text=TEAM.page_help or "", required=False)
    version = VERSION.form_field()
    priority = PRIORITY.form_field()
    own_worker = OWN_WORKER.form_field()
    deterministic = DETERMINISTIC.form_field()
    asked_again = ASKED_AGAIN.form_field()

    def __init__(self, *args: Any, kind: Kind, user: User, teams: Sequence[Team] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind
        own = [field for field in kind.fields if field.on_page]
        self.planner_fields = [*own, *(field for field in (NAME, DESCRIPTION) if field not in own)]
        self.fields |= {field.name: field.form_field() for field in self.planner_fields}
        for upload in (name for name, digest in UPLOADS.items() if digest not in own):
            del self.fields[upload]
        self.strategy_fields = StrategyFields.of(kind.strategies().values(), has_main_model=kind.has_main_model)
        self.fields |= self.strategy_fields.form_fields()
        self.data_fields = data_fields_on_page()
        self.fields |= {field.name: field.form_field() for field in self.data_fields}
        kind.fit_form(self.fields)
        self.fields["visibility"].widget = forms.Select(choices=VISIBILITY.choices)
        self.order_fields(_order(self.planner_fields))
        self.teams = teams
        self.current_suites = current_suites()
        # A model of a role may be one that the site does not know.
        if not kind.may_declare_determinism and ROLES not in kind.fields:
            del self.fields[DETERMINISTIC.name]
        if not kind.can_be_asked_again:
            del self.fields[ASKED_AGAIN.name]
        if teams:
            self._offer("team", [("", "For me alone"), *((team.slug, team.name) for team in teams)])
        else:
            del self.fields["team"]
        self.offer_checkpoints(user)
        self._offer_suites()
        for name, of_form in self.fields.items():
            _check_as_one_types(name=name, field=of_form)

    def names_offered(self, field: str) -> list[str]:
        """The values of a field's choices."""
        choices: Any = self._choice_field(field).choices
        return [str(value) for value, _ in choices]

    def _offer(self, field: str, choices: list[tuple[str, str]]) -> None:
        self._choice_field(field).choices = choices

    def _offer_suites(self) -> None:
        """Accept all current suites, so that the kind can explain refusals, and show those that it supports."""
        fitting = self.fitting_suites
        self._offer("suites", [(suite.slug, suite.title) for suite in self.current_suites])
        shown: Any = self.fields["suites"].widget
        shown.choices = [(suite.slug, suite.title) for suite in fitting]
        self.fields["suites"].initial = [suite.slug for suite in fitting[:1]]

    @property
    def fitting_suites(self) -> list[Suite]:
        """The suites that planners of this kind can be evaluated on."""
        return [suite for suite in self.current_suites if not self.kind.refusal(suite)]

    def _choice_field(self, name: str) -> forms.ChoiceField:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        return field

    def bundled_groups(self) -> list[Group]:
        """The choices of bundled planners by group. The group of the chosen one is open, or the first."""
        planners = offline_planners()
        groups: dict[str, list[BoundWidget]] = {}
        for choice in self[BUNDLED_NAME.name]:
            groups.setdefault(planners[choice.data["value"]].group, []).append(choice)
        chosen = planners.get(str(self[BUNDLED_NAME.name].value()))
        opened = chosen.group if chosen else next(iter(groups))
        return [Group(title, choices, title == opened) for title, choices in groups.items()]

    def data_choices(self) -> list[BoundField]:
        """The fields that choose the data."""
        return [self[field.name] for field in self.data_fields]

    def wrong_fields(self) -> list[BoundField]:
        """The fields with errors, in the order of the form."""
        return [field for field in self if field.errors]

    def opened(self) -> dict[str, bool]:
        """Which parts of `FOLDED` are unfolded: those with an error or a value."""
        entered = {*self.errors, *self.changed_data} if self.is_bound else set()
        return {part: not entered.isdisjoint(fields) for part, fields in FOLDED.items()}

    def planner_blocks(self) -> Iterator[Block]:
        """The blocks with the kind's fields that are not folded."""
        shown = [field for field in self.planner_fields if field.template and field.template not in _FOLDED_TEMPLATES]
        for template, fields in groupby(shown, key=lambda field: field.template):
            for field in fields if template == FIELD_TEMPLATE else [next(fields)]:
                yield Block(template=template, field=self[field.name])

    def planner_entered(self) -> PlannerData:
        """The entered planner."""
        values = {field.name: field.from_form(self.cleaned_data.get(field.name)) for field in self.planner_fields}
        values |= self.strategy_fields.entered(self.cleaned_data, strategy=values.get(STRATEGY.name, ""))
        return PlannerData(kind=self.kind.kind.value, values=values)

    def data_entered(self) -> SubmissionData:
        """The entered submission, for `services.validate`."""
        entered = self.cleaned_data
        return SubmissionData(
            planner=self.planner_entered(),
            suites=entered.get("suites", []),
            team=entered.get("team", ""),
            version=VERSION.from_form(entered.get("version")),
            **{field.name: entered.get(field.name, "") for field in self.data_fields},
            priority=PRIORITY.from_form(entered.get("priority")),
            deterministic=DETERMINISTIC.from_form(entered.get("deterministic")),
            asked_again=ASKED_AGAIN.from_form(entered.get("asked_again")),
            **self.visibility_entered(),
        )

    def show(self, problems: FieldErrors) -> None:
        """See `ServiceForm.show`; options and roles have dotted names in services."""
        super().show(FieldErrors({form_name(field): texts for field, texts in problems.errors.items()}))

    def option_blocks(self) -> list[OptionBlock]:
        """The options of strategies."""
        return self.strategy_fields.option_blocks(self)

    def role_blocks(self) -> list[RoleBlock]:
        """The roles of strategies."""
        return list(self.strategy_fields.role_blocks(self))

    def offer_checkpoints(self, owner: User) -> None:
        """Offer the owner's uploaded checkpoints."""
        digests = [name for name in CHECKPOINT_FILES.values() if name in self.fields]
        if not digests:
            return
        uploads = [(upload.digest, _upload_label(upload)) for upload in checkpoints.uploads_of(owner)]
        for name in digests:
            self.fields[name].widget.choices = [("", "None of these"), *uploads]

    @property
    def has_checkpoints(self) -> bool:
        """Whether there is an uploaded checkpoint to choose."""
        return len(self.fields[CHECKPOINT_DIGEST.name].widget.choices) > 1

    def keep_checkpoints(self, owner: User) -> None:
        """Store uploaded checkpoints even if other fields have errors, so that they are not sent again."""
        for name in CHECKPOINT_FILES.keys() & self.fields.keys() & self.files.keys():
            self._keep_checkpoint(name, owner=owner)

    def _keep_checkpoint(self, name: str, *, owner: User) -> None:
        file = self.files[name]
        assert isinstance(file, ReceivedFile)
        problems: dict[str, list[str]] = {}
        try:
            digest = checkpoints.keep_upload(owner=owner, file=file).digest
        except checkpoints.TooLargeError as error:
            problems = {checkpoints.FIELD: [str(error)]}
        except FieldErrors as error:
            problems = error.errors
        else:
            self.data: Any = self.data.copy()
            self.data[CHECKPOINT_FILES[name]] = digest
        for text in (text for texts in problems.values() for text in texts):
            # The first access to `errors` validates the form, which would remove this error.
            assert self.errors is not None
            self.add_error(name, text)

    def remember_plans(self, digest: str) -> None:
        """Set the digest of the stored file in the hidden field."""
        self.data = self.data.copy()
        self.data[PLANS_DIGEST.name] = digest
        self.cleaned_data[PLANS_DIGEST.name] = digest


def _order(fields: Sequence[Field[Any]]) -> list[str]:
    """The order of a form's fields on the page and in the list of errors."""
    asked = [field.name for field in fields if field.template and field.template not in _FOLDED_TEMPLATES]
    return [*asked, *UPLOADS, NAME.name, VISIBILITY.name, EMBARGO_UNTIL.name, "suites"]


def _upload_label(upload: CheckpointUpload) -> str:
    size = upload.bytes / 1024**2
    return f"{upload.architecture}, {size:,.1f} MB, uploaded {upload.created:%Y-%m-%d %H:%M}, {upload.digest[:12]}"


def _check_as_one_types(*, name: str, field: forms.Field) -> None:
    """Let htmx validate the form when this field changes, and show the result beside it."""
    described = f"id_{name}_status" + (f" id_{name}_helptext" if field.help_text else "")
    attributes = {"aria-describedby": described}
    # A checkpoint is too large to be sent twice.
    if name not in CHECKPOINT_FILES and not isinstance(field.widget, forms.HiddenInput):
        typed = getattr(field.widget, "input_type", "text") in _TYPED
        left_out = [other for other in (*UPLOADS, *CHECKPOINT_FILES, *SECRETS_OF_FORM) if other != name]
        attributes |= {
            "hx-post": str(CHECK_ADDRESS),
            "hx-trigger": "input changed delay:500ms, change" if typed else "change",
            # Files and secrets are not sent with every check.
            "hx-params": f"not {','.join(left_out)}",
        }
        if isinstance(field.widget, forms.FileInput):
            attributes["hx-encoding"] = "multipart/form-data"
    field.widget.attrs.update(attributes)
