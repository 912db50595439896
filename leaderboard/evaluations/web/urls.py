"""Addresses of the pages."""

from django.urls import path

from leaderboard.evaluations.web import live, views
from leaderboard.evaluations.web.side_by_side.views import task_across
from leaderboard.reliability.web import views as reliability

app_name = "evaluations"

urlpatterns = [
    path("boards/<slug:suite>/tasks/<path:key>/", task_across, name="task-across"),
    path("evaluations/<id:evaluation_id>/", views.detail, name="detail"),
    path("evaluations/<id:evaluation_id>/events/", live.events, name="events"),
    path("evaluations/<id:evaluation_id>/progress/", views.progress, name="progress"),
    path("evaluations/<id:evaluation_id>/tasks/<path:key>/", views.task, name="task"),
    path("evaluations/<id:evaluation_id>/resume/", views.resume, name="resume"),
    path("evaluations/<id:evaluation_id>/accept/", views.accept, name="accept"),
    path("evaluations/<id:evaluation_id>/cancel/", views.cancel, name="cancel"),
    path("evaluations/<id:evaluation_id>/rerun/", views.rerun, name="rerun"),
    path("evaluations/<id:evaluation_id>/visibility/", views.visibility, name="visibility"),
    path("evaluations/<id:evaluation_id>/verify/", views.verify, name="verify"),
    path("evaluations/<id:evaluation_id>/reliability/", reliability.profile, name="reliability"),
    path("evaluations/<id:evaluation_id>/reliability/measure/", reliability.measure, name="measure-reliability"),
    path("evaluations/<id:evaluation_id>/reliability/cancel/", reliability.cancel, name="cancel-reliability"),
]
