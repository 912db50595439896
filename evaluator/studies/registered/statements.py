"""What the author of a study signs. Each statement names the one before it, so that none can be left out or replaced.

The times in statements are the author's word. What shows the order to others is that the registration was published
before the runs: committed and pushed, or its digest given to somebody else.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import AwareDatetime, Field

from evaluator.core.signatures.statements import Digest, Statement

StudyName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,59}$")]
_Text = Annotated[str, Field(max_length=200)]
_Number = Annotated[int, Field(ge=0, le=9999)]
Concern = Literal["code", "data", "plan", "runs"]
"""What deviates: the code or the data of later runs, the plan (seeds, arms, analysis, decision), or which runs are
there."""


class StudyStatement(Statement):
    """A statement about a study."""

    study: StudyName
    number: _Number
    """Place in the chain, from 0."""
    previous: Digest | None
    """Digest of the statement before it; None for the first."""
    signed: AwareDatetime


class StudyRegistration(StudyStatement):
    """What is fixed before the first run."""

    kind: ClassVar[str] = "study-registration"
    plan: Digest
    """Of `plan.toml`."""
    tasks: Digest
    """Of `tasks.json`: the tasks and their groups."""
    code: Digest
    """Of `code/DIGEST.json`, the manifest of the code."""
    analysis: Digest
    """Of the manifest of the analysis's code (`analysis.ANALYSIS_CODE`)."""
    data: Annotated[dict[_Text, Digest], Field(max_length=1000)]
    """Digests of the data by name."""
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")] | None
    """Commit of the code."""


class StudyRun(StudyStatement):
    """One measured arm of one seed."""

    kind: ClassVar[str] = "study-run"
    arm: StudyName
    seed: Annotated[int, Field(ge=0, le=2**31)]
    scores: Digest
    """Of `scores/seed-SEED/ARM.json`; of a repeated run, of `scores/seed-SEED/ARM.NUMBER.json`."""
    repeated: bool = False
    """Whether there was already such a run. The first one counts, unless a deviation says otherwise."""
    code: Digest
    data: Annotated[dict[_Text, Digest], Field(max_length=1000)]
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")] | None
    started: AwareDatetime
    environment: Annotated[dict[_Text, _Text], Field(max_length=50)]
    """Versions of packages, and the machine."""


class StudyDeviation(StudyStatement):
    """A declared deviation from what was registered. Both stay: figures with it and without."""

    kind: ClassVar[str] = "study-deviation"
    concern: Concern
    reason: Annotated[str, Field(min_length=10, max_length=2000)]
    plan: Digest | None = None
    """Of `amendments/NUMBER.toml`, the plan from now on."""
    code: Digest | None = None
    """Of the manifest of the code of later runs."""
    analysis: Digest | None = None
    """Of the manifest of the analysis's code from now on."""
    data: Annotated[dict[_Text, Digest], Field(max_length=1000)] | None = None
    """Data of later runs."""


class StudyClosing(StudyStatement):
    """The end of a study, with its figures."""

    kind: ClassVar[str] = "study-closing"
    registered: bool
    """False if plan and analysis were written after the runs."""
    complete: bool
    """Whether every run of the plan is there."""
    plan: Digest
    tasks: Digest
    scores: Digest
    """Of the digests of all files of scores, by path (`folder.scores_digest`)."""
    analysis: Digest
    """Of the manifest of the analysis's code."""
    results: Digest
    """Of `results/NUMBER.json`."""
    deviations: _Number
    """Number of deviations declared before it."""
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")] | None


KINDS: tuple[type[StudyStatement], ...] = (StudyRegistration, StudyRun, StudyDeviation, StudyClosing)
