"""Into which memory submitted models must fit: what workers report, and what an operator sets."""

from datetime import timedelta

import pytest
from django.conf import settings as site_settings

from leaderboard.planners.gpu_memory import note_worker_gpu, workers_memory_bytes
from leaderboard.planners.kinds.language_models import too_large
from leaderboard.planners.models import WorkerGpu
from leaderboard.queue.workers.sessions import open_session
from leaderboard.queue.workers.tokens import create_worker_token
from tests.leaderboard.factories import make_user

pytestmark = pytest.mark.django_db
GB = 1024**3


def test_the_smallest_gpu_of_the_operators_workers_counts():
    assert workers_memory_bytes() == 24 * GB
    for size in (80, 40, 80):
        open_session(enrolment=site_settings.WORKER_TOKEN, gpu_memory_bytes=size * GB)
    open_session(enrolment=site_settings.WORKER_TOKEN)
    assert workers_memory_bytes() == 40 * GB
    assert WorkerGpu.objects.count() == 2
    assert not too_large(what="It", weights_bytes=30 * GB)
    assert too_large(what="It", weights_bytes=31 * GB) == (
        "It is too large: its weights have 31.0 GB, so that it needs about 40.3 GB of GPU memory, and the workers here "
        "have 40 GB."
    )


def test_a_gpu_that_no_worker_has_any_more_is_forgotten():
    note_worker_gpu(8 * GB)
    WorkerGpu.objects.update(seen_at=WorkerGpu.objects.get().seen_at - timedelta(days=8))
    assert workers_memory_bytes() == 24 * GB
    note_worker_gpu(80 * GB)
    assert WorkerGpu.objects.get().memory_bytes == 80 * GB


def test_self_hosted_workers_do_not_speak_for_the_site():
    own = create_worker_token(owner=make_user(), name="mine")
    open_session(enrolment=own.token, gpu_memory_bytes=8 * GB)
    assert not WorkerGpu.objects.exists()


def test_the_setting_of_the_operator_counts_before_reports(settings):
    note_worker_gpu(80 * GB)
    settings.GPU_MEMORY_GB = 16
    assert workers_memory_bytes() == 16 * GB
