"""Seasons: the published seed against the signed commitment, requests and samples made again from it, and the results
that are withheld until then."""

from typing import TYPE_CHECKING

from evaluator.client.verify.documents import MalformedError, SeasonDocument
from evaluator.client.verify.fetching import FetchError, MissingError
from evaluator.client.verify.report import Report
from evaluator.client.verify.site import Site
from evaluator.core.signatures.statements import SnapshotStatement
from evaluator.core.suites.hidden import HIDDEN, SeedError, commitment

if TYPE_CHECKING:
    from evaluator.client.verify.regenerating import Regenerated

_PART = "season"


def regenerated(*, statement: SnapshotStatement, site: Site, report: Report) -> "Regenerated | None":
    """Check the season of a snapshot. None on open data, and where its requests cannot be made again."""
    conditions = statement.conditions
    if not conditions.season:
        return None
    where = f"season {conditions.season}"
    try:
        document = site.season(conditions.season)
    except (MissingError, FetchError, MalformedError) as error:
        report.not_checked(_PART, f"{where}: {error}")
        return None
    seed = _published_seed(document=document, statement=statement, report=report)
    if not seed:
        return None
    try:
        # Loaded here: verifying any other board needs less than a suite does.
        from evaluator.client.verify.regenerating import OtherSuiteError, made_again
    except ImportError as error:
        report.not_checked(_PART, f"{where}: its data are made by what `planarena[plans]` installs ({error})")
        return None
    try:
        found, digest = made_again(statement=statement, seed=seed)
    except OtherSuiteError as error:
        report.not_checked(_PART, f"{where}: its data cannot be made here: {error}")
        return None
    if digest != conditions.data_digest:
        text = f"{where}: the data that follow from the published seed are not those of the board"
        report.mismatch(_PART, text, expected=conditions.data_digest, found=digest)
        return None
    report.ok(_PART, f"{where}: the published seed fits its commitment, and its requests and data were made again")
    return found


def check_withheld(rows: int, *, statement: SnapshotStatement, site: Site, report: Report) -> None:
    """Say that figures of rows were not computed again, since the site withholds the results of their tasks.

    It may do so on hidden data while their season is open: that is a note. Anywhere else the board has no evidence, and
    is not verified.
    """
    conditions, many = statement.conditions, "1 row" if rows == 1 else f"{rows} rows"
    text = f"{many}: the results of single tasks are withheld"
    if conditions.split != HIDDEN:
        report.not_checked("results", f"{text}, though the data are open")
        return
    try:
        suites = site.season(conditions.season).suites if conditions.season else []
    except (FetchError, MalformedError) as error:
        report.not_checked("results", f"{text}, and season {conditions.season} cannot be read: {error}")
        return
    data = next((one for one in suites if one.suite == statement.suite.slug), None)
    if data is None or data.seed is not None:
        report.not_checked("results", f"{text}, though no season is open")
        return
    bound = f"{many}: results of single tasks are signed, and shown when season {conditions.season} closes"
    report.note("results", f"{bound}; figures and ranges of ranks were not computed again")


def _published_seed(*, document: SeasonDocument, statement: SnapshotStatement, report: Report) -> str:
    """The seed of the board's suite; empty, with a finding, if it is secret or wrong."""
    conditions, slug = statement.conditions, statement.suite.slug
    where = f"season {conditions.season}"
    data = next((one for one in document.suites if one.suite == slug), None)
    if data is None or data.commitment != conditions.commitment:
        told = data.commitment if data else "none"
        text = f"{where}: the site names another commitment than it signed"
        report.mismatch(_PART, text, expected=conditions.commitment, found=told)
        return ""
    if data.seed is None:
        report.note(_PART, f"{where} is not closed: its seed is secret, and its requests were not made again")
        return ""
    try:
        committed = commitment(seed=data.seed, season=conditions.season, suite=slug)
    except SeedError:
        report.mismatch(
            _PART, f"{where}: the published seed is no seed", expected="64 hexadecimal digits", found=data.seed
        )
        return ""
    if committed != conditions.commitment:
        text = f"{where}: the published seed does not fit the commitment"
        report.mismatch(_PART, text, expected=conditions.commitment, found=committed)
        return ""
    return data.seed
