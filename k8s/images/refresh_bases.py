"""Update the digests of base images to those of their tags.

    .venv/bin/python k8s/images/refresh_bases.py            change the files
    .venv/bin/python k8s/images/refresh_bases.py --check    list outdated files; exit code 1 if there are any

Needs docker with buildx and network access. Review the change: it replaces the operating system of the images.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = (
    ROOT / "images" / "web.Dockerfile",
    ROOT / "images" / "worker.Dockerfile",
    ROOT / "compose.gpu.yaml",
    ROOT / "chart" / "values.yaml",
)
_IMAGE = re.compile(r"(?P<tagged>[\w./-]+:[\w.-]+)@(?P<digest>sha256:[0-9a-f]{64})")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class LookupFailedError(Exception):
    """A digest could not be looked up; the message is a sentence."""


def refreshed(text: str, *, digest_of: Callable[[str], str]) -> str:
    """A file's text with current digests.

    Args:
        text: with images as `name:tag@sha256:...`.
        digest_of: returns the digest of `name:tag`.
    """
    return _IMAGE.sub(lambda match: f"{match['tagged']}@{digest_of(match['tagged'])}", text)


def ask_registry(tagged: str) -> str:
    """The digest of the multi-platform index.

    Raises:
        LookupFailedError: docker failed.
    """
    command = ["docker", "buildx", "imagetools", "inspect", tagged, "--format", "{{.Manifest.Digest}}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - fixed images
    except OSError as error:
        raise LookupFailedError(f"docker could not be started ({error})") from None
    digest = done.stdout.strip()
    if done.returncode or not _DIGEST.fullmatch(digest):
        raise LookupFailedError(f"the digest of {tagged} could not be looked up: {done.stderr.strip()[:300]}")
    return digest


def main(arguments: Sequence[str], *, digest_of: Callable[[str], str] = ask_registry) -> int:
    """Run the command and return the exit code."""
    parser = argparse.ArgumentParser(description="Refresh the digests of base images.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 if a digest is outdated")
    options = parser.parse_args(arguments)
    try:
        texts = {path: refreshed(path.read_text(), digest_of=digest_of) for path in FILES}
    except LookupFailedError as error:
        sys.stderr.write(f"{error}.\n")
        return 2
    changed = [path for path, text in texts.items() if text != path.read_text()]
    for path in changed:
        sys.stdout.write(f"{path.relative_to(ROOT.parent)}\n")
        if not options.check:
            path.write_text(texts[path])
    return 1 if changed and options.check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
