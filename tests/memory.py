"""What a process of the site remembers of what never changes, forgotten: as if it had just been started."""

from leaderboard.platform.lru_cache import clear_all


def forget_everything() -> None:
    """Empty the memories of this process."""
    clear_all()
