"""The page of a reliability profile: figures, plots, gaps, what its owner may do, and who sees it."""

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from leaderboard.boards.drawing.dot_plot import LEFT, RIGHT, WIDTH
from leaderboard.boards.drawing.files import svg_file
from leaderboard.boards.drawing.picture import Line, Link, Picture, Text
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.web import line_plot
from leaderboard.queue.models import OwnWorkerRun
from leaderboard.reliability.models import Condition
from leaderboard.reliability.web.presenters import interval_plot, reliability_diagram, risk_coverage
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_planner, make_results, make_suite
from tests.leaderboard.factories import make_user
from tests.leaderboard.reliability.factories import make_profile

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]


@pytest.fixture
def evaluation():
    made = make_evaluation(planner=make_planner(owner=make_user("ada"), name="word-reader"), suite=make_suite())
    make_results(made, faults=False, samples=1, upto=40)
    return made


def page_of(evaluation: Evaluation, *, by: str = "", name: str = "reliability") -> tuple[int, str]:
    client = Client()
    if by:
        client.force_login(evaluation.submission.submitted_by if by == "owner" else make_user(by))
    response = client.get(reverse(f"evaluations:{name}", args=[evaluation.pk]))
    return response.status_code, response.content.decode()


def test_a_measured_profile_shows_dimensions_plots_tables_and_worst_tasks(evaluation):
    profile = make_profile(evaluation)
    status, page = page_of(evaluation)
    assert status == 200
    for name, label in (("success", "Success"), ("consistency", "Consistency"), ("robustness", "Robustness")):
        assert label in page
        assert f"{profile.figures['dimensions'][name]['mean']:.3f}" in page
    for plot in ("consistency", "ratios", "diagram", "coverage"):
        assert f'id="svg-title-{plot}"' in page
    worst = profile.figures["robustness"][0]["worst"][0]
    member = evaluation.members.get(perturbation=profile.figures["robustness"][0]["name"])
    assert reverse("evaluations:task", args=[member.pk, worst]) in page
    assert reverse("evaluations:task", args=[evaluation.pk, profile.figures["unsteady"][0]]) in page
    assert "Measure reliability" not in page


def test_gaps_are_named_with_their_reason_and_nothing_stands_in_their_place(evaluation):
    profile = make_profile(evaluation, has_confidence=False, missing=[Condition("", 5), Condition("renamed-tools", 1)])
    profile.figures["unavailable"] = [{"name": "paraphrased", "label": "paraphrased requests", "why": "No generator."}]
    profile.save()
    _, page = page_of(evaluation)
    assert 'run 5: <span class="break">No worker took its tasks.' in page
    assert "renamed tools: " in page
    assert "Over 4 runs of the same requests" in page
    assert "Paraphrased requests: No generator." in page
    assert "No answer came with a confidence." in page
    assert 'id="svg-title-diagram"' not in page
    assert "self-hosted" not in page
    OwnWorkerRun.objects.create(evaluation=evaluation)
    assert "They are not verified" in page_of(evaluation)[1]


def test_only_its_owner_reads_of_a_profile_that_was_not_asked_for(evaluation):
    assert page_of(evaluation)[0] == 404
    status, page = page_of(evaluation, by="owner")
    assert status == 200
    assert "Not measured yet." in page
    assert "Measure it" in page_of(evaluation, by="owner", name="detail")[1]
    assert "Measure it" not in page_of(evaluation, name="detail")[1]


def test_figures_of_another_release_are_not_shown_as_if_they_were_of_this_one(evaluation):
    profile = make_profile(evaluation)
    profile.figures["version"] = "reliability/0"
    profile.save()
    status, page = page_of(evaluation)
    assert status == 200
    assert "The figures are being computed." in page


def value(mean: float, low: float | None = None, high: float | None = None) -> dict[str, object]:
    return {"mean": mean, "low": low, "high": high, "count": 30}


def parts(picture: Picture) -> tuple[list[Link], list[float]]:
    """The values, and where each tick is."""
    values = [item for item in picture.items if isinstance(item, Link)]
    return values, [item.x for item in picture.items if isinstance(item, Text) and item.role == "tick" and item.y == 20]


def test_an_interval_plot_has_a_whisker_for_each_interval_and_none_without():
    plot = interval_plot(key="k", title="t", x_label="x", values=[("a", value(0.5, 0.25, 1.0)), ("b", value(1.0))])
    (first, second), _ = parts(plot)
    whiskers = [item for item in plot.items if isinstance(item, Line) and item.role.startswith("whisker")]
    ((low, y), (high, _)) = whiskers[0].points
    assert len(whiskers) == 1
    assert low < first.items[0].x < high == second.items[0].x
    assert y == first.items[0].y < second.items[0].y
    assert first.words == "a: 0.500, 95 % interval 0.250 to 1.000"


@pytest.mark.parametrize("largest", [0.3, 1.0, 1.01, 1.3, 2.0, 7.5, 40.0, 1200.0])
def test_the_scale_holds_the_largest_value_nothing_and_one_and_has_few_ticks(largest):
    plot = interval_plot(key="k", title="t", x_label="x", values=[("a", value(largest))], reference="nothing lost")
    (only,), ticks = parts(plot)
    (line,) = (item for item in plot.items if isinstance(item, Line) and item.role == "baseline")
    assert 3 <= len(ticks) <= 9
    assert all(LEFT <= x <= WIDTH - RIGHT for x in (*ticks, only.items[0].x, line.points[0][0]))
    assert [item.text for item in plot.items if isinstance(item, Text)][-1] == "a"
    assert {"nothing lost", "x"} <= {item.text for item in plot.items if isinstance(item, Text)}
    assert all(item.y < plot.height for item in plot.items if isinstance(item, Text))


def test_values_that_lead_nowhere_are_named_on_pages_and_in_files():
    plot = interval_plot(key="k", title="t", x_label="x", values=[("a<b", value(0.5))])
    page = render_to_string("boards/picture.html", {"picture": plot})
    assert '<g role="img" aria-label="a&lt;b: 0.500">' in page
    assert "<a " not in page
    assert "<g><title>a&lt;b: 0.500</title>" in svg_file(plot, absolute=str)


def test_a_calibrated_bin_is_on_the_diagonal():
    bins = [{"low": 0.0, "high": 0.1, "answers": 3, "confidence": 0.0, "success": 0.0}]
    bins.append({"low": 0.9, "high": 1.0, "answers": 5, "confidence": 1.0, "success": 1.0})
    plot = reliability_diagram(bins)
    corners = [tuple(map(float, point.split())) for point in plot.reference.removeprefix("M").split("L")]
    assert [(float(dot.x), float(dot.y)) for dot in plot.dots] == corners
    assert "5 answers" in plot.dots[1].words


def test_the_curve_ends_at_the_risk_of_all_answers():
    plot = risk_coverage([[(number + 1) / 50, 0.25] for number in range(50)])
    last = plot.line.split("L")[-1].split()
    assert float(last[0]) == line_plot.WIDTH - line_plot.RIGHT
    assert last[1] == plot.reference.split("L")[-1].split()[1]
    assert line_plot.LEFT < float(plot.dots[0].x) < line_plot.WIDTH
    assert 0 < float(last[1]) < line_plot.HEIGHT
    assert len(plot.dots) <= 11
