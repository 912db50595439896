"""What parts of addresses are: ids in upper or lower case, and numbers that a database column has room for."""

from uuid import UUID

from django.urls import register_converter


class IdConverter:
    """A UUID. Django's own converter takes lower case only, so that an id copied from elsewhere was not found."""

    regex = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"

    def to_python(self, value: str) -> UUID:
        return UUID(value)

    def to_url(self, value: object) -> str:
        return str(value).lower()


class NumberConverter:
    """A number from 0. Django's own converter takes any number of digits, more than Python reads or a column holds."""

    regex = "[0-9]{1,9}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: object) -> str:
        return str(value)


def register_converters() -> None:
    """As `<id:...>` and `<number:...>`."""
    register_converter(IdConverter, "id")
    register_converter(NumberConverter, "number")
