"""Worker pools of an installation and the evaluations that each may lease, read from one variable as JSON. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

VARIABLE = "PLANARENA_KUBERNETES_POOLS"


class PoolsError(ValueError):
    """The variable does not describe pools; the message says what is wrong and what is expected."""


class Takes(StrEnum):
    """Kinds of evaluations that a pool may lease."""

    EXECUTED = "executed"
    """Suites whose plans are executed by experts."""
    JUDGED = "judged"
    """Suites whose plans are judged."""
    MODELS = "models"
    """Planners whose language model a model server loads, on the suites above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Requirements of an evaluation for its pool."""

    executed: bool
    """Whether experts execute its plans; otherwise they are judged."""
    model: bool = False
    """Whether a model server loads its planner's language model."""
    endpoint: bool = False
    """Whether its planner is behind HTTP."""

    @property
    def sentence(self) -> str:
        """Why no pool runs it."""
        planners = "planners"
        if self.model:
            planners = "planners with a submitted language model"
        elif self.endpoint:
            planners = "planners behind HTTP"
        suites = "plans are executed" if self.executed else "plans are judged"
        return f"No worker pool of this installation runs {planners} on suites whose {suites}."


class Pool(BaseModel):
    """A pool of workers that share their work."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^[a-z]([a-z0-9-]{0,18}[a-z0-9])?$")]
    device: Literal["cpu", "cuda"] = "cpu"
    """Torch device of the workers' experts."""
    takes: Annotated[frozenset[Takes], Field(strict=False)] = frozenset({Takes.EXECUTED, Takes.JUDGED})
    endpoints: bool = False
    """Whether its workers may call planners behind HTTP."""
    most: Annotated[int, Field(ge=1)] = 4
    """Largest number of workers."""

    @field_validator("takes")
    @classmethod
    def _names_suites(cls, takes: frozenset[Takes]) -> frozenset[Takes]:
        if not takes - {Takes.MODELS}:
            raise ValueError("needs executed or judged, since models only selects planners")
        return takes

    def runs(self, needs: Needs) -> bool:
        """Whether its workers may lease an evaluation with these needs."""
        suite = Takes.EXECUTED if needs.executed else Takes.JUDGED
        if suite not in self.takes or (needs.endpoint and not self.endpoints):
            return False
        return not needs.model or Takes.MODELS in self.takes

    def shares_work_with(self, other: "Pool") -> bool:
        """Whether workers of both pools may lease some of the same evaluations."""
        return bool(self.takes & other.takes - {Takes.MODELS})


_POOLS: TypeAdapter[tuple[Pool, ...]] = TypeAdapter(tuple[Pool, ...])


def pool_of(*, needs: Needs, pools: Sequence[Pool]) -> Pool | None:
    """The pool that is scaled for an evaluation: the first that runs it. None if none does."""
    return next((pool for pool in pools if pool.runs(needs)), None)


def pools_from(text: str) -> tuple[Pool, ...]:
    """The pools that the variable describes, in its order; none if it is empty.

    Raises:
        PoolsError: it is invalid.
    """
    if not text.strip():
        return ()
    try:
        pools = _POOLS.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise PoolsError(f"{VARIABLE} is not a list of pools: {where + ': ' if where else ''}{first['msg']}") from None
    if len({pool.name for pool in pools}) != len(pools):
        raise PoolsError(f"{VARIABLE} has two pools of the same name")
    return pools
