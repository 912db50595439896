"""Registers what rooms call back."""

from django.apps import AppConfig

from leaderboard.site.http.collecting import look_seldom
from leaderboard.site.http.converters import register_converters


class Wiring(AppConfig):
    """Starts with every process of the site."""

    name = "leaderboard.wiring"

    def ready(self) -> None:
        """Once all models are loaded: register callbacks and parts of addresses, and look for garbage again."""
        from leaderboard.wiring.callbacks import register

        register()
        register_converters()
        look_seldom()
