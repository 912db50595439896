"""Addresses of the pages."""

from django.urls import path, re_path

from leaderboard.boards.web import export_views, heat_views, home_views, plot_views, previews, row_views, views

app_name = "boards"

_SUITE = r"^boards/(?P<suite>[-a-zA-Z0-9_]+)"
_FILE = r"\.(?P<extension>csv|json|bib|parquet)$"
_ROW = r"/rows/(?P<evaluation>[-0-9a-fA-F]{36})\.(?P<extension>bib|csl\.json|cff)$"

urlpatterns = [
    path("", home_views.home, name="home"),
    path("docs/endpoint/", views.docs, name="docs"),
    path("feed.atom", export_views.site_feed, name="site-feed"),
    path("boards/<slug:suite>/", views.board, name="board"),
    path("boards/<slug:suite>/plots/", plot_views.plots, name="plots"),
    path("boards/<slug:suite>/tasks/", heat_views.heat, name="tasks"),
    path("boards/<slug:suite>/tasks.csv", heat_views.heat_file, name="tasks-file"),
    path("boards/<slug:suite>/causes/", views.causes, name="causes"),
    path("boards/<slug:suite>/rows/<id:evaluation>/", row_views.row, name="row"),
    path("boards/<slug:suite>/feed.atom", export_views.feed, name="feed"),
    path("boards/<slug:suite>/snapshots/", views.snapshots, name="snapshots"),
    path("boards/<slug:suite>/snapshots/<number:number>/", views.snapshot, name="snapshot"),
    path("boards/<slug:suite>/snapshots/<number:number>/preview.png", previews.board_picture, name="picture"),
    re_path(rf"{_SUITE}/snapshots/(?P<number>[0-9]{{1,9}}){_ROW}", export_views.row_file, name="row-file"),
    re_path(
        rf"{_SUITE}/pictures/(?P<picture>[a-z][-a-z0-9_]*)\.(?P<drawn_as>svg|png)$",
        plot_views.picture_file,
        name="picture-file",
    ),
    re_path(rf"{_SUITE}/snapshots/(?P<number>[0-9]{{1,9}}){_FILE}", export_views.snapshot_file, name="snapshot-file"),
    re_path(rf"{_SUITE}/newest{_FILE}", export_views.newest_file, name="newest-file"),
]
