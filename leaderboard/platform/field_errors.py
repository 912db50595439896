"""What is wrong with what somebody entered, by field."""

from collections.abc import Mapping


class FieldErrors(Exception):
    """Sentences by field, as forms and the API show them. Nothing was changed."""

    def __init__(self, errors: Mapping[str, list[str]]) -> None:
        self.errors = dict(errors)
        super().__init__("; ".join(f"{field}: {' '.join(texts)}" for field, texts in self.errors.items()))
