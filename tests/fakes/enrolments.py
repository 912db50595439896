"""Enrolment tokens without a site: remembers which were minted and which ended."""

from collections.abc import Mapping


class FakeEnrolments:
    """Mints `token-N`, or the one text that it is given."""

    def __init__(self, *, token: str = "", covers: Mapping[str, str] | None = None) -> None:
        """Args:
        token: what every launch gets; empty: each gets one of its own.
        covers: what evaluations are covered by; those that are missing by "all".
        """
        self.minted: dict[str, tuple[str, str]] = {}
        """Evaluation and name of each launch, by its token."""
        self.extended: list[str] = []
        self.withdrawn: list[str] = []
        self._token = token
        self._covers = covers or {}

    def covers(self, evaluation_id: str) -> str:
        return self._covers.get(evaluation_id, "all")

    def mint(self, *, evaluation_id: str, name: str) -> str:
        token = self._token or f"token-{len(self.minted) + 1}"
        self.minted[token] = (evaluation_id, name)
        return token

    def extend(self, *, evaluation_id: str) -> None:
        self.extended.append(evaluation_id)

    def withdraw(self, token: str) -> None:
        self.withdrawn.append(token)
