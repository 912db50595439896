"""The released files of GSM8K and SVAMP, as LUMOS evaluates on them: pinned, and no part of this repository.

They are files of github.com/allenai/lumos, folder `data/eval`. Both data sets have the MIT licence.
"""

from pathlib import Path

from evaluator.suites.released_files import PublicFile, Release

COMMIT = "146dd9d"
GSM8K, SVAMP = "gsm8k_test.jsonl", "svamp_test.json"
_ADDRESS = f"https://raw.githubusercontent.com/allenai/lumos/{COMMIT}/data/eval"

RELEASE = Release(
    name="lumos",
    part="maths",
    origin=f"https://github.com/allenai/lumos at {COMMIT}",
    files=(
        PublicFile(
            name=GSM8K,
            url=f"{_ADDRESS}/gsm/test.jsonl",
            sha256="3730d312f6e3440559ace48831e51066acaca737f6eabec99bccb9e4b3c39d14",
            bytes=749_738,
        ),
        PublicFile(
            name=SVAMP,
            url=f"{_ADDRESS}/svamp/test.json",
            sha256="5be77703a6d891ae476d7c082787ad361392aa02453b132516cdd5f4e7934e3e",
            bytes=339_970,
        ),
    ),
)


def fetched_folder() -> Path | None:
    """The folder with the fetched files, all there and undamaged, or None; `RELEASE.problem()` says why."""
    return RELEASE.folder() if RELEASE.problem() is None else None
