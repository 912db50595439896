"""What the settings demand, seen from a new process."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

COMPLETE = {
    "DATABASE_URL": "postgresql://localhost/arena",
    "PLANARENA_SECRET_KEY": "s" * 50,
    "PLANARENA_ALLOWED_HOSTS": "arena.example.org",
    "EMAIL_HOST": "mail.example.org",
}


def read(environment: dict[str, str], expression: str = "''") -> subprocess.CompletedProcess[str]:
    program = f"import leaderboard.site.settings as s; print({expression})"
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)


def test_a_complete_environment_is_accepted(tmp_path):
    done = read({**COMPLETE, "PLANARENA_DATA": str(tmp_path)}, "s.DEBUG, s.DEMO, s.SESSION_COOKIE_SECURE")
    assert done.stdout.strip() == "False False True", done.stderr


@pytest.mark.parametrize("missing", COMPLETE)
def test_outside_demo_mode_a_missing_variable_is_named(missing):
    done = read({name: value for name, value in COMPLETE.items() if name != missing})
    assert done.returncode != 0
    assert f"{missing} is not set" in done.stderr.splitlines()[-1]


def test_a_site_needs_no_worker_token_of_its_own_and_takes_no_short_one(tmp_path):
    done = read({**COMPLETE, "PLANARENA_DATA": str(tmp_path)}, "repr(s.WORKER_TOKEN)")
    assert done.stdout.strip() == "''", done.stderr
    done = read({**COMPLETE, "PLANARENA_WORKER_TOKEN": "short"})
    assert "PLANARENA_WORKER_TOKEN is too short" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", ["PLANARENA_SECRET_KEY", "PLANARENA_SIGNING_KEY"])
def test_a_short_key_is_refused(name):
    done = read({**COMPLETE, name: "changeme"})
    assert f"{name} is too short" in done.stderr.splitlines()[-1]


_OF_PROXY = "s.SECURE_SSL_REDIRECT, s.ALLAUTH_TRUSTED_PROXY_COUNT, s.REST_FRAMEWORK['NUM_PROXIES']"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "False 0 0"),
        ({"PLANARENA_TRUST_PROXY": "1"}, "True 1 1"),
        ({"PLANARENA_TRUST_PROXY": "1", "PLANARENA_HTTPS": "0"}, "False 1 1"),
    ],
)
def test_a_proxy_s_word_counts_if_there_is_one_to_trust(given, told, tmp_path):
    done = read({**COMPLETE, **given, "PLANARENA_DATA": str(tmp_path)}, _OF_PROXY)
    assert done.stdout.strip() == told, done.stderr


def test_nothing_but_the_known_is_wanting_for_deployment(tmp_path):
    program = (
        "import django; django.setup(); from django.core.checks import run_checks;"
        "print(*sorted(one.id for one in run_checks(include_deployment_checks=True)))"
    )
    environment = {**COMPLETE, "PLANARENA_TRUST_PROXY": "1", "PLANARENA_SECRET_KEY": "0123456789abcdef" * 4}
    environment |= {"PLANARENA_DATA": str(tmp_path), "DJANGO_SETTINGS_MODULE": "leaderboard.site.settings"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    # What other names of the domain do, and whether it is known to browsers beforehand, is not ours to say.
    assert done.stdout.split() == ["security.W005", "security.W021"], done.stderr


def test_demo_mode_makes_its_own_secrets_and_keeps_them(tmp_path):
    environment = {"PLANARENA_DEMO": "1", "PLANARENA_DATA": str(tmp_path), "DATABASE_URL": COMPLETE["DATABASE_URL"]}
    first = read(environment, "s.SECRET_KEY, s.DEBUG")
    assert first.stdout == read(environment, "s.SECRET_KEY, s.DEBUG").stdout
    assert "False" in first.stdout


def test_every_variable_is_documented():
    from leaderboard.site import settings

    source = "".join(path.read_text() for path in Path(settings.__file__).parent.glob("*.py"))
    read_here = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', source))
    home = settings.BASE_DIR
    documented = (home / "README.md").read_text() + (home / "docs" / "operating.md").read_text()
    assert len(read_here) > 30
    assert [name for name in sorted(read_here) if f"`{name}" not in documented] == []


@pytest.mark.parametrize(
    ("variable", "value"), [("PLANARENA_EGRESS_PORTS", "http"), ("PLANARENA_EGRESS_PROXY", "socks5://proxy:1080")]
)
def test_rules_for_outgoing_calls_that_cannot_be_read_are_refused(variable, value):
    done = read({**COMPLETE, variable: value})
    assert done.returncode != 0
    assert variable in done.stderr.splitlines()[-1]


_OF_STORE = (
    "repr(s.STORE_URL), s.STORE_DIR.name, repr(s.STORE_ORIGIN), s.CONTENT_SECURITY_POLICY['DIRECTIVES']['img-src'][2:]"
)
_PUBLIC = {"PLANARENA_S3_PUBLIC_ENDPOINT": "https://s3.example.org"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "'' store '' []"),
        (_PUBLIC, "'' store '' []"),
        ({"PLANARENA_STORE": "s3://arena/site/"}, "'s3://arena/site' store '' []"),
        (
            {"PLANARENA_STORE": "s3://arena/site", **_PUBLIC},
            "'s3://arena/site' store 'https://s3.example.org' ['https://s3.example.org']",
        ),
    ],
)
def test_the_store_may_be_a_bucket_whose_pictures_the_policy_allows(given, told, tmp_path):
    done = read({**COMPLETE, **given, "PLANARENA_DATA": str(tmp_path)}, _OF_STORE)
    assert done.stdout.strip() == told, done.stderr


def test_a_bucket_at_the_site_s_own_address_is_refused(tmp_path):
    given = {"PLANARENA_STORE": "s3://arena/site", "PLANARENA_SITE_URL": "https://s3.example.org/", **_PUBLIC}
    done = read({**COMPLETE, **given, "PLANARENA_DATA": str(tmp_path)})
    assert "must have another host name than PLANARENA_SITE_URL" in done.stderr.splitlines()[-1]
