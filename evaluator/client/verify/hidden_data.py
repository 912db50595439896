"""Checks of a season's hidden data: the published seed against the signed commitment, the requests and samples
generated from it, the results withheld until it is published, and the signed announcements.

Each announcement names every suite of the season with the commitment to its seed. The last one of each season is
pinned, so that everybody who verified the site before notices an exchanged commitment or a rewritten announcement. All
published seeds are compared with the announced commitments.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from pydantic import AwareDatetime, Field, SerializerFunctionWrapHandler, model_serializer

from evaluator.client.verify.documents import MalformedError, Page, parsed
from evaluator.client.verify.fetching import FetchError, MissingError
from evaluator.client.verify.pins import Head, KnownSite
from evaluator.client.verify.report import Kind, Report
from evaluator.client.verify.site import Site
from evaluator.client.verify.trust import Trust
from evaluator.core.signatures.documents import Served
from evaluator.core.signatures.envelope import Envelope, EnvelopeError, open_envelope
from evaluator.core.signatures.statements import Conditions, Digest, SeasonStatement, SnapshotStatement
from evaluator.core.suites.hidden import HIDDEN, HiddenSeed, SeedError, commitment
from evaluator.core.suites.sealed import LONGEST_TEXT, SealedRequest

if TYPE_CHECKING:
    from evaluator.client.verify.regenerating import Regenerated

_Text = Annotated[str, Field(max_length=1000)]
_SEASON = "season"
_LARGEST_SEASON = 1024 * 1024
"""Bytes."""


class SeasonDataDocument(Served):
    """A suite's hidden data in a season."""

    suite: _Text
    commitment: Digest
    seed: _Text | None
    sealed: Annotated[int, Field(ge=0, le=10**9)] = 0
    sealed_digest: Digest | None = None

    @model_serializer(mode="wrap")
    def _without_none_sealed(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without these fields if the site has none of them: it is from before there were sealed requests."""
        written: dict[str, Any] = write(self)
        return {name: value for name, value in written.items() if name in self.model_fields_set}


class SealedRequestDocument(Served):
    """A sealed request of a closed season."""

    text: Annotated[str, Field(max_length=LONGEST_TEXT)]
    goal: Annotated[str, Field(max_length=LONGEST_TEXT)]
    credit: _Text
    licence: _Text


class SealedRequestsDocument(Served):
    """`/api/v1/seasons/<name>/sealed/<suite>/`"""

    requests: Annotated[list[SealedRequestDocument], Field(max_length=100_000)]


class SeasonDocument(Served):
    """`/api/v1/seasons/<name>/`"""

    name: _Text
    announced: AwareDatetime
    opens: AwareDatetime
    closes: AwareDatetime | None
    closed: AwareDatetime | None
    announcements: Annotated[list[Envelope], Field(max_length=1000)]
    """The oldest first."""
    suites: Annotated[list[SeasonDataDocument], Field(max_length=1000)]


class _SeasonPage(Page):
    """One page of the list of seasons."""

    results: list[SeasonDocument]


def regenerated(*, statement: SnapshotStatement, site: Site, report: Report) -> "Regenerated | None":
    """Check the season of a snapshot. None on open data, and where its requests cannot be made again."""
    conditions = statement.conditions
    if not conditions.season:
        return None
    where = f"season {conditions.season}"
    try:
        document = _season(conditions.season, site=site)
    except (MissingError, FetchError, MalformedError) as error:
        report.not_checked(_SEASON, f"{where}: {error}")
        return None
    seed = _published_seed(document=document, statement=statement, site=site, report=report)
    if seed is None:
        return None
    try:
        # Loaded here: verifying any other board needs less than a suite does.
        from evaluator.client.verify.regenerating import OtherSuiteError, made_again
    except ImportError as error:
        report.not_checked(_SEASON, f"{where}: its data are made by what `planarena[plans]` installs ({error})")
        return None
    try:
        data, digest = made_again(statement=statement, seed=seed)
    except OtherSuiteError as error:
        report.not_checked(_SEASON, f"{where}: its data cannot be made here: {error}")
        return None
    if digest != conditions.data_digest:
        text = f"{where}: the data that follow from the published seed are not those of the board"
        report.mismatch(_SEASON, text, expected=conditions.data_digest, found=digest)
        return None
    beside = f", {len(seed.sealed)} sealed requests included" if seed.sealed else ""
    text = f"{where}: the published seed fits its commitment, and its requests and data were made again{beside}"
    report.ok(_SEASON, text)
    return data


def in_words(conditions: Conditions) -> str:
    """The season of a board, after a comma; empty for open data."""
    return f", season {conditions.season}" if conditions.season else ""


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
        suites = _season(conditions.season, site=site).suites if conditions.season else []
    except (FetchError, MalformedError) as error:
        report.not_checked("results", f"{text}, and season {conditions.season} cannot be read: {error}")
        return
    data = next((data for data in suites if data.suite == statement.suite.slug), None)
    if data is None or data.seed is not None:
        report.not_checked("results", f"{text}, though no season is open")
        return
    bound = f"{many}: results of single tasks are signed, and shown when season {conditions.season} closes"
    report.note("results", f"{bound}; figures and ranges of ranks were not computed again")


def _published_seed(
    *, document: SeasonDocument, statement: SnapshotStatement, site: Site, report: Report
) -> HiddenSeed | None:
    """The seed of the board's suite with its sealed requests; None, with a finding, if it is secret or wrong."""
    conditions, slug = statement.conditions, statement.suite.slug
    where = f"season {conditions.season}"
    data = next((data for data in document.suites if data.suite == slug), None)
    if data is None or data.commitment != conditions.commitment:
        named = data.commitment if data else "none"
        text = f"{where}: the site names another commitment than it signed"
        report.mismatch(_SEASON, text, expected=conditions.commitment, found=named)
        return None
    if data.seed is None:
        report.note(_SEASON, f"{where} is not closed: its seed is secret, and its requests were not made again")
        return None
    try:
        sealed = _sealed(data, season=conditions.season, site=site) if data.sealed else ()
    except (MissingError, FetchError, MalformedError) as error:
        report.not_checked(_SEASON, f"{where}: its sealed requests cannot be read: {error}")
        return None
    seed = HiddenSeed(data.seed, season=conditions.season, sealed=sealed)
    try:
        committed = seed.commitment(slug)
    except SeedError:
        report.mismatch(
            _SEASON, f"{where}: the published seed is no seed", expected="64 hexadecimal digits", found=data.seed
        )
        return None
    if committed != conditions.commitment:
        what = f"seed and the {len(sealed)} sealed requests do" if sealed else "seed does"
        text = f"{where}: the published {what} not fit the commitment"
        report.mismatch(_SEASON, text, expected=conditions.commitment, found=committed)
        return None
    return seed


def _sealed(data: SeasonDataDocument, *, season: str, site: Site) -> tuple[SealedRequest, ...]:
    path = f"/api/v1/seasons/{quote(season, safe='')}/sealed/{quote(data.suite, safe='')}/"
    found = parsed(site.file(path), shape=SealedRequestsDocument).requests
    return tuple(SealedRequest(text=request.text, goal=request.goal) for request in found)


def _season(name: str, *, site: Site) -> SeasonDocument:
    path = f"/api/v1/seasons/{quote(name, safe='')}/"
    return parsed(site.file(path, most_bytes=_LARGEST_SEASON), shape=SeasonDocument)


def _pages(site: Site) -> Iterator[_SeasonPage]:
    return site.pages("/api/v1/seasons/", query={"page_size": "50"}, shape=_SeasonPage, what="seasons")


_ANNOUNCEMENT = "announcement"


def check_announcements(
    *, statement: SnapshotStatement, site: Site, trust: Trust, known: KnownSite, report: Report
) -> KnownSite:
    """Check the announcements of every season of a site, and that of the board's season against the board.

    Args:
        statement: of the snapshot that is verified.
        known: pins of the site.

    Returns:
        The pins with the last announcement of each season.
    """
    try:
        documents = [document for page in _pages(site) for document in page.results]
    except (FetchError, MalformedError) as error:
        report.not_checked(_ANNOUNCEMENT, f"the list of seasons: {error}")
        return known
    heads, signed = dict(known.seasons), 0
    for gone in sorted(known.seasons.keys() - {document.name for document in documents}):
        report.mismatch(
            _ANNOUNCEMENT, f"season {gone} is not listed any more", expected="its announcement", found="none"
        )
    for document in documents:
        before = len(report.of(Kind.MISMATCH))
        chain = _chain(document, trust=trust, report=report)
        _check_known(document.name, chain=chain, known=known.seasons.get(document.name), report=report)
        if chain:
            _check_document(document, announced=chain[-1][0], report=report)
        if chain and len(report.of(Kind.MISMATCH)) == before:
            signed += 1
            heads[document.name] = Head(number=chain[-1][0].number, statement=chain[-1][1])
        if document.name == statement.conditions.season:
            _check_board(chain=[announcement for announcement, _ in chain], statement=statement, report=report)
    if signed:
        many = "1 season" if signed == 1 else f"{signed} seasons"
        report.ok(_ANNOUNCEMENT, f"{many}: announced with signed commitments to the seeds of all suites")
    return known.model_copy(update={"seasons": heads})


def _chain(document: SeasonDocument, *, trust: Trust, report: Report) -> list[tuple[SeasonStatement, str]]:
    """The statements of a season's announcements with their digests, as far as each follows from the one before."""
    chain: list[tuple[SeasonStatement, str]] = []
    where = f"season {document.name}"
    for number, envelope in enumerate(document.announcements, start=1):
        try:
            # A key that is not trusted, such as one from before the given key, suffices where a later announcement by
            # a trusted one names this one by its digest.
            statement = open_envelope(envelope, expected=SeasonStatement, keys={**trust.listed, **trust.keys})
        except EnvelopeError as error:
            text = f"{where}: announcement {number} {error}"
            report.mismatch(_ANNOUNCEMENT, text, expected="a valid statement", found=envelope.key_id)
            break
        last = chain[-1] if chain else None
        facts = (statement.season, statement.number, statement.previous)
        expected = (document.name, number, None if last is None else last[1])
        if facts != expected:
            text = f"{where}: announcement {number} does not follow from the one before it"
            report.mismatch(_ANNOUNCEMENT, text, expected=expected, found=facts)
            break
        key = trust.trusted.get(statement.key)
        if statement.key != envelope.key_id or (key is not None and not key.covers(statement.signed)):
            text = f"{where}: announcement {number} was signed when its key was not in use"
            report.mismatch(_ANNOUNCEMENT, text, expected=statement.key, found=statement.signed)
        if last is not None and (changed := _changed(before=last[0], after=statement)):
            text = f"{where}: announcement {number} changes the commitment of {changed}"
            report.mismatch(
                _ANNOUNCEMENT, text, expected=_of(last[0])[changed], found=_of(statement).get(changed, "none")
            )
        chain.append((statement, envelope.digest))
    if chain and chain[-1][0].key not in trust.trusted:
        report.not_checked(
            _ANNOUNCEMENT, f"{where}: its announcement is signed by {chain[-1][0].key}, which is not trusted"
        )
        return []
    return chain


def _changed(*, before: SeasonStatement, after: SeasonStatement) -> str:
    """The first suite whose commitment is another one than before; empty if there is none."""
    now = _of(after)
    return next((suite for suite, committed in _of(before).items() if now.get(suite) != committed), "")


def _check_known(
    season: str, *, chain: Sequence[tuple[SeasonStatement, str]], known: Head | None, report: Report
) -> None:
    if known is None:
        return
    digests = {statement.number: digest for statement, digest in chain}
    if digests.get(known.number) != known.statement:
        text = f"season {season}: announcement {known.number} is not what it was when it was verified here"
        report.mismatch(_ANNOUNCEMENT, text, expected=known.statement, found=digests.get(known.number, "none"))


def _check_document(document: SeasonDocument, *, announced: SeasonStatement, report: Report) -> None:
    """Compare what the site shows of a season, and the seeds that it published, with what it announced."""
    where, signed = f"season {document.name}", _of(announced)
    shown = {data.suite: data.commitment for data in document.suites}
    for suite in sorted(signed.keys() | shown.keys()):
        if signed.get(suite) != shown.get(suite):
            text = f"{where}: the commitment of {suite} is not the announced one"
            report.mismatch(_ANNOUNCEMENT, text, expected=signed.get(suite, "none"), found=shown.get(suite, "none"))
    counts = {data.suite: data.sealed for data in document.suites}
    for named in announced.suites:
        if counts.get(named.suite, named.sealed) != named.sealed:
            text = f"{where}: the site names another number of sealed requests of {named.suite} than it announced"
            report.mismatch(_ANNOUNCEMENT, text, expected=named.sealed, found=counts[named.suite])
    for what in ("announced", "opens", "closes"):
        if getattr(document, what) != getattr(announced, what):
            text = f"{where}: the site shows another time than it announced ({what})"
            report.mismatch(_ANNOUNCEMENT, text, expected=getattr(announced, what), found=getattr(document, what))
    for data in document.suites:
        if (data.seed is None) != (document.closed is None):
            text = f"{where}: the seed of {data.suite} is public exactly while the season is not closed"
            report.mismatch(_ANNOUNCEMENT, text, expected="a seed once it is closed", found=data.seed or "none")
        if data.seed is None or data.suite not in signed:
            continue
        try:
            digest = data.sealed_digest or ""
            committed = commitment(seed=data.seed, season=document.name, suite=data.suite, sealed=digest)
        except SeedError:
            text = f"{where}: what was published for {data.suite} is no seed"
            report.mismatch(_ANNOUNCEMENT, text, expected="64 hexadecimal digits", found=data.seed)
            continue
        if committed != signed[data.suite]:
            text = f"{where}: the published seed of {data.suite} does not fit the announced commitment"
            report.mismatch(_ANNOUNCEMENT, text, expected=signed[data.suite], found=committed)


def _check_board(*, chain: Sequence[SeasonStatement], statement: SnapshotStatement, report: Report) -> None:
    """Check that the board uses the announced data, and that the announcement precedes the board."""
    conditions, slug = statement.conditions, statement.suite.slug
    where = f"season {conditions.season}"
    first = next((announcement for announcement in chain if slug in _of(announcement)), None)
    if first is None:
        report.not_checked(_ANNOUNCEMENT, f"{where}: no signed announcement names {slug}")
        return
    if _of(first)[slug] != conditions.commitment:
        text = f"{where}: the board is of other data than announced"
        report.mismatch(_ANNOUNCEMENT, text, expected=_of(first)[slug], found=conditions.commitment)
    elif first.signed > statement.signed:
        report.note(
            _ANNOUNCEMENT, f"{where}: its announcement was signed {first.signed:%Y-%m-%d %H:%M} UTC, after the board"
        )


def _of(statement: SeasonStatement) -> dict[str, str]:
    return {data.suite: data.commitment for data in statement.suites}
