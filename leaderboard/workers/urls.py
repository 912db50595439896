"""Addresses of the pages."""

from django.urls import path

from leaderboard.workers import views

app_name = "workers"

urlpatterns = [
    path("evaluations/<uuid:evaluation_id>/log/", views.log, name="log"),
    path("evaluations/<uuid:evaluation_id>/log/tail/", views.log_tail, name="tail"),
]
