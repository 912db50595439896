"""The site's access to the real `evaluator` package."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from evaluator.experts.profile import load_profile
from leaderboard.catalog.library import AddressRefusedError, Library, NotReadyError


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/", "http://localhost:8000/plan", "http://10.1.2.3/", "http://169.254.169.254/", "http://[::1]/"],
)
def test_loopback_and_private_addresses_are_refused_outside_demo_mode(url):
    with pytest.raises(AddressRefusedError):
        Library().check_endpoint(url=url, allow_private=False, caller="")
    Library().check_endpoint(url=url, allow_private=True, caller="")


def test_what_cannot_run_follows_from_suite_and_profile(monkeypatch):
    asked = {"suite": "openagi", "profile": "lilliput", "split": "public"}
    assert Library().not_run_reasons(**asked) == {}
    whole = load_profile("lilliput")
    fewer = {tool: spec for tool, spec in whole.experts.items() if tool != "Image Captioning"}
    monkeypatch.setattr("evaluator.experts.profile.load_profile", lambda name: replace(whole, experts=fewer))
    reasons = Library().not_run_reasons(**asked)
    assert 0 < len(reasons) < 185
    assert all(text.endswith(".") for _, text in reasons.values())


def test_a_profile_that_is_not_there_is_said_in_a_sentence():
    with pytest.raises(NotReadyError, match="no profile 'unheard-of'"):
        Library().rules_digest(suite="openagi", profile="unheard-of")


def test_submitting_loads_no_torch(tmp_path):
    program = (
        "import sys; import tests.settings; import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings';"
        "import django; django.setup();"
        "from leaderboard.catalog.library import Library; library = Library();"
        "library.rules_digest(suite='openagi', profile='lilliput');"
        "library.check_endpoint(url='https://1.1.1.1/', allow_private=False, caller='');"
        "library.not_run_reasons(suite='openagi', profile='lilliput', split='public');"
        "library.summarise(suite='openagi', results=[], samples=1);"
        "print('torch' in sys.modules)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
