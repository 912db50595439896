"""How a chat endpoint is tested. Light to import."""

from dataclasses import dataclass

from evaluator.network.secret_header import SecretHeader


@dataclass(frozen=True, slots=True)
class ChatTrialSettings:
    """Which strategy asks which model where."""

    url: str
    model: str
    strategy: str
    timeout_seconds: float = 30.0
    """For each call of the model."""
    allow_private: bool = False
    header: SecretHeader | None = None
