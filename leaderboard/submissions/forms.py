"""The form that enters a planner. The rules stand in `services.py`; the form reads what was typed and shows errors."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django import forms
from django.forms.boundfield import BoundField, BoundWidget
from django.urls import reverse_lazy

from evaluator.planners.offline import OfflinePlanner, offline_planners
from evaluator.plans_file import MAX_BYTES
from leaderboard.accounts.forms import ServiceForm
from leaderboard.accounts.models import Team, User
from leaderboard.catalog.models import Suite
from leaderboard.planners.data import PlannerData
from leaderboard.planners.declared import DeclaredFields
from leaderboard.planners.kinds import BUNDLED_PLANNERS, KINDS
from leaderboard.planners.kinds.fields import ModelFields
from leaderboard.planners.models import CALLED, PlannerKind
from leaderboard.planners.services import LONGEST_TIMEOUT, SHORTEST_TIMEOUT
from leaderboard.submissions.services import PRIORITIES, SubmissionData
from leaderboard.submissions.visibility_form import VisibilityFields

DEFAULT_TIMEOUT = 30
CHECK_ADDRESS = reverse_lazy("planners:check")
_TOLD: Mapping[str, str] = {
    PlannerKind.ENDPOINT: "PlanArena sends one JSON POST per task to your server. You can test it here first.",
    PlannerKind.CHAT: "A worker runs the strategy you choose, which calls your /chat/completions.",
    PlannerKind.HUB: "Pinned to the current commit of its revision. A worker downloads and runs it.",
    PlannerKind.CHECKPOINT: "A zip with safetensors. A worker runs it with the strategy you choose.",
    PlannerKind.BUNDLED: "An anchor of every board, or a strategy with the bundled language model.",
    PlannerKind.PLANS: "JSON with one plan per task, judged without execution and marked on the board.",
}
"""What stands on the card of each kind."""
_OTHER_UPLOADS = ("plans_file", "checkpoint_file")
_SECRET = "header_value"  # noqa: S105 - a field's name
_TYPED = frozenset({"text", "url", "number", "password"})
"""Kinds of fields that change letter by letter; an area for text has none of its own."""
_UNCHECKED = frozenset({"checkpoint_file"})
"""Fields that are not checked as one types: a checkpoint is too large to be sent twice."""


class Card(NamedTuple):
    """A choice with a sentence."""

    widget: BoundWidget
    title: str
    told: str


def _bundled_label(planner: OfflinePlanner) -> str:
    return f"{planner.name}: {planner.description}" + (f" For {', '.join(planner.suites)}." if planner.suites else "")


class SubmitForm(VisibilityFields, DeclaredFields, ModelFields, ServiceForm):
    """A planner and the suites it is entered for."""

    kind = forms.ChoiceField(
        label="Kind of planner",
        choices=[(name, kind.choice) for name, kind in KINDS.items()],
        widget=forms.RadioSelect,
        initial=PlannerKind.ENDPOINT,
    )
    endpoint_url = forms.CharField(
        label="Address of the endpoint",
        help_text="Receives planner/1 requests, or is the base URL of a chat API, such as https://example.org/v1. "
        "Only you see this address.",
        required=False,
        widget=forms.URLInput(attrs={"placeholder": "https://example.org/plan"}),
    )
    timeout_seconds = forms.IntegerField(
        label="Timeout in seconds",
        help_text=f"Time limit for one response: {SHORTEST_TIMEOUT} to {LONGEST_TIMEOUT}. A late response of a "
        "planner/1 endpoint is a planner fault; calls to a chat endpoint are retried.",
        required=False,
        initial=DEFAULT_TIMEOUT,
        widget=forms.NumberInput(attrs={"class": "short", "min": SHORTEST_TIMEOUT, "max": LONGEST_TIMEOUT}),
    )
    header_name = forms.CharField(
        label="Name of the header",
        help_text="Such as Authorization or X-Api-Key.",
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": "Authorization"}),
    )
    header_value = forms.CharField(
        label="Value of the header",
        help_text="Stored encrypted and never shown again.",
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    remove_header = forms.BooleanField(label="Remove the stored header of this planner", required=False)
    bundled_name = forms.ChoiceField(
        label="Planner",
        choices=[(name, _bundled_label(planner)) for name, planner in offline_planners().items()],
        required=False,
        initial=next(iter(BUNDLED_PLANNERS)),
        widget=forms.RadioSelect,
    )
    plans_file = forms.FileField(
        label="Plans file",
        help_text=f"JSON or JSON lines, at most {MAX_BYTES // 1024**2} MiB: one plan per task of one suite that "
        "judges plans.",
        required=False,
        allow_empty_file=True,
        widget=forms.FileInput(attrs={"accept": ".json,.jsonl,application/json"}),
    )
    plans_digest = forms.CharField(required=False, widget=forms.HiddenInput)
    """Of the file that came with the form before: a browser does not send it again by itself."""
    name = forms.CharField(
        label="Name on the board",
        help_text="Names are unique among your planners; submitting one again adds an evaluation.",
        max_length=80,
    )
    description = forms.CharField(
        label="Description",
        help_text="Optional: the strategy, the language model, a link to the paper. Visible to everyone who "
        "sees the planner.",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    suites = forms.MultipleChoiceField(label="Suites", widget=forms.CheckboxSelectMultiple)
    team = forms.ChoiceField(
        label="For whom?",
        help_text="Counts towards the team's quota and yours. The team's members can manage it.",
        required=False,
    )
    priority = forms.ChoiceField(
        label="Priority",
        help_text="Among your own evaluations. Does not affect other users.",
        choices=[
            ("high", "High: before my other evaluations"),
            ("normal", "Normal"),
            ("low", "Low: after my other evaluations"),
        ],
        required=False,
        initial="normal",
    )
    own_worker = forms.BooleanField(label="Run on my self-hosted worker", required=False)

    def __init__(self, *args: Any, user: User, teams: Sequence[Team] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.teams = teams
        self.current_suites = list(Suite.objects.filter(current=True).order_by("slug"))
        assert set(self.names_offered("priority")) == set(PRIORITIES)
        if teams:
            self._offer("team", [("", "For me alone"), *((team.slug, team.name) for team in teams)])
        else:
            del self.fields["team"]
        self.offer_checkpoints(user)
        self._offer("suites", [(suite.slug, _label(suite)) for suite in self.current_suites])
        self.fields["suites"].initial = [suite.slug for suite in self.current_suites[:1]]
        for name, of_form in self.fields.items():
            _check_as_one_types(name=name, field=of_form)

    def names_offered(self, field: str) -> list[str]:
        """The values among which a field lets its user choose."""
        choices: Any = self._choice_field(field).choices
        return [str(value) for value, _ in choices]

    def _offer(self, field: str, choices: list[tuple[str, str]]) -> None:
        self._choice_field(field).choices = choices

    def _choice_field(self, name: str) -> forms.ChoiceField:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        return field

    def kind_cards(self) -> Iterator[Card]:
        """The kinds with what they are."""
        for choice in self["kind"]:
            yield Card(choice, str(choice.choice_label), _TOLD.get(choice.data["value"], ""))

    def bundled_groups(self) -> list[tuple[str, list[BoundWidget]]]:
        """The choices of bundled planners under the headings of their groups."""
        planners = offline_planners()
        groups: dict[str, list[BoundWidget]] = {}
        for choice in self["bundled_name"]:
            groups.setdefault(planners[choice.data["value"]].group, []).append(choice)
        return list(groups.items())

    def wrong_fields(self) -> list[BoundField]:
        """The fields with errors, in the order of the form."""
        return [field for field in self if field.errors]

    def planner_entered(self) -> PlannerData:
        """The planner as far as it was entered. Fields of the kind that was not chosen do not count."""
        entered = self.cleaned_data
        chosen = entered.get("kind", "")
        kind = KINDS.get(chosen)
        is_called = chosen in CALLED
        timeout = entered.get("timeout_seconds") if is_called else None
        header: dict[str, Any] = {
            "header_name": entered.get("header_name", ""),
            "header_value": entered.get("header_value", ""),
            "remove_header": entered.get("remove_header", False),
        }
        texts: dict[str, Any] = {field: (entered.get(field) or "").strip() for field in (kind.fields if kind else ())}
        return PlannerData(
            name=entered.get("name", ""),
            kind=chosen,
            timeout_seconds=DEFAULT_TIMEOUT if timeout is None else timeout,
            description=entered.get("description", ""),
            **texts,
            **(self.declared_entered(kind=kind) if kind else {}),
            **(header if is_called else {}),
        )

    def data_entered(self) -> SubmissionData:
        """What was entered, for `services.submit`."""
        entered = self.cleaned_data
        return SubmissionData(
            planner=self.planner_entered(),
            suites=entered.get("suites", []),
            team=entered.get("team", ""),
            priority=entered.get("priority") or "normal",
            **self.visibility_entered(),
        )

    def remember_plans(self, digest: str) -> None:
        """Let the hidden field come back with the file that was kept."""
        self.data = self.data.copy()
        self.data["plans_digest"] = digest
        self.cleaned_data["plans_digest"] = digest


def _label(suite: Suite) -> str:
    return f"{suite.title}: plans are {'executed' if suite.runs_experts else 'judged, nothing is executed'}"


def _check_as_one_types(*, name: str, field: forms.Field) -> None:
    """Have the server check the form when this field changes, and say beside it what it found."""
    described = f"id_{name}_status" + (f" id_{name}_helptext" if field.help_text else "")
    attributes = {"aria-describedby": described}
    if name not in _UNCHECKED and not isinstance(field.widget, forms.HiddenInput):
        typed = getattr(field.widget, "input_type", "text") in _TYPED
        left_out = [other for other in (*_OTHER_UPLOADS, _SECRET) if other != name]
        attributes |= {
            "hx-post": str(CHECK_ADDRESS),
            "hx-trigger": "input changed delay:500ms, change" if typed else "change",
            # Neither files nor the secret are sent again and again.
            "hx-params": f"not {','.join(left_out)}",
        }
        if isinstance(field.widget, forms.FileInput):
            attributes["hx-encoding"] = "multipart/form-data"
    field.widget.attrs.update(attributes)
