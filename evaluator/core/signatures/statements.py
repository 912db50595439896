"""What a site signs, and the digests that bind rows, results and records to it.

A snapshot's statement names the digest of its rows and the statement of the snapshot before it. Each row is bound by
the digests of its figures, of each name in it that people chose, and of the results of its evaluation's tasks. Digests
of names have a salt each: when an account is deleted, the site forgets the owner's name and its salt, and everything
else can still be verified. A withdrawal says so: without one, a name whose salt is missing is a name that was changed.

An evaluation's statement covers the results of all its tasks in order, and through them its records. A record's digest
is salted in the same way, since that of a hidden split must not confirm a guess of what the record says.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from evaluator.core import canonical_json
from evaluator.core.suites.base import IntervalMethod

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
KeyId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
_Text = Annotated[str, Field(max_length=200)]
_Count = Annotated[int, Field(ge=0, le=10**9)]
MOST_WITHDRAWN = 500
"""Evaluations in one withdrawal, so that its envelope stays small."""
Name = Literal["planner", "version", "owner", "team"]
NAMES: tuple[Name, ...] = ("planner", "version", "owner", "team")
"""Fields of a row that people chose. All others are figures and facts of the planner."""
_PLACEHOLDERS = {"owner": r"deleted user [0-9a-f]{8}"}
"""Regular expression of the placeholder for a withdrawn name."""
_USUAL_PLACEHOLDER = "withdrawn"
_LATER_FIELDS = frozenset({"agreements", "random_plans", "headroom", "needed"})
"""Fields of a board's summary that the first signed summaries lack."""
_LATER_FACTS = frozenset({"cached_tokens", "further"})
"""Fields of a task's entry that are absent where they say nothing."""
_MOST_DECIDERS = 10
MOST_FURTHER_RUNS = 100
"""Further runs of one task in a statement."""


STATISTICS: Literal[2] = 2
"""Version of a snapshot's statement since intervals of bounded means are exact and tests count the runs of planners.
Intervals, ranges of ranks and summaries of earlier ones cannot be computed again."""


class Shape(BaseModel):
    """Exactly these fields, in the form in which they are written."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Statement(Shape):
    """Something that is signed. Subclasses have a `kind` and a `type` of their own."""

    kind: ClassVar[str]
    version: Literal[1, 2] = 1
    key: KeyId
    """The key that signs it."""

    @classmethod
    def media_type(cls) -> str:
        """What DSSE calls the payload's type."""
        return f"application/vnd.planarena.{cls.kind}+json"


class ColumnFacts(Shape):
    """One column of a board, as far as its figures depend on it (`evaluator.core.suites.base.Column`)."""

    key: _Text
    metric: _Text
    indicator: bool
    fault: FiniteFloat | None
    interval: IntervalMethod
    tasks: list[_Text]
    """The only tasks that count; empty: all of the metric."""
    weights: dict[_Text, FiniteFloat]
    """Of a weighted mean of metrics; else empty."""
    undecided: _Text
    """Key of the column with the share of undecided tasks; empty if every task is decided."""
    by_rules: list[_Text]
    """Keys of the columns with both ends by the rules alone; else empty."""
    low: FiniteFloat
    high: FiniteFloat | None
    """Range of a task's value; None: unbounded."""
    decided_by: Annotated[dict[_Text, _Text], Field(max_length=_MOST_DECIDERS)] = Field(default_factory=dict)
    """Keys of the columns with the shares of tasks that others than the rules decided, by who decided; absent if only
    the rules decide, and in statements from before there were others."""

    @model_serializer(mode="wrap")
    def _without_deciders(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Statements without deciders keep their digests."""
        written: dict[str, Any] = write(self)
        return {name: value for name, value in written.items() if value or name != "decided_by"}


class SuiteFacts(Shape):
    """The suite that was evaluated, and how its board is computed."""

    slug: _Text
    version: _Text
    digest: _Text
    columns: Annotated[list[ColumnFacts], Field(max_length=100)]
    ranked_by: _Text
    higher_is_better: bool


class Conditions(Shape):
    """What evaluations of one board share."""

    profile: _Text
    profile_digest: _Text
    split: _Text
    samples: _Count
    data_digest: _Text
    """Of the data (`evaluator.core.suites.hidden.data_digest`)."""
    season: _Text
    """Name of the season whose hidden data these are; empty for open data."""
    commitment: _Text
    """To the seed of these data."""
    device_class: _Text = ""
    """On what devices experts ran, if not only on CPUs; absent if empty."""

    @model_serializer(mode="wrap")
    def _without_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        # Keeps the digests of statements without it unchanged.
        fields: dict[str, object] = handler(self)
        return {name: value for name, value in fields.items() if name != "device_class" or value}

    def public_json(self) -> dict[str, Any]:
        """As boards and exports show them: without the commitment, and null for the season of open data."""
        shown = self.model_dump(exclude={"commitment"})
        return {**shown, "season": self.season or None, "device_class": self.device_class}


class Digested(Shape):
    """A list, by its digest."""

    count: _Count
    digest: Digest


class Gap(Shape):
    """The paired difference of two ranked rows in the primary metric, positive if the first one is better."""

    first: _Count
    second: _Count
    """Positions among the ranked rows, from 0 at the top."""
    mean: FiniteFloat
    """Where tasks are undecided: the difference nearest to 0 of all ways to decide them."""
    low: FiniteFloat | None
    high: FiniteFloat | None
    """The 95 % interval, over all ways to decide undecided tasks; None over too few tasks or scenes."""
    p_value: FiniteFloat | None
    """Adjusted by Holm's method over all pairs of the board; None over too few tasks or scenes."""


class Agreement(Shape):
    """Whether another metric orders the ranked rows as the primary one does."""

    column: _Text
    """Key of the other metric."""
    higher_is_better: bool
    rows: _Count
    """Ranked rows that have both metrics."""
    correlation: FiniteFloat
    """Spearman's rank correlation over these rows, in [-1, 1]; positive if better values go together."""


class RandomPlans(Shape):
    """What the board's newest row of random valid plans scores."""

    evaluation: _Text
    mean: FiniteFloat
    """In the primary metric."""
    exact: FiniteFloat | None
    """Share of exact plans."""
    above: _Count
    """Ranked rows with a worse mean although more of their plans are exact."""
    highest: _Count | None
    """Position of the highest of them; None if there is none."""


class Headroom(Shape):
    """How much of a board's scale a planner gets without understanding the requests."""

    shortcut: _Text
    """Name of the best shortcut or floor."""
    evaluation: _Text
    """Of its newest row."""
    mean: FiniteFloat
    """Its mean in the primary metric."""
    gold: FiniteFloat
    """That of the newest row of gold plans."""


class Needed(Shape):
    """What a board would need to detect a difference of two points."""

    unit: Literal["tasks", "scenes"]
    count: _Count
    """In all."""


class BoardSummary(Shape):
    """Who is best on a board, and which differences it can detect (`evaluator.scoring.board_summary`)."""

    leaders: _Count
    """Ranked rows that share the best mean; 0 on an empty board."""
    lead: Gap | None = None
    """The first row over the first one with a worse mean; None if there is none."""
    clear_lead: Gap | None = None
    """The first row over the highest one that it is significantly better than; None if there is none."""
    groups: tuple[tuple[_Count, _Count], ...] = ()
    """Runs of at least two rows of which no two can be told apart: first and last position."""
    resolution: FiniteFloat | None = None
    """The difference that the board detects with a chance of 80 % between two typical rows, in the unit of the metric;
    None if no pair of rows could be tested."""
    needed: Needed | None = None
    """The size at which it would detect 0.02 as it does the resolution; None if it does already, if no size would, and
    in summaries from before it was computed."""
    agreements: tuple[Agreement, ...] | None = None
    """Of the other metrics that at least five ranked rows have (`evaluator.scoring.board_agreement`); None in summaries
    from before they were computed."""
    random_plans: RandomPlans | None = None
    """None on suites without exact plans, and on boards without that anchor."""
    headroom: Headroom | None = None
    """None on boards without gold plans or without a shortcut."""

    @model_serializer(mode="wrap")
    def _without_later_fields(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Summaries that were signed before a field existed keep their digests."""
        written: dict[str, Any] = write(self)
        return {name: value for name, value in written.items() if value is not None or name not in _LATER_FIELDS}


class Previous(Shape):
    """The snapshot before this one, over all boards of the suite."""

    number: _Count
    statement: Digest | None
    """Digest of its statement; None if it was not signed at that time."""
    content: Digest | None
    """Digest of its content, as exports name it, if it was not signed. Otherwise None: this digest has no salt."""


class Withdrawals(Shape):
    """The withdrawals of a suite up to some time, by the newest of them."""

    count: _Count
    statement: Digest | None
    """Digest of the newest one's statement; None if there is none."""


class SnapshotStatement(Statement):
    """A published state of a board."""

    kind: ClassVar[str] = "snapshot.v1"
    version: Literal[1, 2] = STATISTICS
    type: Literal["planarena/snapshot"] = "planarena/snapshot"
    suite: SuiteFacts
    conditions: Conditions
    number: _Count
    created: AwareDatetime
    """When it was published."""
    signed: AwareDatetime
    """Later than `created` where snapshots were signed afterwards."""
    coverage: dict[_Text, _Count]
    """Tasks: `run` of `total`."""
    summary: BoardSummary
    rows: Digested
    previous: Previous | None
    """None for the first snapshot of a suite."""
    withdrawals: Withdrawals
    """Those that were made before this snapshot was signed."""


class EvaluationStatement(Statement):
    """The results of a completed evaluation."""

    kind: ClassVar[str] = "evaluation.v1"
    type: Literal["planarena/evaluation"] = "planarena/evaluation"
    evaluation: _Text
    suite: SuiteFacts
    conditions: Conditions
    finished: AwareDatetime | None
    signed: AwareDatetime
    tasks: Digested


class SuiteCommitment(Shape):
    """The commitment to the seed and the sealed requests of one suite's hidden data."""

    suite: _Text
    commitment: Digest
    """See `evaluator.core.suites.hidden.commitment`."""
    sealed: _Count = 0
    """How many requests are sealed ones, which do not follow from the seed."""

    @model_serializer(mode="wrap")
    def _without_none_sealed(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Statements that were signed before there were sealed requests keep their digests."""
        written: dict[str, Any] = write(self)
        return written if self.sealed else {name: value for name, value in written.items() if name != "sealed"}


class SeasonStatement(Statement):
    """The announcement of a season of hidden data. A further one adds suites, names the one before it, and changes no
    commitment."""

    kind: ClassVar[str] = "season.v1"
    type: Literal["planarena/season"] = "planarena/season"
    season: _Text
    number: Annotated[int, Field(ge=1, le=10**6)]
    """Of this announcement among those of the season, from 1."""
    announced: AwareDatetime
    opens: AwareDatetime
    closes: AwareDatetime | None
    """When it is to be closed; None where that was not announced."""
    signed: AwareDatetime
    suites: Annotated[list[SuiteCommitment], Field(max_length=1000)]
    """Every suite of the season, by slug."""
    previous: Digest | None
    """Digest of the statement of the announcement before; None for the first one."""


class KeysStatement(Statement):
    """The list of all keys of a site, signed by the newest of them."""

    kind: ClassVar[str] = "keys.v1"
    type: Literal["planarena/keys"] = "planarena/keys"
    keys: Digested
    """The list as it is served."""
    signed: AwareDatetime


class WithdrawalStatement(Statement):
    """Names or rows that the operator takes back from a suite's boards. Nothing else may be missing from them."""

    kind: ClassVar[str] = "withdrawal.v1"
    type: Literal["planarena/withdrawal"] = "planarena/withdrawal"
    suite: _Text
    """Slug."""
    number: Annotated[int, Field(ge=1, le=10**9)]
    """From 1, over all withdrawals of the suite."""
    previous: Digest | None
    """Digest of the statement of the withdrawal before this one."""
    what: Literal["planner", "version", "owner", "team", "row"]
    """A name in rows that stay, or the rows themselves, which later snapshots no longer have."""
    reason: Literal["account deleted", "name removed", "hidden by an operator", "not ranked any more"]
    evaluations: Annotated[list[_Text], Field(min_length=1, max_length=MOST_WITHDRAWN)]
    """Those whose rows are concerned."""
    placeholder: _Text | None
    """What stands in the rows for the name; None where rows are withdrawn."""
    through: _Count
    """The newest snapshot that is concerned, or the last one that has the rows."""
    snapshot: Digest | None
    """Digest of its statement; None if it was not signed at that time."""
    contents: dict[Annotated[str, Field(pattern=r"^[0-9]{1,9}$")], Digest]
    """By number, digests of the content of snapshots that later statements name by their content, and that are others
    since the name is withdrawn."""
    created: AwareDatetime

    @model_validator(mode="after")
    def _has_the_placeholder(self) -> Self:
        if self.what == "row":
            if self.placeholder is not None or self.contents:
                raise ValueError("a row that is withdrawn has no placeholder")
        elif not re.fullmatch(_PLACEHOLDERS.get(self.what, _USUAL_PLACEHOLDER), self.placeholder or ""):
            raise ValueError(f"{self.placeholder!r} is no placeholder of a withdrawn {self.what}")
        return self


class KeyStatement(Statement):
    """A new key, introduced by the one before it, which signs this."""

    kind: ClassVar[str] = "key.v1"
    type: Literal["planarena/key"] = "planarena/key"
    introduces: _Text
    """The new public key in base64."""
    created: AwareDatetime
    """From when on the new key signs, and the one before it no more."""


class FurtherRun(Shape):
    """How a task ended when the planner was asked again; fields as in `TaskEntry`."""

    outcome: Literal["scored", "planner_fault", "infra_fault", "not_run", "cancelled"]
    score: FiniteFloat | None
    samples: list[FiniteFloat]
    indicators: dict[_Text, FiniteFloat]
    sample_indicators: dict[_Text, list[FiniteFloat]]
    record: Digest | None


class TaskEntry(Shape):
    """How one task ended."""

    task: _Text
    metric: _Text
    outcome: Literal["scored", "planner_fault", "infra_fault", "not_run", "cancelled"]
    accepted: bool
    """The owner accepted an infrastructure fault, which its record still says, as the planner's."""
    score: FiniteFloat | None
    samples: list[FiniteFloat]
    """The score of each sample, in order; empty of plans that are judged or were not executed."""
    indicators: dict[_Text, FiniteFloat]
    sample_indicators: dict[_Text, list[FiniteFloat]]
    """By name, the values of the indicators that differ from sample to sample, in order."""
    seconds: FiniteFloat | None
    """How long the planner took."""
    prompt_tokens: int | None
    completion_tokens: int | None
    record: Digest | None
    """`record_commitment` of the task's record; None if the task never ran."""
    cached_tokens: int | None = None
    """Those of the prompt that were read from a cache; absent if none are reported."""
    further: Annotated[tuple[FurtherRun, ...], Field(max_length=MOST_FURTHER_RUNS)] = ()
    """The further runs of a task that was asked again, in order; absent if it was asked once."""

    @model_serializer(mode="wrap")
    def _without_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        # Keeps the digests of tasks without them unchanged.
        fields: dict[str, object] = handler(self)
        return {
            name: value for name, value in fields.items() if name not in _LATER_FACTS or value not in (None, (), [])
        }


class RowDigests(Shape):
    """What binds a row of a snapshot."""

    evaluation: _Text
    result: Digest
    names: dict[Name, Digest]
    """By field, the salted digest of each name that the row has."""
    tasks: Digest | None
    """Digest of the results of its tasks; None if the evaluation was gone when the snapshot was signed."""


def result_digest(row: Mapping[str, Any]) -> str:
    """Digest of a row's figures and facts."""
    return canonical_json.digest({name: value for name, value in row.items() if name not in NAMES})


def name_digest(*, evaluation: str, field: str, name: object, salt: str) -> str:
    """Salted digest of one name in the row of an evaluation."""
    return canonical_json.digest([salt, evaluation, field, name])


def rows_digest(rows: Sequence[RowDigests]) -> str:
    """Digest of all rows of a snapshot, in their order."""
    return canonical_json.digest([row.model_dump(mode="json") for row in rows])


def record_commitment(*, salt: str, task: str, digest: str) -> str:
    """Salted digest of a record's digest."""
    return canonical_json.digest([salt, task, digest])


def tasks_digest(*, evaluation: str, tasks: Sequence[TaskEntry]) -> str:
    """Digest of the results of an evaluation's tasks, in their order."""
    return canonical_json.digest([evaluation, [task.model_dump(mode="json") for task in tasks]])


def rows_that_left(*, before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> list[str]:
    """Evaluations whose rows a board had before, and that no later run of the same planner replaced.

    Args:
        before: rows of one snapshot.
        after: rows of the next one of the same board.
    """
    there = {row["evaluation"] for row in after}
    there.update(one for row in after for one in (row.get("runs") or {}).get("evaluations", ()))
    ended = {(row["owner"], row["planner"]): datetime.fromisoformat(row["finished"]) for row in after}
    return [
        row["evaluation"]
        for row in before
        if row["evaluation"] not in there
        and not (
            (later := ended.get((row["owner"], row["planner"]))) and later >= datetime.fromisoformat(row["finished"])
        )
    ]
