"""A study from registration to closing: what is refused, and what is declared and kept."""

import dataclasses
import json

import pytest

from evaluator.studies.registered.analysis import analyse
from evaluator.studies.registered.conduct import add_run, close, deviate, figures, register, run_all
from evaluator.studies.registered.files import StudyError
from evaluator.studies.registered.folder import StudyFolder
from evaluator.studies.registered.statements import StudyRun
from tests.evaluator.studies.registered.studies import (
    COMMIT,
    PLAN_TEXT,
    SEEDS,
    TASK_GROUPS,
    add_all,
    new_study,
    registered_study,
    scores_of,
)


class FakeRunner:
    """Gives scores by the formula; `after` is called before it returns."""

    def __init__(self, after=lambda: None):
        self.after = after
        self.made = []

    def tasks(self):
        return TASK_GROUPS

    def data(self):
        return {"suite": "a" * 64}

    def run(self, *, arm, seed, say):
        self.made.append((seed, arm))
        self.after()
        return scores_of(arm, seed)


def test_a_study_is_registered_run_and_closed_with_the_figures_of_its_scores(tmp_path):
    author, study = registered_study(tmp_path)
    add_all(author, study)
    closing = close(author=author, study=study)
    assert (closing.registered, closing.complete, closing.deviations, closing.commit) == (True, True, 0, COMMIT)
    results = StudyFolder(study.path).results(closing)
    assert results.with_deviations is None
    (gain,) = results.as_registered.contrasts
    assert gain.difference.mean == pytest.approx(0.05)
    assert gain.by_seed == pytest.approx(dict.fromkeys(SEEDS, 0.05))
    scores = {(seed, arm): scores_of(arm, seed) for seed in SEEDS for arm in ("plain", "taught")}
    assert results.as_registered == analyse(plan=study.plan, groups=TASK_GROUPS, scores=scores)


def test_a_runner_measures_only_what_is_missing(tmp_path):
    author, study = new_study(tmp_path)
    runner = FakeRunner()
    register(author=author, study=study, runner=runner)
    assert run_all(author=author, study=study, runner=runner, seeds=[2], say=lambda _: None) == 2
    assert run_all(author=author, study=study, runner=runner, seeds=[], say=lambda _: None) == 10
    assert run_all(author=author, study=study, runner=runner, seeds=[], say=lambda _: None) == 0
    assert len(runner.made) == len(set(runner.made)) == 12


def test_scores_that_were_measured_elsewhere_are_added_under_the_data_of_the_runner(tmp_path):
    author, study = new_study(tmp_path)
    runner = FakeRunner()
    register(author=author, study=study, runner=runner)
    run = {"arm": "plain", "seed": 0, "scores": scores_of("plain", 0)}
    with pytest.raises(StudyError, match="the data are not the registered ones: suite"):
        add_run(author=author, study=study, **run)
    assert add_run(author=author, study=study, runner=runner, **run).data["suite"] == "a" * 64


def test_code_that_changes_during_a_run_gives_no_signed_scores(tmp_path):
    author, study = new_study(tmp_path)
    runner = FakeRunner(after=lambda: (tmp_path / "code" / "train.py").write_text("steps = 2\n"))
    register(author=author, study=study, runner=runner)
    with pytest.raises(StudyError, match=r"the code is not the registered one: code/train.py"):
        run_all(author=author, study=study, runner=runner, seeds=[0], say=lambda _: None)
    assert not author.chain(study).of(StudyRun)


def test_nothing_is_run_or_closed_before_it_is_registered_and_nothing_is_registered_after_its_runs(tmp_path):
    author, study = new_study(tmp_path)
    with pytest.raises(StudyError, match="register it before its first run"):
        add_run(author=author, study=study, arm="plain", seed=0, scores=scores_of("plain", 0))
    with pytest.raises(StudyError, match="--unregistered"):
        close(author=author, study=study)
    (study.path / "scores" / "seed-0").mkdir(parents=True)
    (study.path / "scores" / "seed-0" / "plain.json").write_text('{"sums/0": 0.5}')
    with pytest.raises(StudyError, match="registered before its first run"):
        register(author=author, study=study, runner=None)


def test_a_study_is_registered_once(tmp_path):
    author, study = registered_study(tmp_path)
    with pytest.raises(StudyError, match="already registered"):
        register(author=author, study=study, runner=None)


def test_code_that_is_in_no_commit_is_not_registered(tmp_path):
    author, study = new_study(tmp_path)
    author = dataclasses.replace(author, commit=lambda: (COMMIT, True))
    with pytest.raises(StudyError, match="in no commit"):
        register(author=author, study=study, runner=None)


@pytest.mark.parametrize(
    ("arm", "seed", "change", "complaint"),
    [
        ("third", 0, {}, "no run of third"),
        ("plain", 6, {}, "no run of plain with the seed 6"),
        ("plain", 0, {"sums/0": None}, "not the tasks of the study: see 'sums/0'"),
        ("plain", 0, {"sums/99": 0.5}, "see 'sums/99'"),
    ],
)
def test_runs_and_tasks_are_those_of_the_plan(tmp_path, arm, seed, change, complaint):
    author, study = registered_study(tmp_path)
    scores = {task: score for task, score in {**scores_of("plain", 0), **change}.items() if score is not None}
    with pytest.raises(StudyError, match=complaint):
        add_run(author=author, study=study, arm=arm, seed=seed, scores=scores)


def test_a_study_with_missing_runs_is_not_closed(tmp_path):
    author, study = registered_study(tmp_path)
    add_run(author=author, study=study, arm="plain", seed=0, scores=scores_of("plain", 0))
    with pytest.raises(StudyError, match="11 runs are missing, such as taught with the seed 0"):
        close(author=author, study=study)


def test_changed_code_is_refused_until_it_is_declared_and_both_figures_are_kept(tmp_path):
    author, study = registered_study(tmp_path)
    for seed in SEEDS:
        add_run(author=author, study=study, arm="plain", seed=seed, scores=scores_of("plain", seed))
    for seed in range(5):
        add_run(author=author, study=study, arm="taught", seed=seed, scores=scores_of("taught", seed))
    (tmp_path / "code" / "train.py").write_text("steps = 2\n")
    with pytest.raises(StudyError, match=r"code/train.py.*declare the deviation"):
        add_run(author=author, study=study, arm="taught", seed=5, scores=scores_of("taught", 5, gain=0.5))
    deviate(author=author, study=study, concern="code", reason="The optimiser had a wrong sign.")
    add_run(author=author, study=study, arm="taught", seed=5, scores=scores_of("taught", 5, gain=0.5))
    closing = close(author=author, study=study)
    assert (closing.complete, closing.deviations) == (False, 1)
    results = study.results(closing)
    assert results.as_registered.missing == [(5, "taught")]
    assert sorted(results.as_registered.contrasts[0].by_seed) == [0, 1, 2, 3, 4]
    assert results.with_deviations is not None
    assert results.with_deviations.contrasts[0].by_seed[5] == pytest.approx(0.25)


def test_changed_data_are_refused_until_they_are_declared(tmp_path):
    author, study = registered_study(tmp_path)
    (tmp_path / "data.txt").write_text("other data\n")
    with pytest.raises(StudyError, match=r"the data are not the registered ones: file data.txt"):
        add_run(author=author, study=study, arm="plain", seed=0, scores=scores_of("plain", 0))
    deviate(author=author, study=study, concern="data", reason="A label was wrong in the data.")
    add_run(author=author, study=study, arm="plain", seed=0, scores=scores_of("plain", 0))
    chain = author.chain(study)
    assert [chain.deviates(run) for run in chain.of(StudyRun)] == [True]


def test_a_changed_plan_is_refused_unless_it_is_declared_and_the_registered_analysis_is_kept(tmp_path):
    author, study = registered_study(tmp_path)
    add_all(author, study)
    fewer = PLAN_TEXT.replace("seeds = [0, 1, 2, 3, 4, 5]", "seeds = [0, 1, 2, 3, 4]")
    (study.path / "plan.toml").write_text(fewer)
    with pytest.raises(StudyError, match=r"plan.toml: not what was signed"):
        close(author=author, study=StudyFolder(study.path))
    (study.path / "plan.toml").write_text(PLAN_TEXT)
    deviate(author=author, study=study, concern="plan", reason="Seed 5 ran on another machine.", plan=fewer.encode())
    results = study.results(close(author=author, study=study))
    assert len(results.as_registered.contrasts[0].by_seed) == 6
    assert results.with_deviations is not None
    assert len(results.with_deviations.contrasts[0].by_seed) == 5


def test_a_repeated_run_needs_a_declared_reason_and_does_not_replace_the_first(tmp_path):
    author, study = registered_study(tmp_path)
    add_all(author, study)
    better = scores_of("taught", 0, gain=0.9)
    with pytest.raises(StudyError, match="is there already"):
        add_run(author=author, study=study, arm="taught", seed=0, scores=better)
    with pytest.raises(StudyError, match="only after a deviation about runs"):
        add_run(author=author, study=study, arm="taught", seed=0, scores=better, repeated=True)
    deviate(author=author, study=study, concern="runs", reason="The machine failed during seed 0.")
    add_run(author=author, study=study, arm="taught", seed=0, scores=better, repeated=True)
    results = figures(study=study, chain=author.chain(study))
    assert results.as_registered.contrasts[0].by_seed[0] == pytest.approx(0.05)
    assert results.with_deviations is not None
    assert results.with_deviations.contrasts[0].by_seed[0] == pytest.approx(0.45)


def test_a_changed_analysis_is_refused_until_it_is_declared(tmp_path):
    author, study = registered_study(tmp_path)
    add_all(author, study)
    (tmp_path / "evaluator/scoring/metrics/crossed.py").write_text("pass  # other\n")
    with pytest.raises(StudyError, match=rf"crossed.py. Close the study with the code of commit {COMMIT}"):
        close(author=author, study=study)
    deviate(author=author, study=study, concern="code", reason="The variance was computed wrongly.")
    assert close(author=author, study=study).deviations == 1


def test_deviations_of_nothing_are_refused(tmp_path):
    author, study = registered_study(tmp_path)
    for concern, complaint in (("code", "the code is the registered"), ("data", "the data are the registered")):
        with pytest.raises(StudyError, match=complaint):
            deviate(author=author, study=study, concern=concern, reason="There is no reason at all.")
    with pytest.raises(StudyError, match="is the present one"):
        deviate(author=author, study=study, concern="plan", reason="Nothing changes.", plan=PLAN_TEXT.encode())


def test_an_unregistered_study_is_closed_as_such(tmp_path):
    author, study = new_study(tmp_path)
    for seed in SEEDS:
        (study.path / "scores" / f"seed-{seed}").mkdir(parents=True)
        for arm in ("plain", "taught"):
            path = study.path / "scores" / f"seed-{seed}" / f"{arm}.json"
            path.write_text(json.dumps(scores_of(arm, seed)))
    closing = close(author=author, study=study, unregistered=True)
    assert (closing.registered, closing.number) == (False, 0)
    with pytest.raises(StudyError, match="not registered: nothing was fixed"):
        deviate(author=author, study=study, concern="code", reason="There is no reason at all.")
