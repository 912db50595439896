"""Addresses of the documentation."""

from django.urls import path

from leaderboard.help.web.documents import views

app_name = "handbook"

urlpatterns = [
    path("docs/reference/", views.reference, name="reference"),
    path("docs/examples/<path:name>", views.example_file, name="example"),
    path("docs/pictures/<str:name>", views.picture_file, name="picture"),
    path("docs/<slug:slug>/", views.chapter, name="chapter"),
]
