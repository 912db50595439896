"""The form that enters a planner. The rules stand in `services.py`; the form reads what was typed and shows errors."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.forms.boundfield import BoundWidget

from evaluator.planners.offline import OfflinePlanner, offline_planners
from leaderboard.accounts.forms import ServiceForm
from leaderboard.accounts.models import Team
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.services import SubmissionData
from leaderboard.planners.data import PlannerData
from leaderboard.planners.kinds import BUNDLED_PLANNERS, KINDS
from leaderboard.planners.models import PlannerKind
from leaderboard.planners.services import LONGEST_TIMEOUT, SHORTEST_TIMEOUT
from leaderboard.planners.visibility_form import VisibilityFields

DEFAULT_TIMEOUT = 30


def _bundled_label(planner: OfflinePlanner) -> str:
    return f"{planner.name}: {planner.description}" + (f" For {', '.join(planner.suites)}." if planner.suites else "")


class SubmitForm(VisibilityFields, ServiceForm):
    """A planner and the suites it is entered for."""

    kind = forms.ChoiceField(
        label="What do you submit?",
        choices=[(name, kind.choice) for name, kind in KINDS.items()],
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
    team = forms.ChoiceField(
        label="For whom?",
        help_text="What is for a team counts towards its quota as well as yours, and its members may act on it.",
        required=False,
    )
    own_worker = forms.BooleanField(label="Run on my own worker", required=False)

    def __init__(self, *args: Any, teams: Sequence[Team] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if teams:
            self.fields["team"].choices = [("", "For me alone"), *((team.slug, team.name) for team in teams)]
        else:
            del self.fields["team"]
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
        kind = KINDS[entered["kind"]]
        timeout = entered.get("timeout_seconds") if kind.kind == PlannerKind.ENDPOINT else None
        planner = PlannerData(
            name=entered["name"],
            kind=entered["kind"],
            timeout_seconds=DEFAULT_TIMEOUT if timeout is None else timeout,
            description=entered.get("description", ""),
            **{field: entered.get(field, "").strip() for field in kind.fields},
        )
        return SubmissionData(
            planner=planner, suites=entered["suites"], team=entered.get("team", ""), **self.visibility_entered()
        )


def _label(suite: Suite) -> str:
    return f"{suite.title}: plans are {'judged, nothing is executed' if suite.judges_plans else 'executed'}"
