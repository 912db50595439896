"""Snapshots as files, without a database."""

import csv
import io
import json
from datetime import UTC, datetime

import yaml

from leaderboard.boards.citing import Citation, as_bibtex, as_cff, as_csl
from leaderboard.boards.contents import BoardContent
from leaderboard.boards.exports import Exported, as_csv, as_json, as_parquet, board_as_bibtex, citation_of_row
from leaderboard.boards.models import Snapshot
from leaderboard.catalog.models import Suite
from leaderboard.platform.http.downloads import PARQUET_METADATA
from tests.leaderboard.boards.rows import METRICS, row, usage
from tests.leaderboard.evaluations.results.files import read_table


def board(*rows: dict) -> Exported:
    suite = Suite(slug="openagi", title="OpenAGI", version="1", digest="5" * 64, metrics=METRICS)
    snapshot = Snapshot(
        suite=suite, profile="lilliput", profile_digest="ab" * 32, split="public", samples=8, number=12,
        digest="c" * 64, created=datetime(2026, 11, 20, tzinfo=UTC),
    )  # fmt: skip
    address, site = "https://arena.example/boards/openagi/snapshots/12/", "https://arena.example"
    coverage = {"run": 3, "total": 5}
    snapshot.stored = {"rows": list(rows), "coverage": coverage, "summary": {"leaders": 0}}
    content = BoardContent(rows=rows, coverage=coverage, summary=None)
    return Exported(snapshot=snapshot, address=address, site=site, content=content)


def lines(exported: Exported) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(as_csv(exported))))


def test_every_line_of_a_csv_says_what_was_measured_and_under_what():
    [line] = lines(board(row("gold", overall=0.25, **usage(1.5, 12.0))))
    assert line["planner"] == "gold"
    assert (line["overall_mean"], line["overall_low"], line["IR_mean"]) == ("0.25", "", "")
    assert (line["seconds_per_task"], line["prompt_tokens_per_task"]) == ("1.5", "12.0")
    assert (line["snapshot"], line["snapshot_digest"]) == ("12", "c" * 64)
    assert line["evaluation"].startswith("https://arena.example/evaluations/")


def test_a_csv_says_the_share_of_readable_replies_and_nothing_where_it_is_not_known():
    known, unknown = lines(board(row("new", readable={"mean": 0.5, "low": 0.1, "high": 0.9, "tasks": 4}), row("old")))
    assert (known["readable_mean"], known["readable_tasks"], unknown["readable_mean"]) == ("0.5", "4", "")


def test_a_csv_says_the_cost_and_from_which_declared_prices_it_follows():
    cost = {"usd": 0.00125, "prompt_price": 2.5, "completion_price": 10.0}
    known = row("paid", model_name="Qwen3-8B", parameters=8 * 10**9, open_weights=True, cost=cost, declared=True)
    paid, free = lines(board(known, row("gold")))
    assert (paid["model_name"], paid["parameters"], paid["open_weights"]) == ("Qwen3-8B", "8000000000", "True")
    assert (paid["usd_per_task"], paid["usd_per_million_prompt_tokens"]) == ("0.00125", "2.5")
    assert (paid["declared"], free["declared"]) == ("True", "False")
    assert free["usd_per_task"] == free["model_name"] == ""


def test_no_text_of_a_csv_is_taken_for_a_formula_and_negative_numbers_stay_numbers():
    for name in ("=1+1", "+1", "-1", "@sum", "\tx", "\rx", '=HYPERLINK("http://evil")'):
        [line] = lines(board(row(name, owner=name, team=name)))
        assert line["planner"] == line["owner"] == line["team"] == f"'{name}"
    assert lines(board(row(overall=-0.5)))[0]["overall_mean"] == "-0.5"


def test_json_holds_the_rows_as_they_are_kept():
    told = json.loads(as_json(board(row("gold"))))
    assert told["format"] == "planarena-board/1"
    assert told["content"]["rows"] == [row("gold")]
    assert told["conditions"]["samples"] == 8


CITED = row(
    "A_b & {c}", overall=0.5, metrics={"overall": {"mean": 0.5, "low": 0.4, "high": 0.6}}, owner="ada", team="R&D",
    rank_low=1, rank_high=2,
)  # fmt: skip


def cited(*rows: dict) -> Citation:
    return citation_of_row(board=board(*rows), row=rows[0])


def test_a_citation_of_a_row_says_score_rank_range_and_snapshot():
    text = as_bibtex(cited(CITED, row("other")))
    assert text.startswith("@misc{planarena-openagi-00000000,\n")
    assert r"title = {A\_b \& \{c\} on OpenAGI, evaluated by PlanArena}" in text
    assert r"author = {{R\&D}}" in text
    assert (
        r"note = {Overall 0.500 (95 \% interval 0.400 to 0.600), rank 1 of 2, range 1 to 2 by paired tests. "
        f"Suite openagi 1, profile lilliput, split public; evaluated 2026-11-20. Snapshot 12 of 2026-11-20, SHA-256 "
        f"{'c' * 64}, https://arena.example/boards/openagi/snapshots/12/.}}"
    ) in text
    assert "month = nov," in text
    assert "year = {2026}" in text
    assert "doi" not in text


def test_rows_without_a_rank_cite_none():
    assert "no value for Overall. Suite" in as_bibtex(cited(row(overall=None, rank=None)))
    anchor = row("gold", overall=0.9, rank=None, rank_low=None, rank_high=None)
    assert "rank" not in as_bibtex(cited(anchor, row("other")))


def test_ranks_that_were_not_tested_have_no_range():
    few = row("few", overall=0.9, rank_low=None, rank_high=None)
    assert cited(few).result == "Overall 0.900, rank 1 of 1"


def test_the_doi_of_a_suite_comes_before_that_of_the_site(settings):
    settings.DOIS = {"": "10.5281/zenodo.1", "openagi": "10.5281/zenodo.2"}
    assert "doi = {10.5281/zenodo.2}," in as_bibtex(cited(CITED))
    assert "doi = {10.5281/zenodo.2}," in board_as_bibtex(board())
    settings.DOIS = {"": "10.5281/zenodo.1"}
    assert "https://doi.org/10.5281/zenodo.1" in cited(CITED).text


def test_a_citation_is_an_item_for_citation_managers(settings):
    settings.DOIS = {"openagi": "10.5281/zenodo.2"}
    [item] = json.loads(as_csl(cited(CITED, row("other"))))
    assert (item["title"], item["author"]) == ("A_b & {c} on OpenAGI, evaluated by PlanArena", [{"literal": "R&D"}])
    assert (item["DOI"], item["version"]) == ("10.5281/zenodo.2", "snapshot 12")
    assert item["issued"] == {"date-parts": [[2026, 11, 20]]}
    assert item["note"].startswith("Overall 0.500 (95 % interval 0.400 to 0.600), rank 1 of 2, range 1 to 2")


def test_a_citation_file_is_yaml_whatever_names_contain(settings):
    settings.DOIS = {"openagi": "10.5281/zenodo.2"}
    named = row('a: "b"\n- c\u2028d', overall=0.5, owner="# ada")
    read = yaml.safe_load(as_cff(cited(named, row("other"))))
    assert read["title"] == 'a: "b"\n- c\u2028d on OpenAGI, evaluated by PlanArena'
    assert read["authors"] == [{"name": "# ada"}]
    assert (read["cff-version"], read["doi"], read["version"]) == ("1.2.0", "10.5281/zenodo.2", "snapshot 12")
    assert [one["value"] for one in read["identifiers"]] == [
        "https://arena.example/boards/openagi/snapshots/12/", f"sha256:{'c' * 64}",
    ]  # fmt: skip


def test_a_citation_of_a_board_has_its_permanent_address_and_digest():
    text = board_as_bibtex(board())
    assert "url = {https://arena.example/boards/openagi/snapshots/12/}" in text
    assert "c" * 64 in text
    assert text.count("{") == text.count("}")


def test_a_csv_tells_the_tests_of_ranks_and_the_runs_of_a_planner():
    several = {"policy": "latest", "count": 3, "sd": 0.01, "low": 0.4, "high": 0.5, "identical": False}
    rows = [row("many", runs=several, rank_tests=1), row("one", runs={"policy": "latest", "count": 1}), row("old")]
    del rows[2]["rank_tests"]
    many, one, old = lines(board(*rows))
    names = ("rank_tests", "runs_shown", "runs", "runs_sd", "runs_low", "runs_high", "runs_identical")
    assert [many[name] for name in names] == ["1", "latest", "3", "0.01", "0.4", "0.5", "False"]
    assert [one[name] for name in names] == ["0", "latest", "1", "", "", "", ""]
    assert [old[name] for name in names] == [""] * 7


def test_parquet_has_the_table_of_the_csv_with_typed_columns_and_the_conditions():
    import pyarrow as pa

    cost = {"usd": 0.00125, "prompt_price": 2.5, "completion_price": 10.0}
    known = row("=paid", overall=0.25, parameters=8 * 10**9, open_weights=True, cost=cost, declared=True)
    exported = board(known, row("gold"))
    table = read_table(as_parquet(exported))
    assert table.schema.names == list(csv.DictReader(io.StringIO(as_csv(exported))).fieldnames)
    types = {field.name: field.type for field in table.schema}
    assert types["rank"] == types["parameters"] == types["overall_tasks"] == types["scored"] == pa.int64()
    assert types["overall_mean"] == types["usd_per_task"] == pa.float64()
    assert types["open_weights"] == types["runs_identical"] == pa.bool_()
    assert types["finished"] == pa.timestamp("us", tz="UTC")
    assert types["planner"] == types["season"] == pa.string()
    paid, free = table.to_pylist()
    assert (paid["planner"], paid["overall_mean"], paid["parameters"]) == ("=paid", 0.25, 8 * 10**9)
    assert paid["finished"] == datetime.fromisoformat(known["finished"])
    assert (free["declared"], free["usd_per_task"], free["season"]) == (False, None, None)
    facts = json.loads(table.schema.metadata[PARQUET_METADATA])
    assert facts == {name: value for name, value in json.loads(as_json(exported)).items() if name != "content"}
    assert (facts["snapshot"]["digest"], facts["suite"]["version"]) == ("c" * 64, "1")
