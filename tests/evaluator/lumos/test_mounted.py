"""Suites whose files an operator mounts or fetches are unavailable without them, and say what belongs where."""

import pytest

from evaluator.core.suites.registry import forget, suite_names, suite_of
from evaluator.episodes.base import SettingError, episode_of
from evaluator.lumos.mounted import VARIABLE

NAMED = {
    "a-okvqa": r"/a-okvqa/.* is missing. Mount ",
    "scienceqa": r"/scienceqa/.* is missing. Mount ",
    "mind2web": r"steps.jsonl is missing. Mount .*lumos mind2web",
    "hotpotqa": r"suites fetch lumos-questions",
    "strategyqa": r"suites fetch lumos-questions",
}


@pytest.mark.parametrize("slug", NAMED)
def test_without_files_a_suite_is_unavailable_and_says_what_belongs_where(slug, monkeypatch, tmp_path):
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path))
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    forget()
    assert slug not in suite_names()
    with pytest.raises(LookupError, match=f"{slug} is unavailable: .*{NAMED[slug]}"):
        suite_of(slug)
    with pytest.raises(SettingError, match=r"is missing|suites fetch"):
        episode_of(slug).rules_digest("paper")
