"""One condition says which evaluations were submitted: code that forgets members would rank or list them."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3] / "leaderboard"
MAY = frozenset({
    "evaluations/submitted.py",
    # What a closed account has under way is cancelled, members too.
    "leaving/closing.py",
})  # fmt: skip


def test_no_other_code_asks_only_whether_an_evaluation_is_a_verification():
    found = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if "verifies=None" in path.read_text().replace("verifies=None, member_of=None", "")
        and "migrations" not in path.parts
    }
    assert found - {"evaluations/models.py"} == MAY - {"evaluations/submitted.py"}
