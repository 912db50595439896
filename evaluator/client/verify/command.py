"""The command `planarena verify`."""

import json
import secrets
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluator.client.errors import UsageError
from evaluator.client.verify.report import Report
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.options import JsonFlag

SAMPLE = 20
_SEED_BITS = 32

_SAMPLE, _OFFLINE, _TRUST = "Sample of records", "Without a connection", "What you trust"
_STUDIES = "Registered studies"


def verify(
    url: Annotated[
        str,
        typer.Argument(
            metavar="[URL]",
            help="Of a board or of one of its snapshots, or a folder of registered studies; not needed with --offline.",
        ),
    ] = "",
    sample: Annotated[
        int | None,
        typer.Option(
            min=0,
            help=f"Records to read, with their artefacts; default: {SAMPLE}.",
            rich_help_panel=_SAMPLE,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Draws the same sample again; default: a new one.",
            rich_help_panel=_SAMPLE,
        ),
    ] = None,
    download: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write all that was read, for --offline.",
            rich_help_panel=_OFFLINE,
        ),
    ] = None,
    offline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Check a file of --download, without any connection.", rich_help_panel=_OFFLINE
        ),
    ] = None,
    key: Annotated[
        str,
        typer.Option(
            metavar="KEY",
            help="The operator's public key (base64) or its id; default: the pinned one.",
            rich_help_panel=_TRUST,
        ),
    ] = "",
    head: Annotated[
        str,
        typer.Option(
            metavar="NUMBER:DIGEST",
            help="The newest snapshot in another reader's report: it must be in the history.",
            rich_help_panel=_TRUST,
        ),
    ] = "",
    documents: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Of a folder of studies: Markdown files with their tables.", rich_help_panel=_STUDIES
        ),
    ] = None,
    as_json: JsonFlag = False,
    patience: Annotated[float, typer.Option(min=0, help="Seconds for which a failed request is tried again.")] = 60.0,
) -> None:
    """Check that a board is what its operator signed: history, rows, figures, what pages, files and API show of it, the
    digests of all records, and a random sample of the records themselves.

    Given a folder instead of an address, it checks the registered studies in it, as `planarena study verify` does.

    The key of a site is pinned when it is first verified. Exit codes: 0 verified, 1 something differs from what was
    signed, 2 bad usage, 4 could not be checked (unreachable, unsigned, unknown key).
    """
    try:
        report = (
            _verified_studies(folder=Path(url), documents=documents, key=key.strip())
            if _is_folder(url)
            else _verified(
                url=url, sample=sample, seed=seed, download=download, offline=offline, key=key.strip(),
                head=head.strip(), patience=patience,
            )
        )  # fmt: skip
    except UsageError as error:
        sys.stderr.write(f"planarena: {error}\n")
        raise typer.Exit(ExitCode.BAD_USAGE) from None
    except KeyboardInterrupt:
        sys.stderr.write("planarena: interrupted\n")
        raise typer.Exit(ExitCode.INFRASTRUCTURE) from None
    sys.stdout.write(json.dumps(report.as_json(), indent=1) + "\n" if as_json else report.as_text())
    raise typer.Exit(report.exit_code)


def _is_folder(url: str) -> bool:
    return bool(url) and "://" not in url and Path(url).is_dir()


def _verified_studies(*, folder: Path, documents: Path | None, key: str) -> Report:
    from evaluator.client.verify.studies import check_studies

    report = Report(address=str(folder))
    check_studies(folder=folder, documents=documents, key=key, report=report)
    return report


def _verified(
    *, url: str, sample: int | None, seed: int | None, download: Path | None, offline: Path | None, key: str,
    head: str, patience: float,
) -> Report:  # fmt: skip
    # Loaded here: cryptography and numpy take longer than the other commands of this client.
    from evaluator.client.verify.checking import Order, check
    from evaluator.client.verify.fetching import FetchError, FileFetcher, RecordingFetcher, SiteFetcher
    from evaluator.client.verify.pins import Head, known_sites_file, read_site, write_site
    from evaluator.client.verify.site import Site, board_address

    if bool(url) == bool(offline):
        raise UsageError("give the address of a board, or --offline FILE")
    if offline and download:
        raise UsageError("--download needs an address: it writes what is read from the site")
    try:
        file = FileFetcher(offline) if offline else None
    except FetchError as error:
        raise UsageError(str(error)) from None
    facts = _facts(file.facts if file else {})
    address = board_address(facts["address"] if file else url)
    order = Order(
        address=address,
        sample=facts["sample"] if sample is None else sample,
        seed=facts["seed"] if seed is None else seed,
        key=key,
        first_use=file is None,
        head=Head.from_text(head) if head else None,
    )
    site_fetcher = SiteFetcher(site=address.site, patience=patience)
    recording = RecordingFetcher(site_fetcher)
    pins = known_sites_file()
    known = read_site(file=pins, site=address.site)
    report = Report(address=facts["address"] if file else url)
    try:
        after = check(order=order, site=Site(file or recording), known=known, report=report, tell=_tell)
    finally:
        site_fetcher.close()
        _tell("")
    if download is not None:
        try:
            recording.write(download, facts={"address": url, "sample": order.sample, "seed": order.seed})
        except OSError as error:
            raise UsageError(f"{download} cannot be written: {error}") from None
    if file is None and after != known:
        write_site(file=pins, site=address.site, known=after)
    return report


def _facts(found: dict[str, Any]) -> dict[str, Any]:
    """What was asked for when a file was downloaded, or the defaults."""
    address, sample, seed = found.get("address", ""), found.get("sample", SAMPLE), found.get("seed")
    if not isinstance(address, str) or not isinstance(sample, int) or not (seed is None or isinstance(seed, int)):
        raise UsageError("the file does not say which board was downloaded")
    # Drawn here and not by the site, after it has shown the signed results: it cannot know which records are read.
    return {"address": address, "sample": sample, "seed": secrets.randbits(_SEED_BITS) if seed is None else seed}


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text and f'planarena: {text}'}\r")
        sys.stderr.flush()
