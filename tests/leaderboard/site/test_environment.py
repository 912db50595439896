"""Reading the environment."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from leaderboard.site.environment import Environment, kept_secret, parse_database_url


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
