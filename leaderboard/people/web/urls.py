"""Addresses of the pages of tokens and teams."""

from django.urls import path

from leaderboard.people.web import views
from leaderboard.people.web.profiles import team_views

urlpatterns = [
    path("tokens/", views.tokens, name="tokens"),
    path("tokens/<str:token_id>/revoke/", views.revoke, name="revoke"),
    path("teams/", team_views.teams, name="teams"),
    path("teams/<slug:slug>/", team_views.team, name="team"),
    path("teams/<slug:slug>/describe/", team_views.describe, name="describe-team"),
    path("teams/<slug:slug>/accept/", team_views.accept, name="accept-invitation"),
    path("teams/<slug:slug>/decline/", team_views.decline, name="decline-invitation"),
    path("teams/<slug:slug>/withdraw/<str:username>/", team_views.withdraw, name="withdraw-invitation"),
    path("teams/<slug:slug>/remove/<str:username>/", team_views.remove, name="remove-member"),
    path("teams/<slug:slug>/hand-over/<str:username>/", team_views.hand_over, name="hand-over"),
]
