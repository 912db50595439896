"""Figures of closed studies as Markdown, and the generated blocks of documents.

    [//]: # (study NAME BLOCK)

    ...generated...

    [//]: # (end)

BLOCK is `status`, or the key of a table of the plan. The lines are link reference definitions, which no reader of the
page sees.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from evaluator.scoring.metrics.statistics import ends_in_words
from evaluator.studies.registered.analysis import ArmTable, ContrastFigures, Results, Value
from evaluator.studies.registered.files import StudyError
from evaluator.studies.registered.folder import Chain, StudyFolder
from evaluator.studies.registered.plan import ALL, Plan, Table
from evaluator.studies.registered.statements import StudyDeviation, StudyRun

STATUS = "status"
_BLOCK = re.compile(
    r"^\[//\]: # \(study ([a-z0-9_-]{1,60}) ([a-z0-9_-]{1,60})\)\n\n(.*?)\n?^\[//\]: # \(end\)$",
    re.MULTILINE | re.DOTALL,
)


def blocks_of(text: str) -> list[tuple[str, str, str]]:
    """Study, key and content of each generated block of a document."""
    return [(match[1], match[2], match[3].strip("\n")) for match in _BLOCK.finditer(text)]


def with_blocks(text: str, *, generated: dict[tuple[str, str], str]) -> str:
    """A document with its blocks replaced by generated ones, by study and key."""

    def replaced(match: re.Match[str]) -> str:
        study, key = match[1], match[2]
        content = generated.get((study, key), match[3].strip("\n"))
        return f"[//]: # (study {study} {key})\n\n{content}\n\n[//]: # (end)"

    return _BLOCK.sub(replaced, text)


def block(*, study: StudyFolder, chain: Chain, key: str) -> str:
    """The content of a block.

    Args:
        study: the study.
        chain: its verified statements.
        key: `status`, or the key of a table.

    Raises:
        StudyError: the plan has no such table.
    """
    if key == STATUS:
        return status(study=study, chain=chain)
    plan = study.plan
    table = next((one for one in plan.tables if one.key == key), None)
    if table is None:
        raise StudyError(f"the study {plan.name} has no table {key}")
    closing = chain.closing
    if closing is None:
        return "The study is open: its figures are computed when it is closed."
    found = study.results(closing)
    if found.with_deviations is None:
        return markdown(table=table, plan=plan, results=found.as_registered)
    amended = _last_plan(study, chain)
    deviating = next((one for one in amended.tables if one.key == key), table)
    parts = ["As registered:", markdown(table=table, plan=plan, results=found.as_registered)]
    parts += ["With the declared deviations:"]
    parts += [markdown(table=deviating, plan=amended, results=found.with_deviations)]
    return "\n\n".join(parts)


def status(*, study: StudyFolder, chain: Chain) -> str:
    """A paragraph about registration, runs, deviations and closing."""
    registration, closing = chain.registration, chain.closing
    runs = {(run.seed, run.arm) for run in chain.of(StudyRun)}
    sentences = []
    if registration is not None:
        commit = f" at commit `{registration.commit[:12]}`" if registration.commit else ""
        sentences.append(f"Registered on {registration.signed:%Y-%m-%d %H:%M} UTC{commit}, key `{registration.key}`.")
    else:
        sentences.append("Not registered: no record shows that plan and analysis are older than the runs.")
    if closing is None:
        sentences.append(f"Open: {len(runs)} of {len(_last_plan(study, chain).runs)} runs are signed.")
    else:
        sentences.append(f"Closed on {closing.signed:%Y-%m-%d %H:%M} UTC.")
    deviations = chain.of(StudyDeviation)
    if registration is not None:
        sentences.append("No deviation." if not deviations else f"{len(deviations)} declared deviations:")
    lines = [" ".join(sentences)]
    lines += [f"- {one.signed:%Y-%m-%d %H:%M} UTC, {one.concern}: {_plain(one.reason)}" for one in deviations]
    return "\n\n".join([lines[0], "\n".join(lines[1:])]) if deviations else lines[0]


def markdown(*, table: Table, plan: Plan, results: Results) -> str:
    """A table of a plan with its figures."""
    if table.kind == "arms":
        found = next((one for one in results.tables if one.key == table.key), None)
        return _grid(*_arms(table, plan=plan, found=found))
    by_key = {one.key: one for one in results.contrasts}
    wanted = [by_key[key] for key in table.contrasts or [one.key for one in plan.analysis.contrasts] if key in by_key]
    if table.kind == "only":
        return _grid(*_only(table, plan=plan, rows=wanted))
    return _grid(*_contrasts(table, plan=plan, rows=wanted))


def decision(figures: ContrastFigures) -> str:
    """Where the interval of a contrast lies, in words."""
    low, high = figures.difference.low, figures.difference.high
    if low is None or high is None:
        return "no interval"
    return "above 0" if low > 0 else "below 0" if high < 0 else "on both sides"


_Rows = tuple[Sequence[str], Sequence[Sequence[str]]]


def _arms(table: Table, *, plan: Plan, found: ArmTable | None) -> _Rows:
    facts = list(dict.fromkeys(name for arm in plan.arms for name in arm.facts))
    by_seed = [f"{ALL}, by seed"] if table.by_seed else []
    rows = []
    for row in found.rows if found else []:
        arm = plan.arm(row.arm)
        cells = [_value(row.values[column], table=table) for column in table.columns]
        seeds = [_by_seed(row.by_seed, table=table)] if table.by_seed else []
        rows.append([arm.label, *(str(arm.facts.get(name, "")) for name in facts), *cells, *seeds])
    return [table.heading, *facts, *table.columns, *by_seed], rows


def _contrasts(table: Table, *, plan: Plan, rows: Sequence[ContrastFigures]) -> _Rows:
    primary = {one.key for one in plan.analysis.contrasts if one.primary}
    by_seed = ["by seed"] if table.by_seed else []
    lines = []
    for row in rows:
        seeds = [_by_seed(row.by_seed, table=table, signed=True)] if table.by_seed else []
        label = _label(row, plan=plan) + (" (primary)" if row.key in primary else "")
        p = row.adjusted_p if row.adjusted_p is not None else row.p
        value = row.difference
        form = f"+.{table.digits}f"
        ends = "—" if value.low is None else ends_in_words(low=value.low, high=value.high, form=form)
        lines.append(
            [label, f"{value.mean:{form}}", ends, _p(p), decision(row), str(value.tasks), *seeds]
        )  # fmt: skip
    return [table.heading, "difference", "95 % interval", "p", "interval lies", "tasks", *by_seed], lines


def _only(table: Table, *, plan: Plan, rows: Sequence[ContrastFigures]) -> _Rows:
    lines = [
        [_label(row, plan=plan), _value(row.treatment_only, table=table), _value(row.control_only, table=table)]
        for row in rows
    ]
    return [table.heading, "solved only by the first", "solved only by the second"], lines


_LEAST_P = 0.001


def _p(value: float | None) -> str:
    if value is None:
        return ""
    return f"< {_LEAST_P}" if value < _LEAST_P else f"{value:.3f}"


def _label(row: ContrastFigures, *, plan: Plan) -> str:
    contrast = next(one for one in plan.analysis.contrasts if one.key == row.key)
    return f"{plan.arm(contrast.treatment).label} - {plan.arm(contrast.control).label}"


def _value(value: Value | None, *, table: Table) -> str:
    if value is None:
        return ""
    form = f".{table.digits}f"
    if not table.intervals or value.low is None:
        return f"{value.mean:{form}}"
    return f"{value.mean:{form}} ({ends_in_words(low=value.low, high=value.high, form=form)})"


def _by_seed(values: dict[int, float], *, table: Table, signed: bool = False) -> str:
    form = f"{'+' if signed else ''}.{min(table.digits, 3)}f"
    return ", ".join(f"{value:{form}}" for _, value in sorted(values.items()))


def _grid(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(headings)} |", "|---" * len(headings) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _last_plan(study: StudyFolder, chain: Chain) -> Plan:
    amending = [one for one in chain.of(StudyDeviation) if one.plan]
    return study.amended(amending[-1]) if amending else study.plan


def _plain(text: str) -> str:
    """A reason in one line, without Markdown."""
    return re.sub(r"[\x00-\x1f<>|`*_\[\]]+", " ", text).strip()


def studies_in(folder: Path) -> list[StudyFolder]:
    """The studies in a folder, or the folder itself if it is one."""
    if (folder / "plan.toml").is_file():
        return [StudyFolder(folder)]
    found = sorted(path.parent for path in folder.glob("*/plan.toml")) if folder.is_dir() else []
    return [StudyFolder(path) for path in found]
