"""The phase that a worker is in, which it reports with its heartbeats."""

from gpu_jobs.contract.attempt import Phase


class CurrentPhase:
    """The phase that one thread enters and another one, which sends heartbeats, reads. It only goes forward."""

    def __init__(self) -> None:
        self.now = Phase.PREPARING

    def begin(self) -> None:
        """A new attempt begins."""
        self.now = Phase.PREPARING

    def enter(self, phase: Phase) -> None:
        """Go on to a phase; nothing happens if it is the present one or an earlier one."""
        if self.now in phase.before():
            self.now = phase
