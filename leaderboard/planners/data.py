"""What a user enters of a planner."""

from dataclasses import dataclass, field

Errors = dict[str, list[str]]
"""What is wrong with what was entered: sentences by field; empty if nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerData:
    """A planner as a user enters it, not checked yet. Fields that its kind does not use stay empty."""

    name: str
    kind: str
    bundled_name: str = ""
    endpoint_url: str = ""
    timeout_seconds: int = 30
    model_id: str = ""
    """For `hub`: `ORG/NAME`; for `chat`: the model as requests name it."""
    revision: str = ""
    """For `hub`: a branch, a tag or a commit; empty: `main`."""
    checkpoint_digest: str = ""
    """For `checkpoint`: SHA-256 of the zip that its owner uploaded."""
    plans_digest: str = ""
    """For `plans`: digest of the plans file that its owner uploaded (`plans_files.keep`)."""
    header_name: str = ""
    """For `endpoint` and `chat`: a header with a secret that it asks for; empty: none, or the one that is kept."""
    header_value: str = field(default="", repr=False)
    """Never shown again. Empty, with the name of the header that is kept: that one."""
    remove_header: bool = False
    """Forget the header that is kept."""
    strategy: str = ""
    """For `hub`, `checkpoint` and `chat`: what asks the language model."""
    description: str = ""
    model_name: str = ""
    """What its owner declares, as the four below: see `declared.py`."""
    parameters: int | None = None
    open_weights: bool | None = None
    prompt_price: float | None = None
    """US dollars for a million tokens of prompts."""
    completion_price: float | None = None
    """The same for answers."""
