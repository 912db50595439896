"""What a process of the site remembers of what never changes, forgotten: as if it had just been started."""

from leaderboard.boards.keeping import forget_all
from leaderboard.evaluations.presenters import forget_gathered
from leaderboard.evaluations.task_rows import forget_rows


def forget_everything() -> None:
    """Empty the memories of this process."""
    forget_all()
    forget_rows()
    forget_gathered()
