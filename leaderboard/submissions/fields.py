"""What is entered of a submission besides its planner, each value defined once (`platform/fields.py`)."""

from typing import Any

from django import forms

from leaderboard.catalog.hidden_data import DATA_FIELDS
from leaderboard.evaluations.models import AskedAgain, SubmitterPriority, Visibility
from leaderboard.platform.fields import Choice, Field, Moment, Text, Tick

PRIORITIES = {choice.name.lower(): choice for choice in SubmitterPriority}
"""What users write for their own order."""

TEAM = Text(
    "team",
    label="For whom?",
    noun="team",
    help="Slug of a team of yours that it is for: charged for it too, and its members may act on it.",
    page_help="Counts towards the team's quota and yours. The team's members can manage it.",
    example="plan-lab",
)
PRIORITY = Choice(
    "priority",
    label="Priority",
    noun="priority",
    help="Among your own evaluations. Does not affect other users.",
    default="normal",
    example="normal",
    choices=[
        ("high", "High: before my other evaluations"),
        ("normal", "Normal"),
        ("low", "Low: after my other evaluations"),
    ],
    api_choices=[(name, name) for name in PRIORITIES],
)
OWN_WORKER = Tick(
    "own_worker",
    label="Run on my self-hosted worker",
    noun="own worker",
    help="Evaluated only by workers with one of your worker tokens. It is then marked, and ranked when a worker of "
    "this site has run a sample of the tasks again and agrees.",
    page_help="",
    example=False,
)
DETERMINISTIC = Tick(
    "deterministic",
    label="My planner is deterministic",
    noun="determinism",
    help="Declares that the planner answers the same request alike in every run. It is then asked again for a few "
    "tasks only, and a different answer contradicts the claim on the board. Without it, planners of which this site "
    "does not know whether they sample are asked three times for a random tenth of the tasks.",
    page_help="",
    example=False,
)
ASKED_AGAIN = Choice(
    "asked_again",
    label="Asked again for",
    noun="share of tasks that are asked again",
    help="For how many of its tasks, drawn at random, the planner is asked twice more: `tenth`, which each evaluation "
    "includes; `half`, which counts as one more evaluation; or `all`, as two more.",
    page_help="Drawn at random when the first run has ended; the planner is asked twice more for them.",
    default=AskedAgain.TENTH.value,
    example=AskedAgain.TENTH.value,
    choices=[
        (AskedAgain.TENTH.value, "A tenth of the tasks, included in every evaluation"),
        (AskedAgain.HALF.value, "Half of the tasks: counts as one more evaluation"),
        (AskedAgain.ALL.value, "All tasks: counts as two more evaluations"),
    ],
    api_choices=AskedAgain.choices,
)
VISIBILITY = Choice(
    "visibility",
    label="Who sees it?",
    noun="visibility",
    help="Who sees it: everybody, only you, your team and staff (`private`), or these until a date (`embargo`). Only "
    "what is public is on boards.",
    page_help="",
    default=Visibility.PUBLIC.value,
    example=Visibility.PUBLIC.value,
    choices=[
        (Visibility.PUBLIC.value, "Public: ranked when it is completed"),
        (Visibility.EMBARGO.value, "Embargo: only you, your team and the operators until a date, then public"),
        (Visibility.PRIVATE.value, "Private: only you, your team and the operators; not on boards"),
    ],
    api_choices=Visibility.choices,
    widget=forms.RadioSelect,
)
EMBARGO_UNTIL = Moment(
    "embargo_until",
    label="End of the embargo (UTC)",
    noun="end of the embargo",
    help="With `embargo`, when it ends: at most a year from now. It is public and ranked by itself then.",
    page_help="At most a year from now. The submission then becomes public and is ranked; you can end the embargo "
    "earlier.",
    example=None,
)

VERSION = Text(
    "version",
    label="Version",
    noun="version",
    help="Of the planner, such as a commit: at most 80 characters. A board shows the runs of its latest version.",
    page_help="Such as a commit. Versions of one planner share its row on a board, which shows the latest.",
    example="3f2a9c1",
    longest=80,
)

BESIDE_THE_PLANNER: tuple[Field[Any], ...] = (
    TEAM,
    VERSION,
    *DATA_FIELDS,
    PRIORITY,
    OWN_WORKER,
    DETERMINISTIC,
    ASKED_AGAIN,
    VISIBILITY,
    EMBARGO_UNTIL,
)
"""All but the planner and the suites."""
