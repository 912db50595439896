"""Registers what rooms call back."""

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules

from leaderboard.platform.http.collecting import look_seldom
from leaderboard.platform.http.converters import register_converters


class Wiring(AppConfig):
    """Starts with every process of the site."""

    name = "leaderboard.wiring"

    def ready(self) -> None:
        """Once all models are loaded: register callbacks and parts of addresses, and look for garbage again."""
        from leaderboard.wiring.callbacks import register

        register()
        autodiscover_modules("web.admin")
        register_converters()
        look_seldom()
