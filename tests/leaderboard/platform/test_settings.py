"""What the settings demand of an environment, and how it is read."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.exceptions import ImproperlyConfigured

from leaderboard import platform as site
from leaderboard.platform.environment import Environment, kept_secret, parse_database_url
from leaderboard.platform.vite import with_vite

ROOT = Path(__file__).resolve().parents[3]
COMPLETE = {
    "DATABASE_URL": "postgresql://localhost/arena",
    "PLANARENA_SECRET_KEY": "s" * 50,
    "PLANARENA_ALLOWED_HOSTS": "arena.example.org",
    "EMAIL_HOST": "mail.example.org",
}


PUBLIC = {"PLANARENA_S3_PUBLIC_ENDPOINT": "https://s3.example.org"}


@pytest.fixture
def read(monkeypatch, tmp_path):
    """The settings as a process with this environment reads them."""

    def settings(**environment: str) -> SimpleNamespace:
        with monkeypatch.context() as patched:
            patched.setattr(os, "environ", {"PLANARENA_DATA": str(tmp_path), **environment})
            # What others import from there stays the present one.
            patched.setattr(site, "settings", site.settings)
            for name in [name for name in sys.modules if name.startswith("leaderboard.platform.settings")]:
                patched.delitem(sys.modules, name)
            return SimpleNamespace(**vars(import_module("leaderboard.platform.settings")))

    return settings


def test_a_complete_environment_is_accepted(read):
    found = read(**COMPLETE)
    assert (found.DEBUG, found.DEMO, found.SESSION_COOKIE_SECURE, found.WORKER_TOKEN) == (False, False, True, "")


def test_what_is_missing_too_short_or_unreadable_is_named(read):
    refused = {f"{name} is not set": {name: ""} for name in COMPLETE}
    short = ("PLANARENA_WORKER_TOKEN", "PLANARENA_SECRET_KEY", "PLANARENA_SIGNING_KEY")
    refused |= {f"{name} is too short": {name: "changeme"} for name in short}
    refused |= {
        "PLANARENA_EGRESS_PORTS": {"PLANARENA_EGRESS_PORTS": "http"},
        "PLANARENA_EGRESS_PROXY": {"PLANARENA_EGRESS_PROXY": "socks5://proxy:1080"},
        "must have another host name than PLANARENA_SITE_URL": {
            "PLANARENA_STORE": "s3://arena/site", "PLANARENA_SITE_URL": "https://s3.example.org/", **PUBLIC
        },
    }  # fmt: skip
    for says, changed in refused.items():
        given = {name: value for name, value in {**COMPLETE, **changed}.items() if value}
        with pytest.raises(ImproperlyConfigured, match=says):
            read(**given)


def test_a_proxy_s_word_counts_if_there_is_one_to_trust(read):
    trust = {"PLANARENA_TRUST_PROXY": "1"}
    for given, told in (({}, (False, 0)), (trust, (True, 1)), ({**trust, "PLANARENA_HTTPS": "0"}, (False, 1))):
        found = read(**COMPLETE, **given)
        assert told == (found.SECURE_SSL_REDIRECT, found.ALLAUTH_TRUSTED_PROXY_COUNT)
        assert found.REST_FRAMEWORK["NUM_PROXIES"] == told[1]


@pytest.mark.full
def test_nothing_but_the_known_is_wanting_for_deployment(tmp_path):
    program = (
        "import django; django.setup(); from django.core.checks import run_checks;"
        "print(*sorted(one.id for one in run_checks(include_deployment_checks=True)))"
    )
    environment = {**COMPLETE, "PLANARENA_TRUST_PROXY": "1", "PLANARENA_SECRET_KEY": "0123456789abcdef" * 4}
    environment |= {"PLANARENA_DATA": str(tmp_path), "DJANGO_SETTINGS_MODULE": "leaderboard.platform.settings"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    # What other names of the domain do, and whether it is known to browsers beforehand, is not ours to say.
    assert done.stdout.split() == ["security.W005", "security.W021"], done.stderr


def test_demo_mode_makes_its_own_secrets_and_keeps_them(read):
    environment = {"PLANARENA_DEMO": "1", "DATABASE_URL": COMPLETE["DATABASE_URL"]}
    first = read(**environment)
    assert len(first.SECRET_KEY) >= 50
    assert (first.SECRET_KEY, first.DEBUG) == (read(**environment).SECRET_KEY, False)


def test_every_variable_is_documented():
    from leaderboard.platform import settings

    source = "".join(path.read_text() for path in Path(settings.__file__).parent.glob("*.py"))
    read_here = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', source))
    home = settings.BASE_DIR
    documented = (home / "README.md").read_text() + (home / "docs" / "settings.md").read_text()
    assert len(read_here) > 30
    assert [name for name in sorted(read_here) if f"`{name}" not in documented] == []


def test_the_store_may_be_a_bucket_whose_pictures_the_policy_allows(read):
    bucket, origin = "s3://arena/site", "https://s3.example.org"
    for given, told in (
        ({}, ("", "")),
        (PUBLIC, ("", "")),
        ({"PLANARENA_STORE": f"{bucket}/"}, (bucket, "")),
        ({"PLANARENA_STORE": bucket, **PUBLIC}, (bucket, origin)),
    ):
        found = read(**COMPLETE, **given)
        assert (found.STORE_URL, found.STORE_ORIGIN, found.STORE_DIR.name) == (*told, "store")
        pictures = found.CONTENT_SECURITY_POLICY["DIRECTIVES"]["img-src"][2:]
        assert list(pictures) == [text for text in told[1:] if text]


def test_a_database_url_becomes_djangos_settings():
    parsed = parse_database_url("postgresql://ada:p%40ss@db.example.org:5433/arena?sslmode=require")
    assert (parsed["NAME"], parsed["USER"], parsed["PASSWORD"]) == ("arena", "ada", "p@ss")
    assert (parsed["HOST"], parsed["PORT"], parsed["OPTIONS"]) == ("db.example.org", "5433", {"sslmode": "require"})
    assert parse_database_url("postgresql://postgres:@/postgres?host=/tmp/x")["HOST"] == "/tmp/x"
    for url, complaint in (
        ("mysql://localhost/arena", "PostgreSQL only"),
        ("sqlite:///db.sqlite3", "PostgreSQL only"),
        ("postgresql://localhost", "names no database"),
        ("postgresql://localhost/arena?sslmod=require", "'sslmod'"),
    ):
        with pytest.raises(ImproperlyConfigured, match=complaint):
            parse_database_url(url)


def test_variables_are_read_and_wrong_ones_named():
    for value, meant in (("1", True), ("true", True), ("0", False), ("", False), ("off", False)):
        assert Environment({"X": value}).flag("X", default=True) is meant
    with pytest.raises(ImproperlyConfigured, match="must be 1 or 0"):
        Environment({"X": "maybe"}).flag("X")
    for value in ("many", "-1", "0", "1.5"):
        with pytest.raises(ImproperlyConfigured, match="at least 1"):
            Environment({"X": value}).integer("X", default=3, least=1)
    with pytest.raises(ImproperlyConfigured, match="SECRET is not set: it is the key"):
        Environment({}).required("SECRET", purpose="the key")


def test_dois_belong_to_the_site_or_to_suites():
    def dois(text: str) -> dict[str, str]:
        return Environment({"DOI": text}).dois("DOI")

    assert dois("") == {}
    both = {"": "10.5281/zenodo.1", "openagi": "10.1000/a(b);c/d"}
    assert dois("10.5281/zenodo.1, openagi=10.1000/a(b);c/d") == both
    for wrong in (
        "https://doi.org/10.5281/zenodo.1",
        "openagi=",
        "=10.5281/zenodo.1",
        "10.5281/a{b}",
        "10.5281/a,10.5281/b",
    ):
        with pytest.raises(ImproperlyConfigured, match="DOI"):
            dois(wrong)


def test_a_kept_secret_stays_the_same_and_private(tmp_path):
    first = kept_secret(tmp_path / "folder" / "key")
    assert len(first) >= 50
    assert kept_secret(tmp_path / "folder" / "key") == first
    assert (tmp_path / "folder" / "key").stat().st_mode & 0o777 == 0o600


def test_a_size_is_read_in_bytes_and_a_wrong_one_is_named():
    assert Environment({"LIMIT": " 6GB "}).size("LIMIT") == 6 * 10**9
    assert Environment({"LIMIT": ""}).size("LIMIT") == 0
    with pytest.raises(ImproperlyConfigured, match="LIMIT is wrong: 'much' is no size"):
        Environment({"LIMIT": "much"}).size("LIMIT")


def test_a_choice_is_one_of_its_words_whatever_their_case():
    def read(value: str) -> str:
        return Environment({"X": value}).choice("X", default="latest", choices=("latest", "mean"))

    assert (read(""), read("Mean")) == ("latest", "mean")
    with pytest.raises(ImproperlyConfigured, match="X is 'best': it must be latest or mean"):
        read("best")


VITE = "http://127.0.0.1:5173"


def test_the_policy_lets_vite_in_and_nobody_else(settings):
    before = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    after = with_vite(before, origin=VITE)
    assert after["script-src"] == ["'self'", VITE]
    assert after["connect-src"] == ["'self'", VITE, "ws://127.0.0.1:5173"]
    assert after["font-src"] == ["'self'", VITE]
    for name in ("default-src", "object-src", "base-uri", "form-action", "frame-ancestors"):
        assert after[name] == list(before[name])
    assert "'unsafe-inline'" not in str(before)


def test_a_queue_process_loads_every_task_and_each_scheduled_one_exists():
    """In a process of its own: here the tests have imported what a room forgot to name."""
    program = (
        "import django; django.setup()\n"
        "from django.conf import settings\n"
        "from leaderboard.platform.celery import app\n"
        "app.loader.import_default_modules()\n"
        "print(*app.tasks, *(f'beat:{one[\"task\"]}' for one in settings.CELERY_BEAT_SCHEDULE.values()))"
    )
    variables = {"DJANGO_SETTINGS_MODULE": "tests.mypy_settings", "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    written = {
        f"{'.'.join(path.relative_to(ROOT).with_suffix('').parts)}.{name}"
        for path in (ROOT / "leaderboard").rglob("tasks.py")
        for name in re.findall(r"^@task\b[^\n]*\n(?:@[^\n]*\n)*def (\w+)", path.read_text(), re.M)
    }
    scheduled = {name.removeprefix("beat:") for name in loaded if name.startswith("beat:")}
    assert written
    assert scheduled
    assert (written - loaded, scheduled - loaded) == (set(), set())
