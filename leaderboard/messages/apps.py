"""App configuration. The label differs from the package's name, which is that of Django's messages app."""

from django.apps import AppConfig


class Messages(AppConfig):
    """Tables are `outbox_*`."""

    name = "leaderboard.messages"
    label = "outbox"
