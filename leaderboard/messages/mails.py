"""Which mails a user gets."""

from leaderboard.people.models import Mails, User
from leaderboard.platform.problems import FieldErrors


def choose_mails(*, user: User, mails: str) -> None:
    """Set of what the user gets mails, from the next one on.

    Raises:
        FieldErrors: there is no such choice.
    """
    if mails not in Mails.values:
        raise FieldErrors({"mails": [f"Choose one of {', '.join(Mails.values)}."]})
    user.mails = mails
    user.save(update_fields=["mails"])
