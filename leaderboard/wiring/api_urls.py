"""URLs of the API, version 1."""

from django.urls import path, re_path

from leaderboard.boards.web import api as boards
from leaderboard.boards.web import signing_api as proofs
from leaderboard.catalog.web import urls as catalog
from leaderboard.causes.web import api as causes
from leaderboard.evaluations.web.api import details, evaluations
from leaderboard.evaluations.web.compare.api import ComparisonView
from leaderboard.messages.web import api as webhooks
from leaderboard.operations.web.leaving import api as account
from leaderboard.operations.web.monitoring.api import StatusDevicesView, StatusHistoryView, StatusView
from leaderboard.people.web import api
from leaderboard.people.web.profiles import api as profiles
from leaderboard.planners.web import api as planners
from leaderboard.platform.api.endpoints import NowhereView, SchemaView
from leaderboard.queue.web import api as workers
from leaderboard.queue.web.worker_api import urls as worker_api_urls
from leaderboard.quotas.web import api as quotas
from leaderboard.reliability.web import api as reliability
from leaderboard.rewards.web.api import RewardsJobView, RewardsView
from leaderboard.submissions.web import api as submissions
from leaderboard.submissions.web import endpoint_tests_api
from leaderboard.votes.web import urls as votes
from leaderboard.workbench.web import urls as workbench

app_name = "api"

_EVALUATION = "evaluations/<id:evaluation_id>/"

urlpatterns = [
    path("schema/", SchemaView.as_view(), name="schema"),
    path("checkpoints/", planners.CheckpointsView.as_view(), name="checkpoints"),
    path("uploads/", planners.UploadsView.as_view(), name="uploads"),
    path("uploads/<id:ticket_id>/", planners.UploadView.as_view(), name="upload"),
    path("submissions/", submissions.SubmissionsView.as_view(), name="submissions"),
    path("submissions/pending/<id:job_id>/", submissions.PendingSubmissionView.as_view(), name="pending-submission"),
    path("submissions/<id:submission_id>/", submissions.SubmissionView.as_view(), name="submission"),
    path("submissions/<id:submission_id>/header/", planners.HeaderView.as_view(), name="header"),
    path("submissions/<id:submission_id>/header/<str:role>/", planners.RoleHeaderView.as_view(), name="role-header"),
    path("evaluations/", evaluations.EvaluationsView.as_view(), name="evaluations"),
    path(_EVALUATION, evaluations.EvaluationView.as_view(), name="evaluation"),
    path(f"{_EVALUATION}results/", details.ResultsView.as_view(), name="results"),
    path(f"{_EVALUATION}results/<path:task_key>/", details.RecordView.as_view(), name="record"),
    path(f"{_EVALUATION}log/", workers.LogView.as_view(), name="log"),
    path(f"{_EVALUATION}breakdowns/", details.BreakdownsView.as_view(), name="breakdowns"),
    path(f"{_EVALUATION}causes/", causes.CausesView.as_view(), name="causes"),
    path(f"{_EVALUATION}failures/", details.FailuresView.as_view(), name="failures"),
    path(f"{_EVALUATION}others/<path:task_key>/", details.OthersView.as_view(), name="others"),
    path(f"{_EVALUATION}place/", details.PlaceView.as_view(), name="place"),
    path(f"{_EVALUATION}resume/", submissions.ResumeView.as_view(), name="resume"),
    path(f"{_EVALUATION}accept/", submissions.AcceptView.as_view(), name="accept"),
    path(f"{_EVALUATION}cancel/", submissions.CancelView.as_view(), name="cancel"),
    path(f"{_EVALUATION}rerun/", submissions.RerunView.as_view(), name="rerun"),
    path(f"{_EVALUATION}regrade/", submissions.RegradeView.as_view(), name="regrade"),
    path(f"{_EVALUATION}wait/", evaluations.WaitView.as_view(), name="wait"),
    path(f"{_EVALUATION}reliability/", reliability.ReliabilityView.as_view(), name="reliability"),
    path(f"{_EVALUATION}reliability/cancel/", reliability.CancelReliabilityView.as_view(), name="reliability-cancel"),
    path(f"{_EVALUATION}verify/", submissions.VerifyView.as_view(), name="verify"),
    path(f"{_EVALUATION}proof/", proofs.EvaluationProofView.as_view(), name="evaluation-proof"),
    path(f"{_EVALUATION}verifications/", evaluations.VerificationsView.as_view(), name="verifications"),
    path("status/", StatusView.as_view(), name="status"),
    path("status/history/", StatusHistoryView.as_view(), name="status-history"),
    path("status/devices/", StatusDevicesView.as_view(), name="status-devices"),
    path("users/<str:username>/", profiles.UserView.as_view(), name="user"),
    path("planners/", profiles.PlannersView.as_view(), name="planners"),
    path("planners/<number:planner_id>/", profiles.PlannerView.as_view(), name="planner"),
    path("endpoint-tests/", endpoint_tests_api.EndpointTestsView.as_view(), name="endpoint-tests"),
    path("endpoint-tests/<id:job_id>/", endpoint_tests_api.EndpointTestView.as_view(), name="endpoint-test"),
    path("rewards/", RewardsView.as_view(), name="rewards"),
    path("rewards/<id:job_id>/", RewardsJobView.as_view(), name="rewards-job"),
    path("wait/", evaluations.NewWaitView.as_view(), name="new-wait"),
    path("quota/", quotas.QuotaView.as_view(), name="quota"),
    *catalog.api_patterns,
    path("queue/", details.QueueView.as_view(), name="queue"),
    path("bundled-planners/", details.BundledPlannersView.as_view(), name="bundled-planners"),
    path("boards/<slug:slug>/", boards.BoardView.as_view(), name="board"),
    path("boards/<slug:slug>/regrade/", submissions.RegradeBoardView.as_view(), name="regrade-board"),
    path("boards/<slug:slug>/rows/", boards.BoardRowsView.as_view(), name="board-rows"),
    path("boards/<slug:slug>/plots/", boards.PlotsView.as_view(), name="board-plots"),
    path("boards/<slug:slug>/tasks/", boards.BoardTasksView.as_view(), name="board-tasks"),
    path("boards/<slug:slug>/causes/", causes.BoardCausesView.as_view(), name="board-causes"),
    path("boards/<slug:slug>/snapshots/", boards.SnapshotsView.as_view(), name="snapshots"),
    path("boards/<slug:slug>/snapshots/<number:number>/", boards.SnapshotView.as_view(), name="snapshot"),
    path("boards/<slug:slug>/withdrawals/", proofs.WithdrawalsView.as_view(), name="withdrawals"),
    path(
        "boards/<slug:slug>/snapshots/<number:number>/proof/", proofs.SnapshotProofView.as_view(), name="snapshot-proof"
    ),
    path("compare/", ComparisonView.as_view(), name="compare"),
    path("account/", account.AccountView.as_view(), name="account"),
    path("account/close/", account.CloseView.as_view(), name="close-account"),
    path("account/export/", account.ExportView.as_view(), name="export-account"),
    path("tokens/", api.TokensView.as_view(), name="tokens"),
    path("tokens/<slug:token_id>/", api.TokenView.as_view(), name="token"),
    path("worker-tokens/", workers.WorkerTokensView.as_view(), name="worker-tokens"),
    path("worker-tokens/<id:token_id>/", workers.WorkerTokenView.as_view(), name="worker-token"),
    path("teams/", api.TeamsView.as_view(), name="teams"),
    path("teams/<slug:slug>/", api.TeamView.as_view(), name="team"),
    path("teams/<slug:slug>/members/", api.MembersView.as_view(), name="members"),
    path("teams/<slug:slug>/members/<str:username>/", api.MemberView.as_view(), name="member"),
    path("teams/<slug:slug>/accept/", api.AcceptView.as_view(), name="accept-invitation"),
    path("teams/<slug:slug>/owner/", api.OwnerView.as_view(), name="owner"),
    path("mails/", webhooks.MailsView.as_view(), name="mails"),
    path("webhooks/", webhooks.WebhooksView.as_view(), name="webhooks"),
    path("webhooks/<id:webhook_id>/", webhooks.WebhookView.as_view(), name="webhook"),
    path("webhooks/<id:webhook_id>/test/", webhooks.TestView.as_view(), name="test-webhook"),
    *workbench.api_patterns,
    *votes.api_patterns,
    *workbench.worker_patterns,
    *worker_api_urls.urlpatterns,
    # Only with the trailing slash, which is added to other paths.
    re_path(r"^[\s\S]*/$", NowhereView.as_view(), name="nowhere"),
]
