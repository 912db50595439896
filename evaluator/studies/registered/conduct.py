"""Registering a study, adding scores, declaring deviations, closing. All of them append a signed statement."""

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol, TypeVar

from evaluator.core.provenance import code_version
from evaluator.core.signatures.envelope import PrivateKey, PublicKey, seal
from evaluator.studies.registered.analysis import ANALYSIS_CODE, Results, Scores, analyse
from evaluator.studies.registered.files import (
    ROOT,
    StudyError,
    as_bytes,
    differences,
    digest_of,
    inside,
    manifest,
    manifest_bytes,
    manifest_digest,
    read,
)
from evaluator.studies.registered.folder import (
    PLAN,
    TASKS,
    Chain,
    StudyFolder,
    StudyResults,
    scores_digest,
    scores_name,
)
from evaluator.studies.registered.plan import Plan, parse
from evaluator.studies.registered.statements import (
    Concern,
    StudyClosing,
    StudyDeviation,
    StudyRegistration,
    StudyRun,
    StudyStatement,
)

_Statement = TypeVar("_Statement", bound=StudyStatement)
_PACKAGES = ("numpy", "tokenizers", "torch", "transformers")
_MOST_NAMED = 5
"""Files that an error names."""


class Runner(Protocol):
    """Measures the arms of a study."""

    def tasks(self) -> Mapping[str, str]:
        """The group of each task that arms are measured on."""
        ...

    def data(self) -> Mapping[str, str]:
        """Digests of everything besides the code that scores depend on."""
        ...

    def run(self, *, arm: str, seed: int, say: Callable[[str], None]) -> Mapping[str, float]:
        """Train and measure an arm of a seed, or continue. Returns the score of each task."""
        ...


def _now() -> datetime:
    return datetime.fromtimestamp(time.time(), tz=UTC)


@dataclass(frozen=True, kw_only=True)
class Author:
    """Who conducts a study, and where."""

    key: PrivateKey
    trusted: Mapping[str, PublicKey]
    """Keys whose statements are accepted, the author's own among them."""
    root: Path = ROOT
    """The folder that the plan's paths of code and data are relative to."""
    now: Callable[[], datetime] = _now
    commit: Callable[[], tuple[str | None, bool | None]] = code_version
    """Commit of the code, and whether files were changed since."""

    def chain(self, study: StudyFolder) -> Chain:
        """The verified statements of a study."""
        return study.chain({**self.trusted, self.key.public.id: self.key.public})


@dataclass(frozen=True, kw_only=True)
class _State:
    """Code and data as they are now."""

    code: dict[str, str]
    analysis: dict[str, str]
    data: dict[str, str] = field(default_factory=dict)


def register(*, author: Author, study: StudyFolder, runner: Runner | None) -> StudyRegistration:
    """Sign the plan, the tasks, the code, the data and the analysis, before the first run.

    Args:
        author: who registers it.
        study: its folder, with the plan. Without a runner also with `tasks.json`.
        runner: the runner that the plan names.

    Raises:
        StudyError: there are already statements or scores, or the code has changes that are in no commit.
    """
    if author.chain(study).statements:
        raise StudyError("the study is already registered")
    if study.score_files():
        raise StudyError("there are scores already: a study is registered before its first run")
    commit, dirty = author.commit()
    if dirty and _uncommitted(author, study.plan):
        raise StudyError("the code has changes that are in no commit: commit them first, so that readers can find it")
    if runner is not None:
        _write(study.path, TASKS, as_bytes(dict(runner.tasks())))
    if missing := sorted({group for arm in study.plan.arms for group in arm.groups} - {*study.groups.values()}):
        raise StudyError(f"no task has the group {missing[0]}")
    state = _state(author=author, plan=study.plan, runner=runner)
    return _append(
        author, study, StudyRegistration,
        plan=study.digest(PLAN), tasks=study.digest(TASKS), code=_kept(study, state.code),
        analysis=_kept(study, state.analysis), data=state.data, commit=commit,
    )  # fmt: skip


def _uncommitted(author: Author, plan: Plan) -> bool:
    """Whether the code of the plan differs from the commit; other files may."""
    import subprocess

    done = subprocess.run(  # noqa: S603 - fixed program; paths were checked
        ["git", "-C", str(author.root), "status", "--porcelain", "--", *plan.code.paths, *ANALYSIS_CODE],  # noqa: S607
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    return done.returncode != 0 or bool(done.stdout.strip())


def run_all(*, author: Author, study: StudyFolder, runner: Runner, seeds: list[int], say: Callable[[str], None]) -> int:
    """Measure what is missing, in the order of the plan, and return the number of new runs.

    Args:
        author: who signs the runs.
        study: a registered study.
        runner: the runner that the plan names.
        seeds: the only seeds to measure; empty: all.
        say: prints progress.

    Raises:
        StudyError: code, data or tasks are not the registered ones and no deviation says so.
    """
    added = 0
    for seed, arm in _current_plan(study, author.chain(study)).runs:
        done = {(run.seed, run.arm) for run in author.chain(study).of(StudyRun)}
        if (seed, arm) in done or (seeds and seed not in seeds):
            continue
        state, started = _checked(author=author, study=study, runner=runner), author.now()
        scores = runner.run(arm=arm, seed=seed, say=say)
        if _checked(author=author, study=study, runner=runner) != state:
            raise StudyError(f"code or data changed while {arm} of seed {seed} was measured; run it again")
        _add(author, study, scores=scores, arm=arm, seed=seed, state=state, started=started)
        say(f"seed {seed}: {arm} is measured and signed")
        added += 1
    return added


def add_run(
    *, author: Author, study: StudyFolder, arm: str, seed: int, scores: Mapping[str, float], repeated: bool = False,
    runner: Runner | None = None,
) -> StudyRun:  # fmt: skip
    """Add the scores of a run that was measured elsewhere.

    Args:
        author: who signs the run.
        study: a registered study.
        arm: key of the arm.
        seed: seed of the run.
        scores: score of each task.
        repeated: whether the run is there already, and this is its repetition.
        runner: the runner that the plan names, for the digests of its data.

    Raises:
        StudyError: the plan has no such run, it is there already and not `repeated`, or code or data changed.
    """
    state = _checked(author=author, study=study, runner=runner)
    return _add(author, study, scores=scores, arm=arm, seed=seed, state=state, started=author.now(), repeated=repeated)


def _add(
    author: Author, study: StudyFolder, *, scores: Mapping[str, float], arm: str, seed: int, state: _State,
    started: datetime, repeated: bool = False,
) -> StudyRun:  # fmt: skip
    chain = author.chain(study)
    plan = _current_plan(study, chain)
    if (seed, arm) not in plan.runs:
        raise StudyError(f"the plan has no run of {arm} with the seed {seed}; declare a deviation with another plan")
    exists = any((run.seed, run.arm) == (seed, arm) for run in chain.of(StudyRun))
    if exists != repeated:
        text = "is there already: its repetition must be declared" if exists else "is not there to be repeated"
        raise StudyError(f"the run of {arm} with the seed {seed} {text}")
    if repeated and not any(one.concern == "runs" for one in chain.of(StudyDeviation)):
        raise StudyError("a run is repeated only after a deviation about runs says why")
    groups = plan.arm(arm).groups
    expected = {task for task, group in study.groups.items() if not groups or group in groups}
    if scores.keys() != expected:
        odd = sorted(scores.keys() ^ expected)[0]
        raise StudyError(f"{arm} of seed {seed} has not the tasks of the study: see {odd[:40]!r}")
    name = scores_name(seed=seed, arm=arm, number=len(chain.statements) if repeated else None)
    content = as_bytes(dict(scores))
    _write(study.path, name, content)
    study.scores(name)
    return _append(
        author, study, StudyRun,
        arm=arm, seed=seed, scores=digest_of(content), repeated=repeated, code=manifest_digest(state.code),
        data=state.data, commit=author.commit()[0], started=started, environment=_environment(),
    )  # fmt: skip


def deviate(
    *, author: Author, study: StudyFolder, concern: Concern, reason: str, plan: bytes | None = None,
    runner: Runner | None = None,
) -> StudyDeviation:  # fmt: skip
    """Declare a deviation. What was registered stays, and is reported beside it.

    Args:
        author: who declares it.
        study: a registered study.
        concern: what deviates. For code and data, what is there now is declared.
        reason: why.
        plan: the changed plan, for `plan`.
        runner: the runner, for the digests of data.

    Raises:
        StudyError: nothing deviates, or the study is not registered.
    """
    chain = author.chain(study)
    if chain.registration is None:
        raise StudyError("the study is not registered: nothing was fixed that it could deviate from")
    if (plan is not None) != (concern == "plan"):
        raise StudyError("a deviation of the plan, and no other, needs the changed plan")
    changes: dict[str, Any] = {}
    if plan is not None:
        amended = parse(plan)
        if amended.name != study.plan.name:
            raise StudyError(f"the changed plan is of the study {amended.name}")
        if digest_of(plan) == _plan_digest(study, chain):
            raise StudyError("the changed plan is the present one")
        _write(study.path, f"amendments/{len(chain.statements):04}.toml", plan)
        changes["plan"] = digest_of(plan)
    state = _state(author=author, plan=_current_plan(study, chain), runner=runner)
    if concern == "code":
        changes |= {"code": _kept(study, state.code), "analysis": _kept(study, state.analysis)}
        if changes["code"] in chain.code and changes["analysis"] in chain.analysis:
            raise StudyError("the code is the registered or a declared one")
    if concern == "data":
        changes["data"] = state.data
        if state.data in [dict(one) for one in chain.data]:
            raise StudyError("the data are the registered or declared ones")
    return _append(author, study, StudyDeviation, concern=concern, reason=reason, **changes)


def close(*, author: Author, study: StudyFolder, unregistered: bool = False) -> StudyClosing:
    """Run the stated analysis over the scores, and sign the figures.

    Args:
        author: who closes it.
        study: the study with its scores.
        unregistered: of a study whose plan was written after its runs; the closing says so.

    Raises:
        StudyError: runs are missing, or something changed without a declared deviation.
    """
    chain = author.chain(study)
    if (chain.registration is None) != unregistered:
        text = "is registered" if unregistered else "is not registered: --unregistered closes it, and says so"
        raise StudyError(f"the study {text}")
    analysis = manifest(root=author.root, paths=ANALYSIS_CODE)
    if chain.registration is not None:
        _check_registered(study, chain)
        if manifest_digest(analysis) not in chain.analysis:
            changed = differences(before=study.manifest(chain.registration.analysis), after=analysis)
            where = f" of commit {chain.registration.commit}" if chain.registration.commit else ""
            raise StudyError(
                f"the code of the analysis is not the registered one: {', '.join(changed)}. Close the study with the "
                f"code{where}, or declare the deviation"
            )
    results = figures(study=study, chain=chain)
    newest = results.with_deviations or results.as_registered
    if newest.missing and not unregistered:
        seed, arm = newest.missing[0]
        raise StudyError(f"{len(newest.missing)} runs are missing, such as {arm} with the seed {seed}")
    if newest.missing:
        seed, arm = newest.missing[0]
        raise StudyError(f"the plan has runs without scores, such as {arm} with the seed {seed}")
    number = len(chain.statements)
    content = as_bytes(results.model_dump(mode="json"))
    _write(study.path, f"results/{number:04}.json", content)
    return _append(
        author, study, StudyClosing,
        registered=not unregistered, complete=not results.as_registered.missing, plan=_plan_digest(study, chain),
        tasks=study.digest(TASKS), scores=scores_digest(score_digests(study, chain)),
        analysis=_kept(study, analysis), results=digest_of(content), deviations=len(chain.of(StudyDeviation)),
        commit=author.commit()[0],
    )  # fmt: skip


def figures(*, study: StudyFolder, chain: Chain) -> StudyResults:
    """The figures by the stated analysis: as registered, and with all declared deviations.

    Args:
        study: the study.
        chain: its statements before the closing.

    Raises:
        StudyError: the runs do not allow the stated analysis.
    """
    runs = chain.of(StudyRun)
    if chain.registration is None:
        scores: Scores = {run: study.scores(name) for run, name in study.score_files().items()}
        return StudyResults(study=study.plan.name, as_registered=_analysed(study, study.plan, scores),
                            with_deviations=None)  # fmt: skip
    registered = {(run.seed, run.arm): study.scores_of(run) for run in runs if not chain.deviates(run)}
    deviating = None
    if chain.of(StudyDeviation):
        # A later repetition takes the place of a run.
        every = {(run.seed, run.arm): study.scores_of(run) for run in runs}
        deviating = _analysed(study, _current_plan(study, chain), every)
    return StudyResults(
        study=study.plan.name, as_registered=_analysed(study, study.plan, registered), with_deviations=deviating
    )


def score_digests(study: StudyFolder, chain: Chain) -> dict[str, str]:
    """Digests of the files of scores by path: those of the signed runs, or all of an unregistered study."""
    if chain.registration is None:
        return {name: study.digest(name) for name in sorted(study.score_files().values())}
    names = [
        scores_name(seed=run.seed, arm=run.arm, number=run.number if run.repeated else None)
        for run in chain.of(StudyRun)
    ]
    return {name: study.digest(name) for name in sorted(names)}


def check_files(study: StudyFolder, chain: Chain) -> None:
    """Check that plan, tasks, manifests, amendments and scores are the signed ones, and that runs are as declared.

    Raises:
        StudyError: one of them is not.
    """
    registration = chain.registration
    if registration is not None:
        _check_registered(study, chain)
        study.manifest(registration.code)
        study.manifest(registration.analysis)
    for closing in chain.of(StudyClosing):
        before = chain.before(closing.number)
        if registration is None and score_digests(study, before):
            _same(study.digest(PLAN), closing.plan, PLAN)
        _same(study.digest(TASKS), closing.tasks, TASKS)
        _same(scores_digest(score_digests(study, before)), closing.scores, "the scores")
        _same(_plan_digest(study, before), closing.plan, "the plan")
        if closing.deviations != len(before.of(StudyDeviation)) or closing.registered != (registration is not None):
            raise StudyError("the closing has another number of deviations than were declared, or another registration")
        study.manifest(closing.analysis)


def _check_registered(study: StudyFolder, chain: Chain) -> None:
    registration = chain.registration
    if registration is None:
        return
    _same(study.digest(PLAN), registration.plan, PLAN)
    _same(study.digest(TASKS), registration.tasks, TASKS)
    for deviation in chain.of(StudyDeviation):
        if deviation.plan:
            name = f"amendments/{deviation.number:04}.toml"
            _same(study.digest(name), deviation.plan, name)
        for digest in (deviation.code, deviation.analysis):
            if digest:
                study.manifest(digest)
    signed = set()
    for run in chain.of(StudyRun):
        before = chain.before(run.number)
        where = f"the run of {run.arm} with the seed {run.seed}"
        name = scores_name(seed=run.seed, arm=run.arm, number=run.number if run.repeated else None)
        _same(study.digest(name), run.scores, name)
        study.scores_of(run)
        if run.started < registration.signed:
            raise StudyError(f"{where} began before the registration")
        if (run.seed, run.arm) not in _current_plan(study, before).runs:
            raise StudyError(f"{where} is not in the plan of that time")
        if run.code not in before.code or dict(run.data) not in [dict(one) for one in before.data]:
            raise StudyError(f"{where} has code or data that were neither registered nor declared")
        if run.repeated != ((run.seed, run.arm) in signed):
            raise StudyError(f"{where} is there twice, or repeats nothing")
        signed.add((run.seed, run.arm))
    if unsigned := sorted(study.score_files().keys() - signed):
        seed, arm = unsigned[0]
        raise StudyError(
            f"the scores of {arm} with the seed {seed} belong to no signed run; if signing was interrupted, delete them"
        )


def _same(found: str, signed: str, what: str) -> None:
    if found != signed:
        raise StudyError(f"{what}: not what was signed (SHA-256 {found}, signed {signed})")


def _analysed(study: StudyFolder, plan: Plan, scores: Scores) -> Results:
    try:
        return analyse(plan=plan, groups=study.groups, scores=scores)
    except ValueError as error:
        raise StudyError(str(error)) from None


def _current_plan(study: StudyFolder, chain: Chain) -> Plan:
    """The plan after the last deviation that changed it."""
    amending = [one for one in chain.of(StudyDeviation) if one.plan]
    return study.amended(amending[-1]) if amending else study.plan


def _plan_digest(study: StudyFolder, chain: Chain) -> str:
    amending = [one.plan for one in chain.of(StudyDeviation) if one.plan]
    return amending[-1] if amending and amending[-1] else study.digest(PLAN)


def _state(*, author: Author, plan: Plan, runner: Runner | None) -> _State:
    files = {f"file {name}": digest_of(read(author.root, name)) for name in plan.data.paths}
    return _State(
        code=manifest(root=author.root, paths=plan.code.paths),
        analysis=manifest(root=author.root, paths=ANALYSIS_CODE),
        data={**(dict(runner.data()) if runner is not None else {}), **files},
    )


def _checked(*, author: Author, study: StudyFolder, runner: Runner | None) -> _State:
    """Code and data now, which must be registered or declared.

    Raises:
        StudyError: they are not, or the study cannot have runs.
    """
    chain = author.chain(study)
    if chain.registration is None:
        raise StudyError("the study is not registered: register it before its first run")
    _check_registered(study, chain)
    state = _state(author=author, plan=_current_plan(study, chain), runner=runner)
    if manifest_digest(state.code) not in chain.code:
        changed = differences(before=study.manifest(chain.registration.code), after=state.code)
        more = f" and {len(changed) - _MOST_NAMED} more" if len(changed) > _MOST_NAMED else ""
        raise StudyError(
            f"the code is not the registered one: {', '.join(changed[:_MOST_NAMED])}{more}. Run the study in a "
            f"checkout of commit {chain.registration.commit}, or declare the deviation"
        )
    if state.data not in [dict(one) for one in chain.data]:
        known = dict(chain.registration.data)
        raise StudyError(
            f"the data are not the registered ones: {', '.join(differences(before=known, after=state.data))}"
        )
    return state


def _append(author: Author, study: StudyFolder, kind: type[_Statement], **fields: Any) -> _Statement:
    """Sign the next statement of a study, and return it."""
    fresh = StudyFolder(study.path)
    chain = author.chain(fresh)
    number = len(chain.statements)
    statement = kind.model_validate(
        {
            "key": author.key.public.id, "study": fresh.plan.name, "number": number, "previous": chain.head,
            "signed": author.now(), **fields,
        }
    )  # fmt: skip
    envelope = seal(statement=statement, key=author.key)
    _write(study.path, f"statements/{number:04}.json", as_bytes(envelope.model_dump(mode="json")))
    # The next reading finds the new statement.
    study.__dict__.pop("envelopes", None)
    study.__dict__.pop("groups", None)
    return statement


def _kept(study: StudyFolder, found: Mapping[str, str]) -> str:
    """Store a manifest in the study, and return its digest."""
    digest = manifest_digest(found)
    if not (study.path / "code" / f"{digest}.json").exists():
        _write(study.path, f"code/{digest}.json", manifest_bytes(found))
    return digest


def _write(folder: Path, name: str, content: bytes) -> None:
    """Write a new file of a study atomically. What exists is never replaced.

    Raises:
        StudyError: it exists with another content.
    """
    path = inside(folder, name)
    if path.exists():
        if path.read_bytes() == content:
            return
        raise StudyError(f"{name} exists, with another content")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Outside the folders whose files are counted, in case the process ends here.
    partial = folder / f".{path.name}.partial"
    partial.write_bytes(content)
    partial.replace(path)


def _environment() -> dict[str, str]:
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
