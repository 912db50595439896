"""The interface of a kind of planner. Services, queue, API and pages use it instead of comparing names of kinds."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms

from evaluator.planners.strategies.registry import StrategyEntry
from gpu_jobs.contract import LeasedPlanner, RoleModel
from leaderboard.catalog.models import Suite
from leaderboard.people.models import User
from leaderboard.planners.data import DECLARED, Errors, PlannerData
from leaderboard.planners.kinds.language_models import OPTIONS, ROLES, STRATEGY
from leaderboard.planners.models import Planner, PlannerKind
from leaderboard.platform.fields import Field


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts that the site finds when a planner is submitted, named as columns of `Planner`."""

    model_name: str = ""
    parameters: int | None = None
    open_weights: bool | None = None
    weights_bytes: int | None = None
    licence: str = ""
    revision: str = ""
    commit: str = ""
    is_imported: bool | None = None


class Kind(ABC):
    """The rules of one kind."""

    kind: ClassVar[PlannerKind]
    noun: ClassVar[str]
    """With article, at the beginning of a sentence: "A bundled planner"."""
    choice: ClassVar[str]
    """Title of its card on the page of kinds."""
    card: ClassVar[str]
    """Sentence below the title: who it is for."""
    guide: ClassVar[str] = ""
    """Anchor of its section in the chapter on submitting."""
    fields: ClassVar[tuple[Field[Any], ...]]
    """Fields in addition to `COMMON`, in the order of the page."""
    needs_network: ClassVar[bool] = False
    """Whether its worker needs access to the network."""
    needs_gpu: ClassVar[bool] = False
    """Whether the planner needs a GPU, even if its plans are only judged."""
    loads_model: ClassVar[bool] = False
    """Whether its worker loads a language model before the first task."""
    has_canary: ClassVar[bool] = True
    """Whether one task runs first, since the planner may be unreachable or unusable."""
    repeatable: ClassVar[bool] = False
    """Whether it returns the same plan for the same request on every machine."""
    can_be_asked_again: ClassVar[bool] = True
    """Whether answers may differ between runs and wordings of a request, so that reliability can be measured."""
    may_declare_determinism: ClassVar[bool] = False
    """Whether its owner says whether it answers alike in every run, because the site cannot know."""
    is_agent: ClassVar[bool] = False
    """Whether it calls this site for its turns; workers do not wait for it."""
    answer_seconds: ClassVar[int] = 0
    """Time limit per task, if it is longer than for other kinds."""
    has_secret: ClassVar[bool] = False
    """Whether it needs a secret or weights that only workers of the owner and the operator may get."""

    @property
    def declares(self) -> bool:
        """Whether its owner may declare its language model, which the site cannot inspect."""
        return any(field in DECLARED for field in self.fields)

    def received(self, *, data: PlannerData, owner: User) -> PlannerData:  # noqa: ARG002 - for others
        """Store content that the API received with a planner. Returns the data for the services.

        Raises:
            FieldErrors: the content cannot be read.
        """
        return data

    testable: ClassVar[bool] = False
    """Whether its owner can test it by one call before submitting it."""
    note: ClassVar[str] = ""
    """How its plans were made, for boards and evaluation pages; empty: no note."""

    def samples(self, planner: Planner) -> bool | None:  # noqa: ARG002 - for others
        """Whether the planner samples, and so may answer the same request differently in each run; None: the site
        cannot know."""
        return None

    @abstractmethod
    def check(self, data: PlannerData) -> Errors:
        """Errors in the fields of this kind, besides exceeded limits. Asks no other service."""

    def refusal(self, suite: Suite) -> str:  # noqa: ARG002 - for others
        """Why planners of this kind cannot be evaluated on a suite, as a sentence; empty: they can. No queries."""
        return ""

    def strategies(self) -> Mapping[str, StrategyEntry]:
        """The strategies that it can be submitted with, by name; none for planners without a strategy."""
        return {}

    def fit_form(self, fields: dict[str, forms.Field]) -> None:  # noqa: B027 - most need nothing
        """Adapt shared fields to this kind's form: help, placeholders, choices, or removal."""

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
        """Conflicts of valid data with the owner's stored planner, and addresses that may not be called.

        Waits up to 2 seconds for name servers: call it outside transactions.

        Args:
            planner: the owner's planner of this name; None: there is none.
        """
        return {}

    asks_others: ClassVar[bool] = False
    """Whether `find_facts` asks other services, so that its submissions are jobs."""

    def find_facts(self, *, data: PlannerData, owner: User) -> Facts:  # noqa: ARG002 - for others
        """Find facts about a validated planner. May ask other services: call it outside transactions.

        Raises:
            FieldErrors: there is no such planner, or it cannot be evaluated here.
        """
        return Facts()

    def entered(self, *, planner: Planner, data: PlannerData) -> None:  # noqa: B027 - most keep nothing else
        """Store the parts of a planner that are not columns, in the transaction that creates it.

        Raises:
            FieldErrors: something is missing.
        """

    has_main_model: ClassVar[bool] = True
    """Whether its own language model, if it has one, answers calls besides those of roles."""
    role_message: ClassVar[type[RoleModel] | None] = None
    """Its language model in a lease, if that can be the model of a role of a strategy; None: it cannot."""
    is_new_in_roles: ClassVar[bool] = False
    """Whether older workers refuse leases in which it is the model of a role."""
    role_noun: ClassVar[str] = ""
    """Such a model with article, at the beginning of a sentence; empty: as `noun`."""

    @property
    def role_fields(self) -> tuple[Field[Any], ...]:
        """The fields of such a model."""
        return tuple(field for field in self.fields if field not in (STRATEGY, OPTIONS, ROLES, *DECLARED))

    def check_role(self, data: PlannerData) -> Errors:
        """See `check`; of the model of a role."""
        return self.check(data)

    def find_role_facts(self, *, data: PlannerData, owner: User) -> Facts:
        """See `find_facts`; about the model of a role."""
        return self.find_facts(data=data, owner=owner)

    def lease_role(self, planner: Planner) -> RoleModel:
        """The model of a role in a lease.

        Args:
            planner: a planner with this model, which is not stored.
        """
        assert self.role_message is not None
        return self.role_message.model_validate(self.lease(planner=planner, tasks=()).model_dump())

    def left_out(self, *, planner: Planner, tasks: Sequence[str]) -> frozenset[str]:  # noqa: ARG002 - for others
        """The tasks among these that the planner cannot be asked for, which are not run. No board then ranks it."""
        return frozenset()

    @abstractmethod
    def lease(self, *, planner: Planner, tasks: Sequence[str]) -> LeasedPlanner:
        """The planner's description in the lease of these tasks, without secrets."""
