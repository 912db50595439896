"""The interface of a kind of planner. Services, queue, API and pages ask it instead of comparing names of kinds."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms

from gpu_jobs.contract import LeasedPlanner
from leaderboard.catalog.models import Suite
from leaderboard.people.models import User
from leaderboard.planners.data import DECLARED, Errors, PlannerData
from leaderboard.planners.models import Planner, PlannerKind
from leaderboard.platform.fields import Field


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts that the site finds when a planner is submitted. The names are those of `Planner`'s columns."""

    model_name: str = ""
    parameters: int | None = None
    open_weights: bool | None = None
    weights_bytes: int | None = None
    licence: str = ""
    revision: str = ""
    commit: str = ""


class Kind(ABC):
    """The rules of one kind."""

    kind: ClassVar[PlannerKind]
    noun: ClassVar[str]
    """With its article, as a sentence begins: "A bundled planner"."""
    choice: ClassVar[str]
    """The title of its card on the page that offers the kinds."""
    card: ClassVar[str]
    """The sentence below the title: who it is for."""
    guide: ClassVar[str] = ""
    """The heading in the chapter on submitting that describes it, as in its address."""
    fields: ClassVar[tuple[Field[Any], ...]]
    """Fields besides those of all planners (`COMMON`), in the order of the page."""
    needs_network: ClassVar[bool] = False
    """Whether its worker needs access to the network."""
    needs_gpu: ClassVar[bool] = False
    """Whether the planner needs a GPU, even if its plans are only judged."""
    loads_model: ClassVar[bool] = False
    """Whether its worker loads a language model before the first task."""
    has_canary: ClassVar[bool] = True
    """Whether one task runs first, because the planner may be unreachable or unusable."""
    repeatable: ClassVar[bool] = False
    """Whether it always gives the same plan for the same request, on every machine."""
    can_be_asked_again: ClassVar[bool] = True
    """Whether a planner answers, which may do otherwise in another run or for another form of a request."""
    is_agent: ClassVar[bool] = False
    """Whether it takes its turns from the site itself, so that workers wait for nobody while it is away."""
    answer_seconds: ClassVar[int] = 0
    """The longest that it may take for one task, if that is longer than for others."""
    has_secret: ClassVar[bool] = False
    """Whether its workers need a secret or weights that only the owner's and the operator's workers may get."""

    @property
    def declares(self) -> bool:
        """Whether its owner may declare its language model, which the site cannot inspect."""
        return any(field in DECLARED for field in self.fields)

    def received(self, *, data: PlannerData, owner: User) -> PlannerData:  # noqa: ARG002 - for others
        """Store content that the API received with a planner, and return the data that the services take.

        Raises:
            FieldErrors: the content cannot be read.
        """
        return data

    testable: ClassVar[bool] = False
    """Whether its owner can test it by one call before submitting it."""
    note: ClassVar[str] = ""
    """How its plans were made, for boards and evaluation pages; empty: no note."""

    @abstractmethod
    def check(self, data: PlannerData) -> Errors:
        """Errors in the fields of this kind, besides exceeded limits. Asks no other service."""

    def refusal(self, suite: Suite) -> str:  # noqa: ARG002 - for others
        """Why no planner of this kind is evaluated on a suite, as a sentence; empty: some are. Asks no database."""
        return ""

    def fit_form(self, fields: dict[str, forms.Field]) -> None:  # noqa: B027 - most need nothing
        """Fit fields that other kinds have too to this kind's form: help, placeholders, choices, absence."""

    def check_suites(self, *, data: PlannerData, suites: Sequence[str]) -> Errors:  # noqa: ARG002 - for others
        """Errors if it does not support the suites with these slugs."""
        return {}

    def check_owned(
        self,
        *,
        data: PlannerData,  # noqa: ARG002 - for others
        suites: Sequence[str],  # noqa: ARG002
        owner: User,  # noqa: ARG002
        planner: Planner | None,  # noqa: ARG002
    ) -> Errors:
        """Conflicts of checked data with what their owner has on this site, and names that may not be called.

        May wait for name servers, 2 seconds at most: call it outside transactions.

        Args:
            planner: the owner's of this name; None: there is none.
        """
        return {}

    asks_others: ClassVar[bool] = False
    """Whether `find_facts` asks other services, so that its submissions are jobs."""

    def find_facts(self, *, data: PlannerData, owner: User) -> Facts:  # noqa: ARG002 - for others
        """Find facts about a checked planner. May ask other services: call it outside transactions.

        Raises:
            FieldErrors: it turns out that there is no such planner, or that it cannot be evaluated here.
        """
        return Facts()

    def entered(self, *, planner: Planner, data: PlannerData) -> None:  # noqa: B027 - most keep nothing else
        """Store what belongs to a planner besides its columns, in the transaction that creates it.

        Raises:
            FieldErrors: something is missing.
        """

    @abstractmethod
    def lease(self, *, planner: Planner, tasks: Sequence[str]) -> LeasedPlanner:
        """The planner's description in the lease of these tasks, without secrets."""
