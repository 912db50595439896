"""The runbook has a section for each alert, and its conditions use metrics that the site gives."""

import re

import promql_parser
import pytest

from leaderboard.docs_pages.chapters import DOCS
from leaderboard.monitoring.figures import DatabaseFigures
from tests.leaderboard.monitoring.promql import faults, given_series, parsed

TEXT = (DOCS / "runbook.md").read_text()
ALERTS = re.findall(r"^\| \[(\w+)\]\(#(\w+)\) \| `([^`]+)` \|", TEXT, re.MULTILINE)


def test_each_alert_has_a_section_with_steps_and_each_section_an_alert():
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE))
    assert [name for name, _, _ in ALERTS] == list(sections)
    assert all(anchor == name.lower() for name, anchor, _ in ALERTS)
    assert all(re.search(r"^1\. ", steps, re.MULTILINE) for steps in sections.values())


@pytest.mark.django_db
@pytest.mark.usefixtures("everything")
def test_conditions_use_metrics_labels_and_values_that_exist():
    given = given_series()
    assert ALERTS
    for name, _, condition in ALERTS:
        text = condition.replace(r"\|", "|")
        assert list(faults(text, given)) == [], name
        # What is true of every series would always alert.
        expression = promql_parser.parse(text)
        is_absence = isinstance(expression, promql_parser.Call) and expression.func.name == "absent"
        assert is_absence or str(expression.op) in {"==", ">", "<", "and", "or"}, name


@pytest.mark.django_db
@pytest.mark.usefixtures("own_store", "file_broker")
def test_a_site_on_which_nothing_has_happened_gives_every_series_that_alerts_look_at():
    """Nothing alerts of a series that is not there: but for `SiteDown`, by which there is no process at all."""
    there = {sample.name for family in DatabaseFigures(cache_seconds=0).collect() for sample in family.samples}
    measured = {"up"} | {name for name in parsed_names() if name.startswith(MEASURED)}
    assert parsed_names() - there == measured
    assert ALERTS[0][::2] == ("SiteDown", 'absent(up{job=~"planarena.*"} == 1)')


MEASURED = ("planarena_request_seconds", "planarena_database_")
"""By each process, of its own requests."""


def parsed_names() -> set[str]:
    return set().union(*(parsed(condition.replace(r"\|", "|")).names for _, _, condition in ALERTS))


@pytest.mark.django_db
@pytest.mark.usefixtures("everything")
def test_a_condition_with_a_fault_is_found():
    given = given_series()
    for text, fault in {
        'max(planarena_attempts{state="lost"}) > 5': "planarena_attempts does not exist",
        'max(planarena_attempts_total{state="gone"}) > 5': "planarena_attempts_total has no state=gone",
        'max(planarena_attempts_total{kind="lost"}) > 5': "planarena_attempts_total has no label kind",
        "max by (view) (planarena_shards) > 5": "no series has the label view",
    }.items():
        assert list(faults(text, given)) == [fault]
    with pytest.raises(ValueError, match="expected type matrix"):
        list(faults("rate(planarena_shards) > 1", given))
