"""What a kind of planner says of itself. Services, queue, API and pages ask it instead of comparing kinds."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from gpu_jobs.contract.lease import LeasedPlanner
from leaderboard.accounts.models import User
from leaderboard.planners import declared
from leaderboard.planners.data import Errors, PlannerData
from leaderboard.planners.fields import Field
from leaderboard.planners.models import Planner, PlannerKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is found out about a planner when it is entered, and kept. The names are those of `Planner`'s fields."""

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
    """As a sentence begins with it: "A bundled planner"."""
    choice: ClassVar[str]
    """What the page calls it where one chooses."""
    card: ClassVar[str]
    """A sentence below it."""
    fields: ClassVar[tuple[Field[Any], ...]]
    """What its owner submits, besides what all planners have (`COMMON`), in the order of the page."""
    needs_network: ClassVar[bool] = False
    """Whether its worker calls addresses outside."""
    needs_gpu: ClassVar[bool] = False
    """Whether asking it takes a GPU, whatever is done with its plans."""
    loads_model: ClassVar[bool] = False
    """Whether its worker downloads and loads a model before it asks."""
    has_canary: ClassVar[bool] = True
    """Whether one task is to run alone first: it may turn out that it cannot be asked at all."""
    repeatable: ClassVar[bool] = False
    """Whether it is known to give the same plan for the same request on every machine."""
    has_secret: ClassVar[bool] = False
    """Whether its workers need a secret that only its owner's and the operator's workers may know."""

    @property
    def declares(self) -> bool:
        """Whether its owner tells which language model it asks, because nobody can look."""
        return any(field in declared.DECLARED for field in self.fields)

    def received(self, *, data: PlannerData, owner: User) -> PlannerData:  # noqa: ARG002 - for others
        """What the API received, as the services take it: content that came with it is kept.

        Raises:
            FieldErrors: the content cannot be read.
        """
        return data

    testable: ClassVar[bool] = False
    """Whether its owner can have it called once before they submit it."""
    note: ClassVar[str] = ""
    """What boards and evaluation pages add about how such plans came about; empty: nothing."""

    @abstractmethod
    def check(self, data: PlannerData) -> Errors:
        """What is wrong with the fields of this kind beyond their limits, without asking anybody else."""

    def check_suites(self, *, data: PlannerData, suites: Sequence[str]) -> Errors:  # noqa: ARG002 - for others
        """Whether it understands the suites with these slugs."""
        return {}

    def check_owned(
        self,
        *,
        data: PlannerData,  # noqa: ARG002 - for others
        suites: Sequence[str],  # noqa: ARG002
        owner: User,  # noqa: ARG002
        planner: Planner | None,  # noqa: ARG002
    ) -> Errors:
        """Conflicts of checked data with what their owner has on this site. Queries the database only.

        Args:
            planner: the owner's of this name; None: there is none.
        """
        return {}

    def find_facts(self, *, data: PlannerData, owner: User) -> Facts:  # noqa: ARG002 - for others
        """What there is to know of checked data. May ask other services, so it is called outside of transactions.

        Raises:
            FieldErrors: it turns out that there is no such planner, or that it cannot be evaluated here.
        """
        return Facts()

    def entered(self, *, planner: Planner, data: PlannerData) -> None:  # noqa: B027 - most keep nothing else
        """Keep what belongs to a planner and is no part of what it is; within the transaction that enters it.

        Raises:
            FieldErrors: something is missing.
        """

    @abstractmethod
    def lease(self, *, planner: Planner, tasks: Sequence[str]) -> LeasedPlanner:
        """The planner as the lease of these tasks describes it to a worker, without secrets."""
