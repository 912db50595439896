"""The commands `planarena profiles ...`: the expert of each tool, and downloads of the papers' checkpoints."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import Listing, show_all
from evaluator.core.commands.options import JsonFlag, writable
from evaluator.core.commands.usage import log, out, print_json, usage_error

if TYPE_CHECKING:
    from evaluator.core.expert import ExpertSpec
    from evaluator.execution.experts.checkpoints import Checkpoint
    from evaluator.execution.experts.profile import Profile, ScorerSpec

_LOCK_SECRET = "PLANARENA_LOCK_KEY"  # noqa: S105 - the name of the variable
_SHORTEST_SECRET = 32
_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}

app = typer.Typer(no_args_is_help=True)

ProfileArgument = Annotated[str, typer.Argument(help="Name of the profile, for example paper.")]
CacheOption = Annotated[
    Path | None,
    typer.Option("--cache", help="Folder of the profile's weights; default: PLANARENA_WEIGHTS, else the data folder."),
]
OnlyOption = Annotated[str, typer.Option(help="Only these checkpoints, such as denoising,deblurring.")]


@app.command("list")
def list_profiles(as_json: JsonFlag = False) -> None:
    """List the profiles with their experts."""
    from evaluator.execution.experts.profile import profile_names

    profiles = [chosen_profile(name) for name in profile_names()]
    if as_json:
        print_json(
            [
                {
                    "name": profile.name,
                    "digest": profile.digest,
                    "experts": [
                        {"tool": spec.tool, "expert": spec.id, "weights_digest": _known(spec.weights_digest)}
                        for spec in profile.experts.values()
                    ],
                }
                for profile in profiles
            ]
        )
        return
    tables = []
    for profile in profiles:
        table = Listing("tool", "expert", "weights", title=f"profile {profile.name}")
        for tool, spec in profile.experts.items():
            table.add_row(tool, spec.id, _short(spec.weights_digest))
        tables.append(table)
    show_all(tables, console=out)


@app.command("show")
def show_profile(
    profile: ProfileArgument,
    cache: CacheOption = None,
    precision: Annotated[
        str | None, typer.Option(help="Override the precision of all experts, such as float32.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Print the models of a profile: source, licence, precision, and memory of the weights."""
    chosen = chosen_profile(profile, cache=cache, precision=precision)
    rows = [
        _model_json(spec, role=tool, precision=spec.precision, profile=chosen) for tool, spec in chosen.experts.items()
    ]
    rows += [
        _model_json(spec, role=f"{name} score", precision="float32", profile=chosen)
        for name, spec in chosen.scorers.items()
    ]
    if as_json:
        print_json(
            {"name": chosen.name, "digest": chosen.digest, "models": rows, "unavailable": dict(chosen.unavailable)}
        )
        return
    table = Listing("role", "model", "revision", "licence", "precision", "batch", "tolerance", "MB", "weights")
    for row in rows:
        memory = "" if row["weights_bytes"] is None else f"{row['weights_bytes'] / 1e6:.0f}"
        revision = (row["revision"] or "") + (" (lock)" if row["pinned_by"] == "lock" else "")
        weights = _short(row["weights_digest"])
        batch = f"{row['batch_size']}" + "".join(f" (1 on {kind})" for kind in row["alone"])
        tolerance = "" if row["tolerance"] is None else f"{row['tolerance']:g}"
        table.add_row(
            row["role"], row["model"], revision, row["licence"] or "", row["precision"], batch, tolerance, memory,
            weights,
        )  # fmt: skip
    table.show(out)
    for tool, why in chosen.unavailable.items():
        out.print(f"{tool}: no expert. {why}", markup=False, highlight=False)
    out.print(f"digest {chosen.digest}", highlight=False, soft_wrap=True)


def _model_json(spec: "ExpertSpec | ScorerSpec", *, role: str, precision: str, profile: "Profile") -> dict[str, Any]:
    """A model of a profile. `weights_bytes`: memory of the loaded weights; null for shipped models."""
    item = profile.checkpoints.get(spec.path.name)
    return {
        "role": role,
        "model": spec.id,
        "revision": item and (item.revision or "file"),
        "pinned_by": item and ("profile" if item.is_pinned else "lock"),
        "licence": item and item.licence,
        "precision": precision,
        "batch_size": spec.batch_size,
        "alone": list(getattr(spec, "alone", ())),
        "tolerance": getattr(spec, "tolerance", None),
        "weights_bytes": item and item.values * _BYTES[precision],
        "weights_digest": _known(spec.weights_digest),
    }


@app.command("fetch")
def fetch_profile(
    profile: ProfileArgument,
    cache: CacheOption = None,
    mirror: Annotated[
        Path | None, typer.Option("--from", help="Read the files from this folder instead of downloading them.")
    ] = None,
    only: OnlyOption = "",
    update: Annotated[bool, typer.Option("--update", help="Replace locked files by the downloaded ones.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the downloads, and whether they fit.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Download the released checkpoints of a profile, convert them to safetensors, verify and lock them."""
    from evaluator.execution.experts.checkpoints import FetchError, read_lock, weights_folder
    from evaluator.execution.experts.fetching import Fetcher

    chosen = chosen_profile(profile, cache=cache)
    names = _chosen(profile=chosen, only=only)
    folder = cache or weights_folder(profile)
    if dry_run:
        _list_downloads([chosen.checkpoints[name] for name in names], folder=folder, mirror=mirror, as_json=as_json)
        return
    fetcher = Fetcher(folder=folder, mirror=mirror, update=update, report=report_line)
    for name in names:
        item = chosen.checkpoints[name]
        try:
            locked = fetcher.fetch(item)
        except FetchError as error:
            raise usage_error(error) from None
        on_card = f", on its card {locked.licence}" if locked.licence else ""
        report_line(f"{name}: licence {item.licence}{on_card}")
    _report_unpinned(profile=chosen, names=names, folder=folder)
    if os.environ.get(_LOCK_SECRET):
        _sign(profile, folder=folder)
    else:
        report_line(
            f"the lock is not signed: `planarena profiles sign {profile}` signs it, as public rows of a site need"
        )
    if as_json:
        print_json([{"checkpoint": name, **read_lock(folder)[name].to_json()} for name in names])
        return
    out.print(f"{len(names)} checkpoints are in {folder}", markup=False, highlight=False, soft_wrap=True)


def _list_downloads(items: "list[Checkpoint]", *, folder: Path, mirror: Path | None, as_json: bool) -> None:
    """Print what a fetch would download. Exit code 1 if it does not fit on the disk.

    A hub that cannot be reached is asked once: the sizes of the rest are estimated.
    """
    import shutil

    from evaluator.execution.experts.checkpoints import FetchError
    from evaluator.execution.experts.fetching import need_of

    needs, problem = [], ""
    for item in items:
        try:
            need = need_of(item=item, folder=folder, mirror=mirror, asks_hub=not problem)
        except FetchError as error:
            raise usage_error(error) from None
        needs.append(need)
        problem = problem or need.problem
    rows: list[dict[str, Any]] = [
        {
            "checkpoint": need.item.name,
            "source": need.item.source,
            "pinned_by": "profile" if need.item.is_pinned else "lock",
            "licence": need.item.licence,
            "licence_on_card": need.licence,
            "format": need.layout or None,
            "is_there": need.is_there,
            "bytes": need.bytes,
            "is_estimate": not need.is_exact,
        }
        for need in needs
    ]
    total = sum(need.bytes for need in needs)
    # A checkpoint is converted or copied beside its download.
    needed = total + max(need.bytes for need in needs)
    free = shutil.disk_usage(next(path for path in (folder, *folder.absolute().parents) if path.is_dir())).free
    if as_json:
        print_json({"downloads": rows, "bytes": total, "bytes_of_disk": needed, "bytes_free": free})
    else:
        table = Listing("checkpoint", "source", "pinned by", "licence", "on its card", "format", "MB to download")
        for row in rows:
            size = f"{'about ' if row['is_estimate'] else ''}{row['bytes'] / 1e6:,.0f}"
            table.add_row(
                row["checkpoint"], row["source"], row["pinned_by"], row["licence"], row["licence_on_card"] or "",
                row["format"] or "", "there" if row["is_there"] else size,
            )  # fmt: skip
        table.show(out)
    if problem:
        report_line(f"{problem}. Sizes are estimated from the number of parameters.")
    report_line(
        f"{total / 1e9:,.1f} GB to download into {folder}, with {needed / 1e9:,.1f} GB of disk in use at most and "
        f"{free / 1e9:,.1f} GB free: it {'fits' if needed <= free else 'does not fit'}"
    )
    if needed > free:
        raise typer.Exit(ExitCode.CHECK_FAILED)


@app.command("memory")
def needed_memory(
    profile: ProfileArgument,
    budget: Annotated[str, typer.Option(help="Memory for loaded experts on a CPU, such as 20GB; none if empty.")] = "",
    as_json: JsonFlag = False,
) -> None:
    """Say how much memory a worker's container needs to load a profile, from its weights; they need not be fetched."""
    from evaluator.execution.engine.opening import parse_size
    from evaluator.execution.experts.host_memory import host_memory

    chosen = chosen_profile(profile)
    try:
        limit = parse_size(budget) if budget else None
    except ValueError as error:
        raise usage_error(error) from None
    needs = {device: host_memory(chosen, device=device, budget=limit) for device in ("cpu", "cuda")}
    if as_json:
        print_json({device: need.to_json() for device, need in needs.items()})
        return
    table = Listing("device", "process GB", "values GB", "networks GB", "resources.memory", title=f"profile {profile}")
    for device, need in needs.items():
        parts = (f"{part / 1e9:.1f}" for part in (need.process, need.values, need.networks))
        table.add_row(device, *parts, f"{need.total}Gi")
    table.show(out)


@app.command("sign")
def sign_profile(profile: ProfileArgument, cache: CacheOption = None) -> None:
    """Sign the lock file of a profile's fetched checkpoints with the key of PLANARENA_LOCK_KEY."""
    from evaluator.execution.experts.checkpoints import weights_folder

    _chosen(profile=chosen_profile(profile, cache=cache), only="")
    if not os.environ.get(_LOCK_SECRET):
        raise usage_error(f"{_LOCK_SECRET} is not set: it holds the secret of your key, at least 32 random characters")
    _sign(profile, folder=cache or weights_folder(profile))


def _sign(profile: str, *, folder: Path) -> None:
    """Sign the lock file, and say what a site needs to accept it."""
    from evaluator.execution.experts.checkpoints import FetchError
    from evaluator.execution.experts.signed_locks import SIGNATURE, sign_lock

    secret = os.environ[_LOCK_SECRET].strip()
    if len(secret) < _SHORTEST_SECRET:
        raise usage_error(f"{_LOCK_SECRET} has {len(secret)} characters; a secret has at least {_SHORTEST_SECRET}")
    try:
        key = sign_lock(profile=profile, folder=folder, secret=secret)
    except FetchError as error:
        raise usage_error(error) from None
    report_line(
        f"signed by key {key.id} in {folder / SIGNATURE}. Sites that name {key.text} in PLANARENA_LOCK_KEYS rank "
        "results of these checkpoints; they need lock.json and this file, no weights."
    )


@app.command("convert")
def convert_file(
    source: Annotated[Path, typer.Argument(help="A .pth, .pt or .bin file with parameters.")],
    target: Annotated[Path, typer.Argument(help="The safetensors file to write.", callback=writable)],
) -> None:
    """Convert a PyTorch checkpoint to safetensors. Refuses files that hold anything but tensors."""
    from evaluator.execution.experts.checkpoints import FetchError
    from evaluator.execution.experts.conversion import convert

    try:
        count = convert(source=source, target=target)
    except FetchError as error:
        raise usage_error(error) from None
    out.print(f"{target}: {count} tensors", markup=False, highlight=False, soft_wrap=True)


@app.command("verify")
def verify_profile(
    profile: ProfileArgument,
    cache: CacheOption = None,
    only: OnlyOption = "",
    load: Annotated[bool, typer.Option("--load", help="Also load every expert, one at a time.")] = False,
    device: Annotated[str, typer.Option(help="Torch device to load on.")] = "cpu",
) -> None:
    """Check the fetched files against the lock file. Exit code 1 if files are missing or damaged."""
    from evaluator.execution.experts.checkpoints import FetchError, weights_folder
    from evaluator.execution.experts.fetching import problem_of
    from evaluator.execution.experts.signed_locks import signer_of

    chosen = chosen_profile(profile, cache=cache)
    names = _chosen(profile=chosen, only=only)
    folder, damaged = cache or weights_folder(profile), False
    for name in names:
        try:
            problem = problem_of(item=chosen.checkpoints[name], folder=folder)
        except FetchError as error:
            raise usage_error(error) from None
        if problem is None and load:
            problem = _load_problem(profile=chosen, weights=name, device=device)
        damaged |= problem is not None
        out.print(f"{name}: {problem or 'as locked'}", markup=False, highlight=False, soft_wrap=True)
    _report_unpinned(profile=chosen, names=names, folder=folder)
    signer = signer_of(folder)
    report_line(f"the lock has a signature of key {signer}" if signer else "the lock is not signed")
    if damaged:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _report_unpinned(*, profile: "Profile", names: list[str], folder: Path) -> None:
    """Report the checkpoints that only the lock file pins: another machine may have fetched other bytes."""
    loose = [
        f"{name} ({profile.checkpoints[name].source})" for name in names if not profile.checkpoints[name].is_pinned
    ]
    if loose:
        report_line(
            f"not pinned by profile {profile.name}, only by {folder / 'lock.json'}: {', '.join(loose)}. "
            "Copy the lock file to every machine whose results you compare."
        )


def _load_problem(*, profile: "Profile", weights: str, device: str) -> str | None:
    """Why an expert with these weights cannot be loaded; None if it can, or if other weights that it needs are
    missing."""
    from evaluator.core.expert import ExpertError
    from evaluator.execution.experts.profile import load_expert
    from evaluator.execution.experts.weights import is_unfetched

    for spec in profile.experts.values():
        needed = {used.path.name: used.weights_digest for used in (spec, *spec.uses)}
        needed |= {spec.base.name: spec.base_digest} if spec.base else {}
        if weights in needed and not any(map(is_unfetched, needed.values())):
            try:
                load_expert(spec=spec, device=device)
            except (ExpertError, OSError, RuntimeError, ValueError, LookupError, ImportError) as error:
                return f"cannot be loaded: {error}"
    return None


def chosen_profile(name: str, *, cache: Path | None = None, precision: str | None = None) -> "Profile":
    from evaluator.execution.experts.profile import ProfileError, load_profile

    try:
        return load_profile(name, weights=cache, precision=precision)
    except ProfileError as error:
        raise usage_error(error) from None


def _chosen(*, profile: "Profile", only: str) -> list[str]:
    """Names of the selected checkpoints; all if `only` is empty."""
    if profile.checkpoints and profile.extends:
        raise usage_error(f"the weights of {profile.name} are those of {profile.extends}; name that profile")
    if not profile.checkpoints:
        raise usage_error(f"the weights of {profile.name} are shipped; there is nothing to fetch or verify")
    names = [name.strip() for name in only.split(",") if name.strip()]
    unknown = [name for name in names if name not in profile.checkpoints]
    if unknown:
        available = ", ".join(profile.checkpoints)
        raise usage_error(f"--only: profile {profile.name} has no checkpoint {unknown[0]!r}; there are: {available}")
    return names or list(profile.checkpoints)


def _known(digest: str) -> str | None:
    """A digest of weights; None for weights that were never fetched."""
    from evaluator.execution.experts.weights import is_unfetched

    return None if is_unfetched(digest) else digest


def _short(digest: str | None) -> str:
    return "not fetched" if digest is None or _known(digest) is None else digest[:12]


def report_line(line: str) -> None:
    log.print(line, markup=False, highlight=False, soft_wrap=True)
