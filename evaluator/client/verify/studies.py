"""Checks registered studies, and the tables of documents that are generated from them.

A figure is checked twice: it follows from the signed scores by the stated analysis, and documents show it.
"""

import subprocess
from pathlib import Path
from typing import NamedTuple

from evaluator.client.verify.report import Report
from evaluator.core.signatures.envelope import PublicKey
from evaluator.studies.registered.analysis import ANALYSIS_CODE, most_different
from evaluator.studies.registered.conduct import check_files, figures
from evaluator.studies.registered.files import ROOT, StudyError, manifest, manifest_digest, read
from evaluator.studies.registered.folder import Chain, StudyFolder, scores_name
from evaluator.studies.registered.keys import KEYS, given_key, listed_keys
from evaluator.studies.registered.statements import StudyClosing, StudyDeviation, StudyRun
from evaluator.studies.registered.tables import block, blocks_of, studies_in

_CLOSE = 1e-9
"""Differences of figures that two processors may have."""


def check_studies(*, folder: Path, documents: Path | None, key: str, report: Report) -> None:
    """Verify a study or all studies in a folder, and the blocks of documents.

    Args:
        folder: the folder of a study, or of several.
        documents: a folder of Markdown files; None: no documents.
        key: the only trusted key, or its id; empty: those listed beside the studies.
        report: the findings are added to it.
    """
    studies = studies_in(folder)
    if not studies:
        report.not_checked("studies", f"{folder} has no study")
        return
    chains: dict[str, tuple[StudyFolder, Chain]] = {}
    for study in studies:
        try:
            chain = check_study(study, key=key, report=report)
        except StudyError as error:
            report.mismatch("study", f"{study.path.name}: {error}")
            continue
        chains[study.plan.name] = (study, chain)
    if documents is not None:
        _check_documents(documents, chains=chains, complete=not (folder / "plan.toml").is_file(), report=report)


def check_study(study: StudyFolder, *, key: str, report: Report) -> Chain:
    """Verify a study.

    Raises:
        StudyError: it is not what was signed.
    """
    name = study.plan.name
    if study.path.name != name:
        raise StudyError(f"the folder has the study {name}")
    chain = study.chain(_trusted(study, key=key, report=report))
    if not chain.statements:
        report.not_checked("study", f"{name}: nothing is signed yet")
        return chain
    check_files(study, chain)
    _tell(study, chain, report=report)
    if chain.registration is not None and chain.of(StudyRun):
        _check_order(study, first_run=chain.of(StudyRun)[0], report=report)
    for closing in chain.of(StudyClosing):
        _check_figures(study, chain=chain, closing=closing, report=report)
    return chain


def _trusted(study: StudyFolder, *, key: str, report: Report) -> dict[str, PublicKey]:
    listed = listed_keys(study.path.parent)
    if key:
        return given_key(key, listed=listed)
    if not listed:
        raise StudyError(f"no key is known: {KEYS} beside the study lists none, and none was given by --key")
    text = f"{', '.join(listed)}, listed beside the study: compare with the key that the authors publish"
    if all(text != finding.text for finding in report.findings):
        report.note("key", text)
    return listed


def _tell(study: StudyFolder, chain: Chain, *, report: Report) -> None:
    name, registration, runs = study.plan.name, chain.registration, chain.of(StudyRun)
    if registration is None:
        report.note("study", f"{name} was never registered: no record shows that its plan is older than the runs")
    else:
        text = f"{name}: registered {registration.signed:%Y-%m-%d %H:%M} UTC by {registration.key}"
        report.ok("study", f"{text}, {len(runs)} signed runs, by the signer's clock after the registration")
    for one in chain.of(StudyDeviation):
        report.note("study", f"{name}: deviation of {one.concern}, declared {one.signed:%Y-%m-%d}: {one.reason}")
    if chain.closing is None:
        report.note("study", f"{name} is open: {len(runs)} of {len(study.plan.runs)} runs")


class _Commit(NamedTuple):
    """A commit that added a file."""

    id: str
    time: str


def _check_order(study: StudyFolder, *, first_run: StudyRun, report: Report) -> None:
    """Look in the history of the repository whether the registration is older than the first run.

    Signatures cannot show it. History shows it to those who fetched it in between.
    """
    name = study.plan.name
    statement = read(study.path, "statements/0000.json").decode().strip()
    registered = _added(study.path, "statements/0000.json")
    measured = _added(study.path, scores_name(seed=first_run.seed, arm=first_run.arm))
    if registered is None or measured is None:
        report.note(
            "order", f"{name}: no Git history here shows whether the registration was published before the runs"
        )
    elif registered.id == measured.id:
        report.note("order", f"{name}: registration and first run are in one commit, so history shows no order")
    elif _git(study.path, "show", f"{measured.id}^:./statements/0000.json") != statement:
        report.mismatch(
            "order", f"{name}: the registration was not committed before the first run",
            expected=f"{registered.id[:12]} before {measured.id[:12]}", found=f"{registered.time}, {measured.time}",
        )  # fmt: skip
    else:
        text = f"{name}: the registration was committed {registered.time} ({registered.id[:12]}), the first run"
        report.ok("order", f"{text} {measured.time} ({measured.id[:12]})")
    if registered is not None:
        _check_kept(study, since=registered, report=report)


_APPENDED = ("statements", "scores", "amendments", "results", "code", "tasks.json", "plan.toml")


def _check_kept(study: StudyFolder, *, since: _Commit, report: Report) -> None:
    """Look for files of a study that were changed or removed after the registration.

    The chain of statements does not show that its end was cut off and signed again.
    """
    changes = _git(study.path, "log", "--diff-filter=DM", "--format=%h", f"{since.id}..HEAD", "--", *_APPENDED)
    if changes:
        commits = ", ".join(reversed(changes.splitlines()))
        report.mismatch("order", f"{study.plan.name}: signed files were changed or removed in {commits}")


def _added(folder: Path, name: str) -> _Commit | None:
    """The first commit that added a file; None if it is in none, or the history is not here."""
    found = _git(folder, "log", "--diff-filter=A", "--format=%H %cI", "--", name)
    if not found or _git(folder, "rev-parse", "--is-shallow-repository") != "false":
        return None
    return _Commit(*found.splitlines()[-1].split(" ", 1))


def _git(folder: Path, *arguments: str) -> str | None:
    """The output of Git; None if it fails."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed program, and names that were checked
            ["git", "-C", str(folder), *arguments],  # noqa: S607
            capture_output=True, text=True, timeout=30, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _check_figures(study: StudyFolder, *, chain: Chain, closing: StudyClosing, report: Report) -> None:
    where = f"{study.plan.name}, closed {closing.signed:%Y-%m-%d %H:%M} UTC"
    signed = study.results(closing)
    found = figures(study=study, chain=chain.before(closing.number))
    pairs = [(signed.as_registered, found.as_registered)]
    if (signed.with_deviations is None) != (found.with_deviations is None):
        raise StudyError(f"{where}: the figures do not tell those with deviations from those without")
    if signed.with_deviations is not None and found.with_deviations is not None:
        pairs.append((signed.with_deviations, found.with_deviations))
    distance = max(most_different(*pair) for pair in pairs)
    present = manifest_digest(manifest(root=ROOT, paths=ANALYSIS_CODE))
    if signed.study == study.plan.name and distance <= _CLOSE:
        report.ok("figures", f"{where}: all figures follow from the scores")
    elif present == closing.analysis or signed.study != study.plan.name:
        raise StudyError(f"{where}: the figures do not follow from the scores (largest difference {distance:.3g})")
    else:
        commit = f" of commit {closing.commit}" if closing.commit else ""
        report.not_checked(
            "figures",
            f"{where}: this release has other code of the analysis than the closing, and other figures (largest "
            f"difference {distance:.3g}); verify with the code{commit}, or close the study again",
        )


def _check_documents(
    documents: Path, *, chains: dict[str, tuple[StudyFolder, Chain]], complete: bool, report: Report
) -> None:
    count = 0
    for path in sorted(documents.rglob("*.md")):
        for name, key, shown in blocks_of(path.read_text(encoding="utf-8")):
            if name not in chains:
                if complete:
                    report.mismatch("documents", f"{path.name}: there is no verified study {name}")
                continue
            study, chain = chains[name]
            try:
                expected = block(study=study, chain=chain, key=key)
            except StudyError as error:
                report.mismatch("documents", f"{path.name}: {error}")
                continue
            count += 1
            if shown != expected:
                text = f"{path.name}: {key} of {name} is not what the study says; planarena study tables writes it"
                report.mismatch("documents", text, expected=_first_difference(expected, shown)[0],
                                found=_first_difference(expected, shown)[1])  # fmt: skip
    report.ok("documents", f"{count} generated tables in {documents} compared")


def _first_difference(expected: str, shown: str) -> tuple[str, str]:
    """The first line in which two texts differ."""
    first, second = expected.splitlines(), shown.splitlines()
    size = max(len(first), len(second))
    pairs = zip([*first, *[""] * size][:size], [*second, *[""] * size][:size], strict=True)
    return next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
