"""Test calls: a planner answers one task before it is submitted, and the answer is judged."""

from dataclasses import dataclass

from evaluator.network.secret_header import SecretHeader


@dataclass(frozen=True, slots=True)
class ChatTrialSettings:
    """Strategy, model and address of a test call of a chat endpoint. Light to import."""

    url: str
    model: str
    strategy: str
    timeout_seconds: float = 30.0
    """For each call of the model."""
    api: str = "auto"
    """`auto`, `chat`, `responses` or `messages`."""
    reasoning_effort: str = ""
    answer_tokens: int | None = None
    streamed: bool = False
    allow_private: bool = False
    header: SecretHeader | None = None
