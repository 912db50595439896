"""The plan of a study: a TOML file that its author writes, and that is signed before the first run."""

import re
import tomllib
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from evaluator.studies.registered.files import StudyError

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,59}$")]
_Line = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f|<>`\[\]]*$")]
"""A text in a cell of a table."""
_Text = Annotated[str, Field(min_length=1, max_length=8000)]
_Path = Annotated[str, Field(max_length=300)]
ALL = "all"
"""In place of a group: all tasks."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Arm(_Part):
    """What is compared: one planner of each seed."""

    key: Name
    label: _Line
    groups: list[_Line] = []
    """The only groups of tasks that it is measured on; empty: all."""
    seeds: list[int] = []
    """The only seeds that it is run with; empty: all."""
    facts: dict[_Line, _Line | int] = {}
    """Further columns of the table of arms."""


class Runner(_Part):
    """Who measures the arms. Without one, scores are added with `planarena study add`."""

    name: _Line
    settings: dict[str, str | int | float | bool] = {}


class Code(_Part):
    """The code that the scores depend on."""

    paths: Annotated[list[_Path], Field(min_length=1, max_length=100)] = ["evaluator"]
    """Files and folders, relative to the repository."""


class Data(_Part):
    """Files that the scores depend on, besides what the runner names."""

    paths: Annotated[list[_Path], Field(max_length=1000)] = []


class Contrast(_Part):
    """A comparison of two arms, paired by task and seed."""

    key: Name
    treatment: Name
    control: Name
    primary: bool = False
    seeds: list[int] = []
    """The only seeds that count; empty: all."""


class Analysis(_Part):
    """From scores to figures."""

    method: Literal["tasks-and-seeds", "tasks"]
    """What is a sample: tasks and seeds, crossed (`crossed.sampled_tasks`, with the groups as strata), or the tasks,
    with all seeds of a task as one cluster (`statistics.clustered_mean`)."""
    correction: Literal["none", "holm"] = "none"
    """Of the p-values of the primary contrasts."""
    contrasts: Annotated[list[Contrast], Field(max_length=100)] = []


class Table(_Part):
    """A table that documents show."""

    key: Name
    kind: Literal["arms", "contrasts", "only"]
    """Means of arms; paired differences; shares of tasks that only one of two arms solves."""
    arms: list[Name] = []
    """Rows of a table of arms; empty: all."""
    contrasts: list[Name] = []
    """Rows of the other tables; empty: all."""
    columns: list[_Line] = [ALL]
    """Groups of tasks, or `all`."""
    seeds: list[int] = []
    """The only seeds that count in a table of arms; empty: all."""
    heading: _Line = "planner"
    """Of the first column."""
    digits: Annotated[int, Field(ge=0, le=6)] = 4
    intervals: bool = True
    by_seed: bool = True


class Plan(_Part):
    """A plan."""

    format: Literal["planarena-study/1"]
    name: Name
    title: _Line
    authors: Annotated[list[_Line], Field(min_length=1, max_length=50)]
    question: _Text
    design: _Text
    """Who is trained and measured on what, and how settings were chosen."""
    decision: _Text
    """What follows from which figures, and when the study ends."""
    arms: Annotated[list[Arm], Field(min_length=1, max_length=100)]
    seeds: Annotated[list[Annotated[int, Field(ge=0, le=2**31)]], Field(min_length=1, max_length=1000)]
    runner: Runner | None = None
    code: Code = Code()
    data: Data = Data()
    analysis: Analysis
    tables: Annotated[list[Table], Field(max_length=50)] = []

    @model_validator(mode="after")
    def _refers_to_itself(self) -> Self:
        """Names are unique, and those that refer to others exist."""
        arms, contrasts = [arm.key for arm in self.arms], [one.key for one in self.analysis.contrasts]
        for what, keys in (
            ("arms", arms), ("contrasts", contrasts), ("tables", [one.key for one in self.tables]),
            ("seeds", self.seeds),
        ):  # fmt: skip
            if len(set(keys)) != len(keys):
                raise ValueError(f"{what} has a value twice")
        used = [name for one in self.analysis.contrasts for name in (one.treatment, one.control)]
        used += [name for table in self.tables for name in table.arms]
        if unknown := sorted({*used} - {*arms}):
            raise ValueError(f"there is no arm {unknown[0]}")
        if unknown := sorted({name for table in self.tables for name in table.contrasts} - {*contrasts}):
            raise ValueError(f"there is no contrast {unknown[0]}")
        if any(one.treatment == one.control for one in self.analysis.contrasts):
            raise ValueError("a contrast compares two arms")
        some = [seed for one in self.analysis.contrasts for seed in one.seeds]
        some += [seed for one in self.tables for seed in one.seeds]
        some += [seed for one in self.arms for seed in one.seeds]
        if not {*some} <= {*self.seeds}:
            raise ValueError("an arm, a contrast or a table has seeds that the study does not have")
        return self

    def arm(self, key: str) -> Arm:
        """The arm with this key. Raises KeyError if there is none."""
        return {arm.key: arm for arm in self.arms}[key]

    @property
    def runs(self) -> list[tuple[int, str]]:
        """Seed and arm of every run, in order."""
        return [(seed, arm.key) for seed in self.seeds for arm in self.arms if seed in (arm.seeds or self.seeds)]


def parse(content: bytes) -> Plan:
    """The plan in a file.

    Raises:
        StudyError: it is no plan.
    """
    try:
        return Plan.model_validate(tomllib.loads(content.decode("utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part)[:40] for part in first["loc"][:6])
        message = re.sub(r"^Value error, ", "", first["msg"])
        raise StudyError(f"the plan is not valid: {place or 'it'}: {message}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise StudyError(f"the plan is no TOML: {error}") from None
