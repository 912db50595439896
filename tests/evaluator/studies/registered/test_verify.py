"""Verification refuses what was not signed, whoever changed it, and reads nothing outside a study."""

import json
import subprocess

import pytest

from evaluator.client.verify import studies as verifying
from evaluator.client.verify.report import Kind, Report
from evaluator.core import canonical_json
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.signatures.envelope import seal
from evaluator.studies.registered.conduct import add_run, close, deviate, register
from evaluator.studies.registered.files import StudyError, inside, manifest, manifest_digest
from evaluator.studies.registered.folder import StudyFolder
from evaluator.studies.registered.plan import parse
from evaluator.studies.registered.statements import StudyRun
from evaluator.studies.registered.tables import block, with_blocks
from tests.evaluator.studies.registered.studies import (
    KEY,
    PLAN_TEXT,
    START,
    STRANGER,
    add_all,
    new_study,
    registered_study,
    scores_of,
)


@pytest.fixture
def closed(tmp_path, monkeypatch):
    author, study = registered_study(tmp_path)
    add_all(author, study)
    close(author=author, study=study)
    monkeypatch.setattr(verifying, "ROOT", tmp_path)
    return author, study


def report_of(study, *, documents=None, key=""):
    report = Report(address="")
    verifying.check_studies(folder=study.path, documents=documents, key=key, report=report)
    return report


def problems(study, **options):
    return [finding.text for finding in report_of(study, **options).of(Kind.MISMATCH)]


def test_a_closed_study_is_verified(closed):
    report = report_of(closed[1])
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    assert {finding.part for finding in report.of(Kind.OK)} >= {"study", "figures"}


def changed(path, change):
    value = json.loads(path.read_text())
    path.write_text(json.dumps(change(value) or value, indent=1, sort_keys=True) + "\n")


def test_changed_scores_are_found(closed):
    changed(closed[1].path / "scores/seed-3/taught.json", lambda scores: scores.update({"sums/1": 0.9}))
    assert "seed-3/taught.json: not what was signed" in problems(closed[1])[0]


def test_changed_tasks_plans_manifests_and_results_are_found(closed):
    study = closed[1]
    manifest_file = next(iter((study.path / "code").iterdir()))
    for path in (study.path / "tasks.json", study.path / "plan.toml", manifest_file, study.path / "results/0013.json"):
        before = path.read_text()
        path.write_text(before + "\n")
        assert "not what was signed" in problems(study)[0] or "not the file that was signed" in problems(study)[0]
        path.write_text(before)
    assert not problems(study)


def test_scores_that_were_left_out_or_added_are_found(closed):
    study = closed[1]
    path = study.path / "scores/seed-3/taught.json"
    before = path.read_text()
    path.unlink()
    assert "scores/seed-3/taught.json is missing" in problems(study)[0]
    path.write_text(before)
    (study.path / "scores/seed-7").mkdir()
    (study.path / "scores/seed-7/taught.json").write_text(before)
    assert "belong to no signed run" in problems(study)[0]


def test_statements_cannot_be_left_out_exchanged_or_forged(closed):
    study = closed[1]
    statements = study.path / "statements"
    second, third = statements / "0002.json", statements / "0003.json"
    texts = second.read_text(), third.read_text()
    second.write_text(texts[1])
    third.write_text(texts[0])
    assert "names another key or number" in problems(study)[0]
    second.write_text(texts[0])
    third.unlink()
    assert "0000.json, 0001.json and so on" in problems(study)[0]
    third.write_text(texts[1])
    changed(second, lambda envelope: envelope["signatures"][0].update(sig="A" * 86 + "=="))
    assert "does not have a valid signature" in problems(study)[0]


def test_a_statement_of_a_stranger_is_refused_even_in_the_right_place(closed):
    author, study = closed
    chain = author.chain(study)
    run = chain.of(StudyRun)[-1].model_copy(update={"number": 14, "previous": chain.head, "key": STRANGER.public.id})
    envelope = seal(statement=run, key=STRANGER)
    (study.path / "statements/0014.json").write_text(envelope.model_dump_json())
    assert f"signed by key '{STRANGER.public.id}', which is not trusted" in problems(study)[0]


def test_a_listed_key_does_not_stand_for_another(closed):
    author, study = closed
    chain = author.chain(study)
    run = chain.of(StudyRun)[-1].model_copy(update={"number": 14, "previous": chain.head, "key": STRANGER.public.id})
    envelope = seal(statement=run, key=KEY)
    (study.path / "statements/0014.json").write_text(envelope.model_dump_json())
    assert "names another key" in problems(study)[0]
    changed(study.path.parent / "keys.json", lambda file: file["keys"][0].update(public_key=STRANGER.public.text))
    assert "the id of another" in problems(study)[0]


def test_a_given_key_is_the_only_trusted_one(closed):
    assert not problems(closed[1], key=KEY.public.text)
    assert not problems(closed[1], key=KEY.public.id)
    assert "not trusted" in problems(closed[1], key=STRANGER.public.text)[0]
    assert "neither" in problems(closed[1], key="x")[0]


def resigned(author, study, number, **changes):
    """A study whose author signs a statement again, with changes, and all after it."""
    chain = author.chain(study)
    before = None
    for statement in chain.statements:
        update = {"previous": before, **(changes if statement.number == number else {})}
        envelope = seal(statement=statement.model_copy(update=update), key=KEY)
        path = study.path / f"statements/{statement.number:04}.json"
        path.write_text(envelope.model_dump_json())
        before = envelope.digest


def test_authors_cannot_sign_runs_before_the_registration_or_with_undeclared_code(closed):
    author, study = closed
    resigned(author, study, 4, started=START)
    assert "began before the registration" in problems(study)[0]


def test_authors_cannot_sign_runs_with_undeclared_code(closed):
    author, study = closed
    resigned(author, study, 4, code="d" * 64)
    assert "neither registered nor declared" in problems(study)[0]


def test_signed_figures_must_follow_from_the_scores(closed):
    author, study = closed
    path = study.path / "results/0013.json"
    changed(path, lambda results: results["as_registered"]["contrasts"][0]["difference"].update(mean=0.5))
    resigned(author, study, 13, results=StudyFolder(study.path).digest("results/0013.json"))
    assert "the figures do not follow from the scores" in problems(study)[0]


def test_figures_by_other_code_of_the_analysis_are_not_called_verified(closed, tmp_path):
    author, study = closed
    path = study.path / "results/0013.json"
    changed(path, lambda results: results["as_registered"]["contrasts"][0]["difference"].update(mean=0.5))
    resigned(author, study, 13, results=StudyFolder(study.path).digest("results/0013.json"))
    (tmp_path / "evaluator/scoring/metrics/student.py").write_text("pass  # later\n")
    report = report_of(study)
    assert report.exit_code is ExitCode.INFRASTRUCTURE
    assert "verify with the code of commit" in report.of(Kind.NOT_CHECKED)[0].text


def test_documents_show_what_the_study_says(closed, tmp_path):
    author, study = closed
    chain = author.chain(study)
    parts = [f"[//]: # (study toy {key})\n\n\n[//]: # (end)\n" for key in ("status", "arms", "gains", "only")]
    generated = {("toy", key): block(study=study, chain=chain, key=key) for key in ("status", "arms", "gains", "only")}
    documents = tmp_path / "docs"
    documents.mkdir()
    page = documents / "page.md"
    page.write_text(with_blocks("# Page\n\n" + "\n".join(parts), generated=generated))
    text = page.read_text()
    assert "| taught, with feedback - plain (primary) | +0.0500 |" in text
    assert "| taught, with feedback | 3 | " in text
    assert "No deviation." in text
    assert not problems(study, documents=documents)
    page.write_text(text.replace("+0.0500", "+0.0900"))
    (finding,) = report_of(study, documents=documents).of(Kind.MISMATCH)
    assert ("+0.0500" in finding.expected, "+0.0900" in finding.found) == (True, True)
    page.write_text(text.replace("study toy only", "study toy nothing"))
    assert "has no table nothing" in problems(study, documents=documents)[0]


def test_a_study_that_is_closed_again_keeps_its_first_figures(closed):
    author, study = closed
    closing = close(author=author, study=study)
    assert closing.number == 14
    assert sorted(path.name for path in (study.path / "results").iterdir()) == ["0013.json", "0014.json"]
    assert [finding.part for finding in report_of(study).of(Kind.OK)] == ["study", "figures", "figures"]


def test_an_open_study_shows_no_figures(tmp_path, monkeypatch):
    author, study = registered_study(tmp_path)
    monkeypatch.setattr(verifying, "ROOT", tmp_path)
    add_all(author, study)
    assert "is open" in block(study=study, chain=author.chain(study), key="gains")
    assert report_of(study).exit_code is ExitCode.PASSED


def test_deviations_are_shown_with_both_figures_and_without_markup(tmp_path):
    author, study = registered_study(tmp_path)
    add_all(author, study)
    fewer = PLAN_TEXT.replace("seeds = [0, 1, 2, 3, 4, 5]", "seeds = [0, 1, 2, 3, 4]")
    reason = "A <b>reason</b>\n| with | [markup](javascript:x)"
    deviate(author=author, study=study, concern="plan", reason=reason, plan=fewer.encode())
    close(author=author, study=study)
    chain = author.chain(study)
    status = block(study=study, chain=chain, key="status")
    assert "1 declared deviations" in status
    assert not {"<", "|", "["} & set(status.partition("plan: ")[2])
    assert ["As registered" in (text := block(study=study, chain=chain, key="gains")), "With the declared" in text] == [
        True, True,
    ]  # fmt: skip


def commit(folder, *paths):
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(folder), "add", *paths], check=True)
    subprocess.run(["git", "-C", str(folder), *identity, "commit", "-q", "-m", "Add"], check=True)


@pytest.mark.parametrize(
    ("commits", "kind", "words"),
    [
        ((("studies/toy/statements/0000.json",), ("studies",)), Kind.OK, "the registration was committed"),
        ((("studies",),), Kind.NOTE, "in one commit"),
        ((("studies/toy/scores",), ("studies",)), Kind.MISMATCH, "not committed before the first run"),
        ((), Kind.NOTE, "no Git history"),
    ],
)
def test_history_shows_whether_the_registration_is_older_than_the_first_run(closed, tmp_path, commits, kind, words):
    subprocess.run(["git", "-C", str(tmp_path), "init", "-q"], check=True)
    for paths in commits:
        commit(tmp_path, *paths)
    (finding,) = [one for one in report_of(closed[1]).findings if one.part == "order"]
    assert (finding.kind, words in finding.text) == (kind, True), finding


def test_history_shows_that_signed_runs_were_replaced(closed, tmp_path):
    author, study = closed
    subprocess.run(["git", "-C", str(tmp_path), "init", "-q"], check=True)
    commit(tmp_path, "studies/toy/statements/0000.json", "studies/toy/plan.toml", "studies/toy/tasks.json")
    commit(tmp_path, "studies")
    assert not problems(study)
    for name in ("statements/0013.json", "results/0013.json", "statements/0012.json", "scores/seed-5/taught.json"):
        (study.path / name).unlink()
    add_run(author=author, study=StudyFolder(study.path), arm="taught", seed=5, scores=scores_of("taught", 5, gain=0.9))
    assert not problems(study)
    commit(tmp_path, "-A", "studies")
    assert "signed files were changed or removed in" in problems(study)[0]


HOSTILE = ("../outside", "/etc/passwd", "a/../../outside", "a\\b", "a\nb", "", "x" * 400)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_path_leads_out_of_a_study(tmp_path, name):
    with pytest.raises(StudyError, match=r"is no path within"):
        StudyFolder(tmp_path).digest(name)
    with pytest.raises(StudyError, match="is no path within"):
        inside(tmp_path, name)


@pytest.mark.parametrize("name", HOSTILE[:3])
def test_a_plan_reads_no_code_or_data_outside_the_repository(tmp_path, name):
    (tmp_path / "outside").write_text("secret")
    (tmp_path / "root").mkdir()
    plan = PLAN_TEXT.replace('paths = ["code"]', f'paths = ["{name}"]')
    author, study = new_study(tmp_path / "root", plan=plan)
    with pytest.raises(StudyError, match="is no path within"):
        manifest(root=tmp_path / "root", paths=study.plan.code.paths)
    with pytest.raises(StudyError, match="is no path within"):
        register(author=author, study=study, runner=None)


def test_links_out_of_a_study_are_not_followed(closed, tmp_path):
    study = closed[1]
    path = study.path / "scores/seed-3/taught.json"
    secret = tmp_path / "secret.json"
    secret.write_text(path.read_text())
    path.unlink()
    path.symlink_to(secret)
    assert "leads out of the folder" in problems(study)[0]


def test_a_manifest_does_not_follow_links_out(tmp_path):
    (tmp_path / "root/code").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/key.py").write_text("secret")
    (tmp_path / "root/code/link").symlink_to(tmp_path / "secret")
    (tmp_path / "root/code/key.py").symlink_to(tmp_path / "secret/key.py")
    assert manifest(root=tmp_path / "root", paths=["code"]) == {}


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('name = "toy"', 'name = "../toy"', "name"),
        ('key = "taught"\n', 'key = "../../taught"\n', "arms.1.key"),
        ('label = "plain"', 'label = "<script>|"', "arms.0.label"),
        ("seeds = [0, 1, 2, 3, 4, 5]", "seeds = [0, 0]", "seeds has a value twice"),
        ("seeds = [0, 1, 2, 3, 4, 5]", 'seeds = ["0"]', "seeds.0"),
        ('treatment = "taught"', 'treatment = "other"', "no arm other"),
        ('treatment = "taught"', 'treatment = "plain"', "compares two arms"),
        ('method = "tasks-and-seeds"', 'method = "whatever helps"', "analysis.method"),
        ('format = "planarena-study/1"', 'format = "planarena-study/2"', "format"),
        ('title = "', 'other = 1\ntitle = "', "other"),
        ("[code]", "[code", "no TOML"),
    ],
)
def test_a_malformed_plan_is_refused_with_the_place(old, new, complaint):
    assert old in PLAN_TEXT
    with pytest.raises(StudyError, match=complaint):
        parse(PLAN_TEXT.replace(old, new, 1).encode())


@pytest.mark.parametrize("score", ["NaN", "true", '"1"', "null", "1e999", "[1]"])
def test_a_score_is_a_finite_number(closed, score):
    study = closed[1]
    (study.path / "scores/seed-0/plain.json").write_text(f'{{"sums/0": {score}}}')
    with pytest.raises(StudyError):
        study.scores("scores/seed-0/plain.json")


def test_a_manifest_has_the_digest_of_its_canonical_file(tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code/a.py").write_text("a")
    found = manifest(root=tmp_path, paths=["code"])
    assert canonical_json.loads(json.dumps(found).encode()) == found
    assert manifest_digest(found) != manifest_digest({**found, "code/b.py": found["code/a.py"]})
