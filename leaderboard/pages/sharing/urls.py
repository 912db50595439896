"""Addresses of what readers take along from an evaluation."""

from django.urls import path, re_path

from leaderboard.pages.sharing import views

app_name = "sharing"

_EVALUATION = r"^evaluations/(?P<evaluation_id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"

urlpatterns = [
    path("evaluations/<uuid:evaluation_id>/badge.svg", views.badge, name="badge"),
    path("evaluations/<uuid:evaluation_id>/preview.png", views.picture, name="picture"),
    path("evaluations/<uuid:evaluation_id>/archive.tar", views.archive_file, name="archive"),
    re_path(rf"{_EVALUATION}/results\.(?P<extension>csv|json)$", views.results_file, name="results"),
]
