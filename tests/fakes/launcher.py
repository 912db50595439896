"""A launcher that starts nothing and says what the test told it."""

from gpu_jobs.launchers.base import LaunchError, Liveness


class FakeLauncher:
    """Remembers what it was asked; `dead` names the handles whose workers are gone."""

    def __init__(self) -> None:
        self.ensured: list[str] = []
        self.dead: dict[str, str] = {}
        self.living: set[str] = set()
        self.refusal = ""
        self.stopped: list[str] = []
        self.kept_ready = 0

    def ensure_any(self) -> None:
        """Does nothing."""

    def keep_ready(self) -> None:
        self.kept_ready += 1

    def ensure(self, *, evaluation_id: str) -> str:
        if self.refusal:
            raise LaunchError(self.refusal)
        self.ensured.append(evaluation_id)
        handle = f"fake-{len(self.ensured)}"
        self.living.add(handle)
        return handle

    def alive(self, *, handle: str) -> Liveness:
        if handle in self.dead:
            return Liveness(alive=False, reason=self.dead[handle])
        return Liveness(alive=True if handle in self.living else None)

    def stop_one(self, *, handle: str) -> None:
        self.stop(handle=handle)

    def stop_if_over(self, *, handle: str) -> None:
        self.stop(handle=handle)

    def stop(self, *, handle: str) -> None:
        self.living.discard(handle)
        self.stopped.append(handle)


_LAUNCHER = FakeLauncher()


def fake_launcher() -> FakeLauncher:
    """The launcher of the running test."""
    return _LAUNCHER


def reset_launcher() -> FakeLauncher:
    """Forget what earlier tests did."""
    _LAUNCHER.__init__()
    return _LAUNCHER
