"""Enrolment tokens without a site: remembers which were minted and which ended."""


class FakeEnrolments:
    """Mints `token-N`, or the one text that it is given."""

    def __init__(self, *, token: str = "") -> None:
        """Args:
        token: what every launch gets; empty: each gets one of its own.
        """
        self.minted: dict[str, tuple[str, str]] = {}
        """Evaluation and name of each launch, by its token."""
        self.extended: list[str] = []
        self.withdrawn: list[str] = []
        self._token = token

    def mint(self, *, evaluation_id: str, name: str) -> str:
        token = self._token or f"token-{len(self.minted) + 1}"
        self.minted[token] = (evaluation_id, name)
        return token

    def extend(self, *, evaluation_id: str) -> None:
        self.extended.append(evaluation_id)

    def withdraw(self, token: str) -> None:
        self.withdrawn.append(token)
