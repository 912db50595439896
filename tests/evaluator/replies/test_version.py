"""The version of the reader: a change of its code is noticed, so that somebody decides whether it reads otherwise."""

import ast
import hashlib
from pathlib import Path

from evaluator import replies
from evaluator.episodes.base import episode_of
from evaluator.replies import version
from evaluator.replies.version import READER

KNOWN = (1, "cd73d6ef9aa3131c")
"""The version, and the digest of the code that it names."""


def code_of(file: Path) -> str:
    """The code of a module without comments and docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                part
                for part in body
                if not (isinstance(part, ast.Expr) and isinstance(getattr(part.value, "value", None), str))
            ]
    return ast.unparse(tree)


def digest_of_code() -> str:
    folder = Path(replies.__file__).parent
    files = sorted(file for file in folder.rglob("*.py") if file.name != "version.py")
    text = "".join(f"{file.relative_to(folder).as_posix()}\n{code_of(file)}\n" for file in files)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def test_a_change_of_the_reader_has_a_version():
    assert (version.READER, digest_of_code()) == KNOWN, (
        "The code of evaluator/replies has changed. If any reply may now be read otherwise, raise READER in "
        f"evaluator/replies/version.py. Then set KNOWN here to ({version.READER}, {digest_of_code()!r})."
    )


def test_the_version_is_part_of_the_rules_of_every_kind_of_suite(monkeypatch):
    slugs = "openagi", "toolmini", "toolworld-turns"
    before = [episode_of(slug).rules_digest("lilliput") for slug in slugs]
    for module in ("executed", "judgement", "turns.interactive"):
        monkeypatch.setattr(f"evaluator.episodes.{module}.READER", READER + 1)
    after = [episode_of(slug).rules_digest("lilliput") for slug in slugs]
    assert all(one != other for one, other in zip(before, after, strict=True))
