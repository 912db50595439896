"""Exit codes of a model server in its own container, read by the launcher."""

from enum import IntEnum


class Ending(IntEnum):
    """How it ends. None of them is a failure of its pod: the cluster starts a fresh server (`SERVED`), or goes on with
    the container that comes next (`RECEIVED`)."""

    RECEIVED = 0
    """The files are there, and nothing else was asked for."""
    SERVED = 64
    """A worker was served, well or badly, and is gone."""
