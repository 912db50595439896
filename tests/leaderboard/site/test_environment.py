"""Reading the environment."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from leaderboard.site.environment import Environment, kept_secret, parse_database_url


def test_a_database_url_becomes_djangos_settings():
    parsed = parse_database_url("postgresql://ada:p%40ss@db.example.org:5433/arena?sslmode=require")
    assert parsed["NAME"] == "arena"
    assert parsed["USER"] == "ada"
    assert parsed["PASSWORD"] == "p@ss"
    assert (parsed["HOST"], parsed["PORT"]) == ("db.example.org", "5433")
    assert parsed["OPTIONS"] == {"sslmode": "require"}


def test_a_socket_folder_is_taken_from_the_query():
    assert parse_database_url("postgresql://postgres:@/postgres?host=/tmp/x")["HOST"] == "/tmp/x"


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("mysql://localhost/arena", "PostgreSQL only"),
        ("sqlite:///db.sqlite3", "PostgreSQL only"),
        ("postgresql://localhost", "names no database"),
        ("postgresql://localhost/arena?sslmod=require", "'sslmod'"),
    ],
)
def test_a_wrong_database_url_is_refused_with_what_would_be_right(url, complaint):
    with pytest.raises(ImproperlyConfigured, match=complaint):
        parse_database_url(url)


def test_a_missing_variable_is_named_with_its_purpose():
    with pytest.raises(ImproperlyConfigured, match="SECRET is not set: it is the key"):
        Environment({}).required("SECRET", purpose="the key")


@pytest.mark.parametrize(("value", "meant"), [("1", True), ("true", True), ("0", False), ("", False), ("off", False)])
def test_flags(value, meant):
    assert Environment({"X": value}).flag("X", default=True) is meant


def test_a_flag_that_is_neither_yes_nor_no_is_refused():
    with pytest.raises(ImproperlyConfigured, match="must be 1 or 0"):
        Environment({"X": "maybe"}).flag("X")


@pytest.mark.parametrize("value", ["many", "-1", "0", "1.5"])
def test_a_number_out_of_range_is_refused(value):
    with pytest.raises(ImproperlyConfigured, match="at least 1"):
        Environment({"X": value}).integer("X", default=3, least=1)


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
