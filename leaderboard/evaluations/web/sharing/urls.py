"""Addresses of an evaluation's badge, pictures and downloads."""

from django.urls import path

from leaderboard.evaluations.web.sharing import views

app_name = "sharing"

urlpatterns = [
    path("evaluations/<id:evaluation_id>/badge.svg", views.badge, name="badge"),
    path("evaluations/<id:evaluation_id>/preview.png", views.picture, name="picture"),
    path("evaluations/<id:evaluation_id>/results.csv", views.results_file, {"ending": "csv"}, name="results-csv"),
    path("evaluations/<id:evaluation_id>/results.json", views.results_file, {"ending": "json"}, name="results-json"),
    path(
        "evaluations/<id:evaluation_id>/results.parquet",
        views.results_file,
        {"ending": "parquet"},
        name="results-parquet",
    ),
    path("evaluations/<id:evaluation_id>/archive.tar", views.archive_file, name="archive"),
]
