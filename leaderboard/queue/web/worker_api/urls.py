"""URLs of the workers' API."""

from django.urls import path

from leaderboard.queue.web.worker_api import attempts, doctor_reports, leasing, objects, results

_ATTEMPT = "worker/attempts/<id:attempt_id>/"

urlpatterns = [
    path("worker/session/", leasing.SessionView.as_view(), name="worker-session"),
    path("worker/lease/", leasing.LeaseView.as_view(), name="lease"),
    path("worker/doctor-reports/", doctor_reports.DoctorReportsView.as_view(), name="doctor-reports"),
    path(f"{_ATTEMPT}heartbeat/", attempts.HeartbeatView.as_view(), name="heartbeat"),
    path(f"{_ATTEMPT}seed/", attempts.SeedView.as_view(), name="attempt-seed"),
    path(f"{_ATTEMPT}secret-header/", attempts.SecretHeaderView.as_view(), name="attempt-secret-header"),
    path(f"{_ATTEMPT}agent-turn/", attempts.AgentTurnView.as_view(), name="agent-turn"),
    path(f"{_ATTEMPT}checkpoints/<slug:digest>/", objects.CheckpointView.as_view(), name="attempt-checkpoint"),
    path(f"{_ATTEMPT}objects/missing/", objects.MissingObjectsView.as_view(), name="missing-objects"),
    path(f"{_ATTEMPT}objects/uploads/", objects.UploadsView.as_view(), name="attempt-uploads"),
    path(f"{_ATTEMPT}objects/", objects.BundleView.as_view(), name="bundle"),
    path(f"{_ATTEMPT}objects/<slug:digest>/", objects.ObjectView.as_view(), name="object"),
    path(f"{_ATTEMPT}results/", results.ResultsView.as_view(), name="deliver"),
    path(f"{_ATTEMPT}log/", results.LogView.as_view(), name="deliver-log"),
    path(f"{_ATTEMPT}finish/", results.FinishView.as_view(), name="finish"),
    path(f"{_ATTEMPT}fail/", attempts.FailView.as_view(), name="fail"),
]
