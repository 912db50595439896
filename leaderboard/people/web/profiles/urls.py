"""Addresses of the pages."""

from django.urls import path

from leaderboard.people.web.profiles import views

app_name = "profiles"

urlpatterns = [
    path("profile/", views.edit, name="edit"),
    path("users/<str:username>/", views.user, name="user"),
    path("planners/<number:planner_id>/", views.planner, name="planner"),
]
