"""Registers callbacks between rooms, and path converters."""

from uuid import UUID

from django.apps import AppConfig
from django.urls import register_converter
from django.utils.module_loading import autodiscover_modules

from leaderboard.platform.http.collecting import look_seldom


class IdConverter:
    """A UUID in either case. Django's own converter accepts lower case only."""

    regex = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"

    def to_python(self, value: str) -> UUID:
        return UUID(value)

    def to_url(self, value: object) -> str:
        return str(value).lower()


class NumberConverter:
    """A number from 0. Django's own converter accepts more digits than Python parses or a column stores."""

    regex = "[0-9]{1,9}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: object) -> str:
        return str(value)


def register_converters() -> None:
    """Register `<id:...>` and `<number:...>`."""
    register_converter(IdConverter, "id")
    register_converter(NumberConverter, "number")


class Wiring(AppConfig):
    """Initialises every process of the site."""

    name = "leaderboard.wiring"

    def ready(self) -> None:
        """Once all models are loaded: register callbacks and converters, and resume garbage collection."""
        from leaderboard.wiring.callbacks import register

        register()
        autodiscover_modules("web.admin")
        register_converters()
        look_seldom()
