"""Reports of `planarena doctor`."""

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from gpu_jobs.contract import DoctorReport, DoctorReportTaken
from leaderboard.queue.web.worker_api.messages import answer, validated
from leaderboard.queue.workers import doctor_reports
from leaderboard.queue.workers.authentication import HasWorkerSession, WorkerAuthentication
from leaderboard.queue.workers.tokens import Holder


class DoctorReportsView(APIView):
    """Takes a report about the device of an operator's worker, which replaces the last one about this class of devices,
    profile and weights."""

    authentication_classes = [WorkerAuthentication]
    permission_classes = [HasWorkerSession]
    throttle_scope = None
    holder: Holder
    """Set by the permission."""

    @extend_schema(operation_id="worker_doctor_report", request=DoctorReport, responses=DoctorReportTaken)
    def post(self, request: Request) -> HttpResponse:
        device = doctor_reports.keep(validated(DoctorReport, request.data), holder=self.holder)
        return answer(DoctorReportTaken(device=str(device)))
