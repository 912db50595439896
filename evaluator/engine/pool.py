"""Loaded experts: each is loaded once, when first needed, and stays resident."""

from typing import Protocol

from evaluator.experts.profile import Profile, load_expert
from evaluator.experts.protocol import Expert, ExpertSpec


class Experts(Protocol):
    """Where the engine finds the expert of a tool."""

    def spec(self, tool: str) -> ExpertSpec:
        """The profile's line for a tool; LookupError if there is none."""
        ...

    def expert(self, tool: str) -> Expert:
        """The loaded expert for a tool."""
        ...


class ExpertPool:
    """Keeps the experts of one profile loaded across shards."""

    def __init__(self, *, profile: Profile, device: str = "cpu") -> None:
        self.profile = profile
        self.device = device
        self._loaded: dict[str, Expert] = {}

    def spec(self, tool: str) -> ExpertSpec:
        """The profile's line for a tool.

        Raises:
            LookupError: the profile has no expert for it.
        """
        try:
            return self.profile.experts[tool]
        except KeyError:
            raise LookupError(f"profile {self.profile.name} has no expert for {tool}") from None

    def expert(self, tool: str) -> Expert:
        """The loaded expert for a tool."""
        if tool not in self._loaded:
            self._loaded[tool] = load_expert(spec=self.spec(tool), device=self.device)
        return self._loaded[tool]
