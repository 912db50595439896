"""What a personal token is good for. Whoever uses the site itself is not bound by these."""

from collections.abc import Collection, Sequence

from django.db import models


class Scope(models.TextChoices):
    """One thing that a token may do; its label says it to people."""

    READ = "read", "Read everything that you can see"
    SUBMIT = "submit", "Submit, resume, accept, cancel and re-run evaluations"
    MANAGE = "manage", "Manage teams, webhooks, worker tokens and API tokens"


DEFAULT_SCOPES: Sequence[Scope] = (Scope.READ, Scope.SUBMIT)
"""What a pipeline needs."""


def check_scopes(scopes: Collection[str]) -> dict[str, list[str]]:
    """What is wrong with the scopes of a new token, by field; empty if nothing is."""
    if unknown := [scope for scope in scopes if scope not in Scope.values]:
        return {"scopes": [f"There is no scope {unknown[0]!r}; there are: {', '.join(Scope.values)}."]}
    return {} if scopes else {"scopes": [f"Choose at least one of: {', '.join(Scope.values)}."]}
