"""Lines to paste that use a token: with curl, in a CI workflow, and with the Python client."""

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from evaluator.core.suites.registry import default_suite
from leaderboard.people.models import Scope

PLACEHOLDER = "pa_..."
"""Stands for a token that is not shown any more."""


class Lines(NamedTuple):
    """Text to paste."""

    key: str
    title: str
    about: str
    text: str


def lines_for(
    *, site: str, name: str = "", token: str = PLACEHOLDER, scopes: Sequence[str] = (Scope.READ, Scope.SUBMIT)
) -> list[Lines]:
    """The lines for a token.

    Args:
        site: address of the site, without a slash at the end.
        name: of the token; printable, on one line.
        token: the secret, right after it was created.
        scopes: of the token. Without `submit` the lines only read.
    """
    suite = default_suite(executes=False)
    metric = next((column for column in suite.metrics if column.primary), suite.metrics[0]).key

    def filled(text: str) -> str:
        return text.replace("SITE", site).replace("SUITE", suite.slug).replace("METRIC", metric)

    comment = f"# Token: {name}\n" if name else ""
    exports = f"{comment}export PLANARENA_URL={shlex.quote(site)}\nexport PLANARENA_TOKEN={token}\n"
    submits = Scope.SUBMIT in scopes
    curl = "Submits an endpoint." if submits else "Lists your evaluations."
    python = "Needs PlanArena's wheel with the extra client."
    workflow = (
        "Store the token as the secret PLANARENA_TOKEN of the repository, and the address of PlanArena's wheel as its "
        "variable PLANARENA_WHEEL. Then commit this as .github/workflows/planner.yml."
    )
    return [
        Lines("shell", "Environment", "curl and Python below read these variables.", exports),
        Lines("curl", "curl", curl, filled(_CURL[submits])),
        *([Lines("ci", "GitHub Actions", workflow, filled(_CI))] if submits else []),
        Lines("python", "Python", python, filled(_PYTHON[submits])),
    ]


_CURL = {
    True: """curl "$PLANARENA_URL/api/v1/submissions/" \\
  -H "Authorization: Bearer $PLANARENA_TOKEN" -H "Content-Type: application/json" \\
  -d '{"planner": {"name": "my-planner", "kind": "endpoint", "endpoint_url": "https://example.org/plan"},
       "suites": ["SUITE"]}'
""",
    False: """curl "$PLANARENA_URL/api/v1/evaluations/?mine=true" -H "Authorization: Bearer $PLANARENA_TOKEN"
""",
}
_CI = """name: planner
on: push
jobs:
  evaluate:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/setup-python@v5
        with: {python-version: "3.11"}
      - run: pip install "planarena[client] @ ${{ vars.PLANARENA_WHEEL }}"
      - run: >
          planarena submit --name "${GITHUB_REPOSITORY##*/}" --planner https://example.org/plan --suite SUITE
          --idempotency-key "$GITHUB_REPOSITORY-$GITHUB_RUN_ID" --wait --fail-under METRIC=0.40
        env:
          PLANARENA_URL: SITE
          PLANARENA_TOKEN: ${{ secrets.PLANARENA_TOKEN }}
"""
_PYTHON = {
    True: """from uuid import uuid4

from evaluator.client import Client, NewSubmission, PlannerEntry

with Client.from_environment() as client:
    planner = PlannerEntry.endpoint("https://example.org/plan", name="my-planner")
    made = client.submit(NewSubmission(planner=planner, suites=["SUITE"]), key=str(uuid4()))
    for evaluation in made.evaluations:
        print(evaluation.url)
""",
    False: """from evaluator.client import Client

with Client.from_environment() as client:
    for suite in client.suites():
        print(suite.slug, suite.title)
""",
}
