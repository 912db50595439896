"""URLs of the workbench."""

from django.urls import path

from leaderboard.workbench.web import api, views, worker_api

_RUN = "workbench/<id:run_id>/"
_OF_WORKER = "worker/runs/<id:run_id>/"

app_name = "workbench"
urlpatterns = [
    path("workbench/", views.bench, name="bench"),
    path(_RUN, views.run, name="run"),
    path(f"{_RUN}events/", views.events, name="events"),
    path(f"{_RUN}cancel/", views.cancel, name="cancel"),
    path(f"{_RUN}again/", views.again, name="again"),
    path(f"{_RUN}next/", views.follow, name="next"),
    path(f"{_RUN}task.json", views.task, name="task"),
    path(f"{_RUN}run.zip", views.bundle, name="bundle"),
]
api_patterns = [
    path("runs/", api.RunsView.as_view(), name="runs"),
    path("runs/<id:run_id>/", api.RunView.as_view(), name="run"),
    path("runs/<id:run_id>/events/", api.RunEventsView.as_view(), name="run-events"),
    path("runs/<id:run_id>/cancel/", api.CancelRunView.as_view(), name="cancel-run"),
]
worker_patterns = [
    path("worker/runs/announced/", worker_api.RunsAnnouncedView.as_view(), name="runs-announced"),
    path("worker/runs/lease/", worker_api.RunLeaseView.as_view(), name="lease-run"),
    path(f"{_OF_WORKER}files/<number:number>/", worker_api.RunFileView.as_view(), name="run-file"),
    path(f"{_OF_WORKER}objects/", worker_api.RunObjectsView.as_view(), name="run-objects"),
    path(f"{_OF_WORKER}events/", worker_api.RunEventsView.as_view(), name="deliver-run-events"),
    path(f"{_OF_WORKER}return/", worker_api.RunReturnView.as_view(), name="return-run"),
]
