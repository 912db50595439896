"""The form that enters a planner. The rules stand in `services.py`; the form reads what was typed and shows errors."""

from typing import Any

from django import forms
from django.forms.boundfield import BoundWidget

from evaluator.planners.offline import OfflinePlanner, offline_planners
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.services import SubmissionData
from leaderboard.field_errors import FieldErrors
from leaderboard.planners.models import PlannerKind
from leaderboard.planners.services import BUNDLED_PLANNERS, LONGEST_TIMEOUT, SHORTEST_TIMEOUT, PlannerData

DEFAULT_TIMEOUT = 30


def _bundled_label(planner: OfflinePlanner) -> str:
    return f"{planner.name}: {planner.description}" + (f" For {', '.join(planner.suites)}." if planner.suites else "")


class SubmitForm(forms.Form):
    """A planner and the suites it is entered for."""

    kind = forms.ChoiceField(
        label="What do you submit?",
        choices=[
            (PlannerKind.ENDPOINT, "An HTTP endpoint that speaks planner/1"),
            (PlannerKind.BUNDLED, "A planner that comes with PlanArena"),
        ],
        widget=forms.RadioSelect,
        initial=PlannerKind.ENDPOINT,
    )
    endpoint_url = forms.CharField(
        label="Address of the endpoint",
        help_text="PlanArena sends one JSON POST per task there. Only you will see this address.",
        required=False,
        widget=forms.URLInput(attrs={"placeholder": "https://example.org/plan"}),
    )
    timeout_seconds = forms.IntegerField(
        label="Timeout in seconds",
        help_text=f"How long one answer may take: {SHORTEST_TIMEOUT} to {LONGEST_TIMEOUT}. A later answer is a planner "
        "fault.",
        required=False,
        initial=DEFAULT_TIMEOUT,
        widget=forms.NumberInput(attrs={"class": "short"}),
    )
    bundled_name = forms.ChoiceField(
        label="Planner",
        choices=[(name, _bundled_label(planner)) for name, planner in offline_planners().items()],
        required=False,
        initial=next(iter(BUNDLED_PLANNERS)),
        widget=forms.RadioSelect,
    )
    name = forms.CharField(
        label="Name on the board",
        help_text="One of your planners has one name; submitting it again adds an evaluation.",
        max_length=80,
    )
    description = forms.CharField(
        label="Description",
        help_text="Optional: the strategy, the language model, a link to the paper. Everybody can read it.",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    suites = forms.MultipleChoiceField(label="Suites", widget=forms.CheckboxSelectMultiple)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        suites = list(Suite.objects.filter(current=True).order_by("slug"))
        field = self.fields["suites"]
        field.choices = [(suite.slug, _label(suite)) for suite in suites]
        field.initial = [suite.slug for suite in suites[:1]]

    def bundled_groups(self) -> list[tuple[str, list[BoundWidget]]]:
        """The choices of bundled planners under the headings of their groups."""
        planners = offline_planners()
        groups: dict[str, list[BoundWidget]] = {}
        for choice in self["bundled_name"]:
            groups.setdefault(planners[choice.data["value"]].group, []).append(choice)
        return list(groups.items())

    def data_entered(self) -> SubmissionData:
        """What was entered, for `services.submit`. Fields of the kind that was not chosen do not count."""
        entered = self.cleaned_data
        is_endpoint = entered["kind"] == PlannerKind.ENDPOINT
        timeout = entered.get("timeout_seconds") if is_endpoint else None
        planner = PlannerData(
            name=entered["name"],
            kind=entered["kind"],
            bundled_name="" if is_endpoint else entered.get("bundled_name", ""),
            endpoint_url=entered.get("endpoint_url", "").strip() if is_endpoint else "",
            timeout_seconds=DEFAULT_TIMEOUT if timeout is None else timeout,
            description=entered.get("description", ""),
        )
        return SubmissionData(planner=planner, suites=entered["suites"])

    def show(self, problems: FieldErrors) -> None:
        """Put the service's errors beside their fields."""
        for field, texts in problems.errors.items():
            for text in texts:
                self.add_error(field if field in self.fields else None, text)


def _label(suite: Suite) -> str:
    return f"{suite.title}: plans are {'judged, nothing is executed' if suite.judges_plans else 'executed'}"
