"""Registers what rooms call back."""

from django.apps import AppConfig

from leaderboard.site.http.collecting import look_seldom


class Wiring(AppConfig):
    """Starts with every process of the site."""

    name = "leaderboard.wiring"

    def ready(self) -> None:
        """Register the callbacks, once all models are loaded, and look for garbage again."""
        from leaderboard.wiring.callbacks import register

        register()
        look_seldom()
