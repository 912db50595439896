"""The index of the documentation."""

import re
import threading

from leaderboard.docs_pages.chapters import BY_SLUG, DOCS, passages_of
from leaderboard.search.documentation import Documentation, documentation

SECTIONS = [
    (
        "Scoring",
        "Gold plans",
        "A gold plan is what the paper calls right. Planners never see it.",
        "/docs/scoring/#gold-plans",
    ),
    ("Scoring", "", "Executed plans are scored.", "/docs/scoring/"),
    ("Boards", "Ranks", "Planners are ranked by a column.", "/docs/boards/#ranks"),
]


def urls(words: str) -> list[str]:
    return [found.url for found in Documentation(SECTIONS).find(words=words, limit=5)]


def test_every_word_must_occur_in_any_form_and_the_last_may_be_unfinished():
    assert urls("planner rank") == ["/docs/boards/#ranks"]
    assert urls("executed sco") == ["/docs/scoring/"]
    assert urls("gold nowhere") == []


def test_what_is_not_a_word_is_no_part_of_the_query():
    for query in ("", " ", '"', "* OR (", "NEAR(", "a AND", "page:x)", "-", "\x02"):
        assert Documentation(SECTIONS).find(words=query, limit=5) == [] or query == "a AND"
    assert urls('"gold" plan*)') == ["/docs/scoring/#gold-plans"]
    # Operators of FTS5 are words like others.
    assert urls("gold OR ranked") == []


def test_a_heading_counts_more_than_a_text_and_the_excerpt_marks_the_words():
    assert urls("ranked")[0] == "/docs/boards/#ranks"
    found = Documentation(SECTIONS).find(words="gold", limit=5)[0]
    assert found.url == "/docs/scoring/#gold-plans"
    assert [piece.text for piece in found.excerpt if piece.matches] == ["gold"]
    assert "".join(piece.text for piece in found.excerpt) == SECTIONS[0][2]


def test_threads_share_an_index():
    index, found = Documentation(SECTIONS), []
    threads = [threading.Thread(target=lambda: found.append(index.find(words="gold", limit=5))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(each == found[0] for each in found)


def test_the_documentation_of_this_release_is_found():
    def first(words: str) -> str:
        return documentation().find(words=words, limit=1)[0].url

    assert first("pass^k outcome consistency").startswith("/docs/reliability/")
    assert first("what your endpoint receives") == "/docs/#request"
    assert first("GET /api/v1/quota/") == "/docs/reference/#quota_list"


def test_words_on_both_sides_of_a_line_break_stay_two_words():
    pairs = 0
    for slug, chapter in BY_SLUG.items():
        text = (DOCS / f"{chapter.slug}.md").read_text(encoding="utf-8")
        broken = re.findall(r"(\w+)\n(\w+)", text)
        passages = passages_of(slug)
        assert sum(len(passage.text) for passage in passages) > 200, slug
        indexed = {word for passage in passages for word in re.findall(r"\w+", passage.text)}
        assert {f"{first}{second}" for first, second in broken} & indexed <= set(re.findall(r"\w+", text)), slug
        pairs += len(broken)
    assert pairs > 1000
