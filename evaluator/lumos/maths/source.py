"""The released files of GSM8K and SVAMP in LUMOS's version, pinned but not included.

They are files of github.com/allenai/lumos, folder `data/eval`. Both data sets have the MIT licence.
"""

from evaluator.network.released_files import PublicFile, Release

_COMMIT = "146dd9d"
_BASE = f"https://raw.githubusercontent.com/allenai/lumos/{_COMMIT}/data/eval"
GSM8K, SVAMP = "gsm8k_test.jsonl", "svamp_test.json"

RELEASE = Release(
    name="lumos",
    origin="https://github.com/allenai/lumos",
    commit=_COMMIT,
    files=(
        PublicFile(
            name=GSM8K, base=_BASE, served_as="gsm/test.jsonl", bytes=749_738,
            sha256="3730d312f6e3440559ace48831e51066acaca737f6eabec99bccb9e4b3c39d14",
        ),
        PublicFile(
            name=SVAMP, base=_BASE, served_as="svamp/test.json", bytes=339_970,
            sha256="5be77703a6d891ae476d7c082787ad361392aa02453b132516cdd5f4e7934e3e",
        ),
    ),
)  # fmt: skip
