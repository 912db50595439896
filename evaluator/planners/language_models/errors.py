"""Why there is no language model. A module of its own, since `local` loads torch."""


class ModelError(Exception):
    """A language model cannot be had; the message is a sentence for who named it."""


class ModelUnusableError(ModelError):
    """It cannot be had by anybody, as it is: no other machine, and no later try, would do better."""
