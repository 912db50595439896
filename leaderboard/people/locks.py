"""Locks on rows, held until the end of a transaction."""

from leaderboard.people.models import User


def lock_owner(owner: User) -> None:
    """Until the end of the transaction nobody else adds to what the user has, so that it can be counted."""
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)
