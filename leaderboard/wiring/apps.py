"""Registers what rooms call back."""

from django.apps import AppConfig


class Wiring(AppConfig):
    """Starts with every process of the site."""

    name = "leaderboard.wiring"

    def ready(self) -> None:
        """Register the callbacks, once all models are loaded."""
        from leaderboard.wiring.callbacks import register

        register()
