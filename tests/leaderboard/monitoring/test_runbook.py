"""The runbook has a section for each alert, and its conditions use metrics that the site gives."""

import re

import pytest

from leaderboard.docs_pages.chapters import DOCS
from leaderboard.monitoring.figures import DatabaseFigures
from leaderboard.monitoring.requests import REGISTRY

TEXT = (DOCS / "runbook.md").read_text()
ALERTS = re.findall(r"^\| \[(\w+)\]\(#(\w+)\) \| `([^`]+)` \|", TEXT, re.MULTILINE)


def test_each_alert_has_a_section_with_steps_and_each_section_an_alert():
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE))
    assert [name for name, _, _ in ALERTS] == list(sections)
    assert all(anchor == name.lower() for name, anchor, _ in ALERTS)
    assert all(re.search(r"^1\. ", steps, re.MULTILINE) for steps in sections.values())


@pytest.mark.django_db
@pytest.mark.usefixtures("own_store")
def test_conditions_use_metrics_and_states_that_exist():
    given = {}
    for family in [*DatabaseFigures().collect(), *REGISTRY.collect()]:
        for sample in family.samples:
            given.setdefault(sample.name, set()).add(sample.labels.get("state"))
        given.setdefault(f"{family.name}_bucket", set())
    for _, _, condition in ALERTS:
        for name, state in re.findall(r'(planarena_\w+)(?:\{state="(\w+)")?', condition):
            assert name in given, name
            assert not state or state in given[name], (name, state)
