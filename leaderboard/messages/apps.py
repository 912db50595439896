"""The label of the room, since Django's own messages have its name."""

from django.apps import AppConfig


class Messages(AppConfig):
    """Tables are `outbox_*`."""

    name = "leaderboard.messages"
    label = "outbox"
