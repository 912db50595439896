"""Tables, Markdown and files of the commands that follow a submission."""

import io
import re
from itertools import pairwise

import pytest
from rich.console import Console

from evaluator.client.errors import UsageError
from evaluator.client.output import Reports, say
from evaluator.client.reports import MOST_TASKS, markdown
from evaluator.client.shapes import Causes, Evaluation, Submission, SuiteInfo, TaskRow
from evaluator.client.tables import states, tasks
from evaluator.client.verdict import Verdict
from evaluator.client.waiting import progress, wait
from evaluator.core.commands.exit_codes import ExitCode

SUITES = {
    "openagi": SuiteInfo(
        slug="openagi",
        metrics=[{"key": "ViT", "label": "ViT"}, {"key": "overall", "label": "Overall", "primary": True}],
    )
}


def evaluation(**fields) -> Evaluation:
    metrics = {"ViT": None, "overall": {"mean": 0.71234, "low": 0.7, "high": 0.72, "tasks": 171}}
    known = {
        "id": "e", "submission": "3f2a", "suite": "openagi", "planner": {"name": "mine"}, "state": "completed",
        "reason_text": "Completed and published.", "done": 185, "tasks_total": 185, "url": "https://site/evaluations/e/",
        "summary": {"metrics": metrics, "outcomes": {}}, "created": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    return Evaluation.model_validate(known | fields)


def shown(listing, *, width=80) -> str:
    output = io.StringIO()
    listing.show(Console(file=output, width=width, force_terminal=True, color_system=None, legacy_windows=False))
    return output.getvalue()


def test_the_score_that_a_board_ranks_by_is_in_the_state():
    text = shown(states([evaluation()], suites=SUITES))
    assert text.startswith("mine, submission 3f2a\n")
    assert "openagi  completed  185/185  Overall  0.7123  0.7000 to 0.7200" in text


def test_a_terminal_does_not_obey_the_texts_of_strangers(capsys):
    escape = "\x1b]0;title\x07"
    hostile = evaluation(planner={"name": escape}, reason_text=escape)
    say(escape)
    texts = [
        shown(states([hostile], suites=SUITES)),
        shown(tasks([TaskRow(task="1", outcome="planner_fault", reason_text=escape)])),
        progress(hostile),
        capsys.readouterr().err,
    ]
    assert [text for text in texts if "\x1b" in text or "\x07" in text or "?]0;title?" not in text] == []


class TestMarkdown:
    VERDICT = Verdict(code=ExitCode.BELOW_THRESHOLD, sentences=["openagi overall is 0.7, below 0.8"], checks=[])

    def test_verdict_metrics_and_faults_are_there(self):
        rows = [TaskRow(task=str(number), outcome="planner_fault", reason_text="Bad.") for number in range(25)]
        text = markdown(evaluations=[evaluation()], results={"e": rows}, verdict=self.VERDICT)
        assert text.startswith("## PlanArena: below threshold\n\n\\- ".replace("\\", ""))
        assert "### mine on [openagi](https://site/evaluations/e/): completed" in text
        assert "| overall | 0.7123 | 0.7000 to 0.7200 | 171 |" in text
        assert text.count("| planner") == MOST_TASKS
        assert "and 5 more tasks without a score" in text

    def test_what_was_tolerated_is_one_line_below_the_metrics(self):
        reading = {"replies": 120, "unreadable": 3, "tolerated": {"dialect: hermes": 4, "envelope: fence": 102}}
        known = evaluation(summary={"metrics": {}, "outcomes": {}, "reading": reading})
        text = markdown(evaluations=[known], results={}, verdict=None)
        assert "117 of 120 replies could be read. Tolerated: code fence 102, dialect: hermes 4." in text
        assert "could be read" not in markdown(evaluations=[evaluation()], results={}, verdict=None)

    def test_metrics_and_causes_have_the_order_and_the_words_of_the_site(self):
        suite = SuiteInfo(
            slug="openagi",
            metrics=[
                {"key": "ViT", "label": "ViT distance", "higher_is_better": False},
                {"key": "overall", "label": "Overall", "primary": True},
            ],
        )
        lines = ["3 of 9 tasks are below the gold score.", *(f"Cause {number}." for number in range(9))]
        causes = Causes(ran=9, below=3, at_gold=6, unknown=0, causes=[], explanation=lines)
        text = markdown(
            evaluations=[evaluation()], results={}, verdict=None, causes={"e": causes}, suites={"openagi": suite}
        )
        assert text.index("| Overall | 0.7123") < text.index("| ViT distance \\(lower is better\\) | not measured")
        assert "- 3 of 9 tasks are below the gold score." in text
        assert "- Cause 2." in text
        assert "Cause 3." not in text

    @pytest.mark.parametrize("hostile", ["<img src=x>", "[a](javascript:b)", "| c | d |", "`e`", "# f\n# g", "**h**"])
    def test_texts_of_strangers_stay_texts(self, hostile):
        rows = [TaskRow(task="0", outcome="planner_fault", reason_text=hostile)]
        named = evaluation(planner={"name": hostile}, url="javascript:alert(1)")
        text = markdown(evaluations=[named], results={"e": rows}, verdict=None)
        assert "<" not in text
        assert "](" not in text
        (row,) = [line for line in text.splitlines() if line.startswith("| 0 ")]
        assert len(re.findall(r"(?<!\\)\|", row)) == 4
        assert not re.search(r"(?<!\\)[`*]", text)


class TestReports:
    def test_files_are_written_and_a_summary_is_appended(self, tmp_path):
        files = {name: tmp_path / "deep" / name for name in ("output", "junit", "summary")}
        reports = Reports(as_json=False, **files)
        for _ in range(2):
            reports.write(submission="3f2a", evaluations=[evaluation()])
        assert files["output"].read_text().count("submission-report/1") == 1
        assert files["junit"].read_text().count("<testsuites") == 1
        assert files["summary"].read_text().count("### mine on") == 2

    def test_nothing_is_printed_unless_it_is_asked_for(self, tmp_path, capsys):
        Reports(as_json=False, output=tmp_path / "o").write(submission="3f2a", evaluations=[evaluation()])
        assert capsys.readouterr().out == ""
        Reports(as_json=True, output=None).write(submission="3f2a", evaluations=[evaluation()])
        assert '"submission": "3f2a"' in capsys.readouterr().out

    def test_a_threshold_of_tasks_needs_the_report_that_has_it(self):
        with pytest.raises(UsageError, match="needs --junit"):
            Reports(as_json=False, output=None, task_threshold=0.5)


class Site:
    """A site whose evaluation runs for some polls without progress."""

    def __init__(self, *, polls: int) -> None:
        self.polls = polls

    def submission(self, _: str) -> Submission:
        self.polls -= 1
        state = "running" if self.polls > 0 else "completed"
        return Submission(id="3f2a", evaluations=[evaluation(state=state, summary=None)])


def test_waiting_says_where_it_is_every_ten_seconds_even_if_nothing_changes():
    now, told = [0.0], []

    def sleep(seconds: float) -> None:
        now[0] += seconds

    wait(
        client=Site(polls=20), submission_id="3f2a", tell=lambda _: told.append(now[0]), sleep=sleep,
        clock=lambda: now[0],
    )  # fmt: skip
    gaps = [later - earlier for earlier, later in pairwise(told)]
    assert now[0] > 100
    assert max(gaps) <= 20
    assert len(told) >= now[0] / 20
