"""Addresses of the pages."""

from django.urls import path

from leaderboard.pages import live, views
from leaderboard.pages.side_by_side.views import task_across

app_name = "evaluations"

urlpatterns = [
    path("boards/<slug:suite>/tasks/<path:key>/", task_across, name="task-across"),
    path("evaluations/<uuid:evaluation_id>/", views.detail, name="detail"),
    path("evaluations/<uuid:evaluation_id>/events/", live.events, name="events"),
    path("evaluations/<uuid:evaluation_id>/progress/", views.progress, name="progress"),
    path("evaluations/<uuid:evaluation_id>/tasks/<path:key>/", views.task, name="task"),
    path("evaluations/<uuid:evaluation_id>/resume/", views.resume, name="resume"),
    path("evaluations/<uuid:evaluation_id>/accept/", views.accept, name="accept"),
    path("evaluations/<uuid:evaluation_id>/cancel/", views.cancel, name="cancel"),
    path("evaluations/<uuid:evaluation_id>/rerun/", views.rerun, name="rerun"),
    path("evaluations/<uuid:evaluation_id>/visibility/", views.visibility, name="visibility"),
    path("evaluations/<uuid:evaluation_id>/verify/", views.verify, name="verify"),
]
