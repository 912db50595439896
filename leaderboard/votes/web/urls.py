"""URLs of votes."""

from django.urls import path

from leaderboard.votes.web import api, views

_PAIR = "workbench/pairs/<id:pair_id>/"

app_name = "votes"
urlpatterns = [
    path("workbench/votes/", views.table, name="table"),
    path("workbench/votes/<slug:suite>.jsonl", views.export, name="export"),
    path("workbench/votes/planners/<number:planner_id>/", views.opt_out, name="opt-out"),
    path("workbench/pairs/", views.ask, name="ask"),
    path(_PAIR, views.pair, name="pair"),
    path(f"{_PAIR}vote/", views.vote, name="vote"),
    path(f"{_PAIR}names/", views.names, name="names"),
    path(f"{_PAIR}withdraw/", views.withdraw, name="withdraw"),
]
api_patterns = [
    path("pairs/", api.PairsView.as_view(), name="pairs"),
    path("pairs/<id:pair_id>/", api.PairView.as_view(), name="pair"),
    path("pairs/<id:pair_id>/vote/", api.VoteView.as_view(), name="pair-vote"),
    path("pairs/<id:pair_id>/names/", api.NamesView.as_view(), name="pair-names"),
    path("votes/<slug:slug>/", api.StandingsView.as_view(), name="votes"),
    path("votes/<slug:slug>/export/", api.VotesExportView.as_view(), name="votes-export"),
    path("planners/<number:planner_id>/votes/", api.OptOutView.as_view(), name="planner-votes"),
]
