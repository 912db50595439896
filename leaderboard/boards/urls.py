"""Addresses of the pages."""

from django.urls import path

from leaderboard.boards import views

app_name = "boards"

urlpatterns = [
    path("", views.home, name="home"),
    path("docs/", views.docs, name="docs"),
    path("boards/<slug:suite>/", views.board, name="board"),
    path("boards/<slug:suite>/snapshots/<int:number>/", views.snapshot, name="snapshot"),
]
