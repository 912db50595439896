"""Enrolment tokens without a site: remembers which were minted and which ended."""


class FakeEnrolments:
    """Mints `token-N`, or the one text that it is given."""

    def __init__(self, *, token: str = "") -> None:
        """Args:
        token: what every launch gets; empty: each gets one of its own.
        """
        self.minted: dict[str, str] = {}
        """The name of each launch or pool, by its token."""
        self.stale: set[str] = set()
        """Tokens that are to be renewed."""
        self.withdrawn: list[str] = []
        self._token = token

    def mint(self, *, name: str = "", pool: str = "") -> str:
        token = self._token or f"token-{len(self.minted) + 1}"
        self.minted[token] = name or pool
        return token

    def is_fresh(self, *, pool: str, token: str) -> bool:
        return self.minted.get(token) == pool and token not in self.stale

    def withdraw(self, token: str) -> None:
        self.withdrawn.append(token)
