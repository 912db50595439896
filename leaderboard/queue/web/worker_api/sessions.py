"""Opening sessions."""

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.views import APIView

from gpu_jobs.contract import Session, SessionRequest
from leaderboard.queue.web.worker_api.messages import answer, validated
from leaderboard.queue.workers.authentication import IsEnrolled, WorkerAuthentication
from leaderboard.queue.workers.sessions import open_session


class SessionView(APIView):
    """Opens a session for an enrolled worker."""

    authentication_classes = [WorkerAuthentication]
    permission_classes = [IsEnrolled]
    throttle_scope = None

    @extend_schema(operation_id="worker_session", request=SessionRequest, responses={201: Session})
    def post(self, request: Request) -> HttpResponse:
        wanted = validated(SessionRequest, request.data)
        opened = open_session(enrolment=str(request.auth), evaluation_id=wanted.evaluation, suites=wanted.suites)
        return answer(opened, code=status.HTTP_201_CREATED)
