"""Addresses of the pages of evaluations, of their badges, pictures and downloads, and of comparisons."""

from django.urls import include, path

from leaderboard.evaluations.web import live, views, watching
from leaderboard.evaluations.web.compare import views as compare
from leaderboard.evaluations.web.sharing import views as sharing
from leaderboard.evaluations.web.side_by_side import task_across
from leaderboard.reliability.web import views as reliability

_EVALUATION = "evaluations/<id:evaluation_id>/"
_EVALUATIONS = [
    path("boards/<slug:suite>/tasks/<path:key>/", task_across, name="task-across"),
    path(_EVALUATION, views.detail, name="detail"),
    path(f"{_EVALUATION}events/", live.events, name="events"),
    path("watch/", watching.watch, name="watch"),
    path(f"{_EVALUATION}watch/", watching.watch_evaluation, name="watch-evaluation"),
    path(f"{_EVALUATION}progress/", views.progress, name="progress"),
    path(f"{_EVALUATION}tasks/<path:key>/", views.task, name="task"),
    path(f"{_EVALUATION}resume/", views.resume, name="resume"),
    path(f"{_EVALUATION}accept/", views.accept, name="accept"),
    path(f"{_EVALUATION}cancel/", views.cancel, name="cancel"),
    path(f"{_EVALUATION}rerun/", views.rerun, name="rerun"),
    path(f"{_EVALUATION}visibility/", views.visibility, name="visibility"),
    path(f"{_EVALUATION}verify/", views.verify, name="verify"),
    path(f"{_EVALUATION}reliability/", reliability.profile, name="reliability"),
    path(f"{_EVALUATION}reliability/measure/", reliability.measure, name="measure-reliability"),
    path(f"{_EVALUATION}reliability/cancel/", reliability.cancel, name="cancel-reliability"),
]
_SHARING = [
    path(f"{_EVALUATION}badge.svg", sharing.badge, name="badge"),
    path(f"{_EVALUATION}preview.png", sharing.picture, name="picture"),
    *(
        path(f"{_EVALUATION}results.{ending}", sharing.results_file, {"ending": ending}, name=f"results-{ending}")
        for ending in ("csv", "json", "parquet")
    ),
    path(f"{_EVALUATION}archive.tar", sharing.archive_file, name="archive"),
    path(f"{_EVALUATION}formats.zip", sharing.exports_file, name="formats"),
]
_COMPARISONS = [
    path("compare/", compare.compare, name="compare"),
    path("compare/<slug:suite>/", compare.forms, name="forms"),
]

urlpatterns = [
    path("", include((_EVALUATIONS, "evaluations"))),
    path("", include((_SHARING, "sharing"))),
    path("", include((_COMPARISONS, "compare"))),
]
