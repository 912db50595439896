"""A real file system with little room."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def small_disk(*, mount_point: Path, size: str = "256k") -> Iterator[Path]:
    """A tmpfs of so many bytes. It is mounted in a namespace of its own, where that takes no privileges, and reached
    through the process that holds it."""
    mount_point.mkdir(parents=True)
    script = 'mount -t tmpfs -o size="$2" tmpfs "$1" && echo mounted && exec cat'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", str(mount_point), size]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "mounted\n"
        yield Path(f"/proc/{holder.pid}/root") / mount_point.relative_to("/")
        holder.communicate()


def fill(folder: Path) -> Path:
    """Take all the room that a small disk has left; delete the file to make room again."""
    path = folder / "ballast"
    with path.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return path
