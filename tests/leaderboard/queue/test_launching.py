"""What the launcher of this machine is made with."""

from gpu_jobs.launchers import Limits
from leaderboard.queue.launching import local_launcher


def test_workers_have_limits_on_memory_and_time_unless_the_operator_switches_them_off(settings):
    limits = local_launcher()._limits
    assert limits.memory_bytes >= 2 * 1024**3
    assert limits.seconds == 43_200
    settings.LOCAL_WORKER_MEMORY, settings.LOCAL_WORKER_SECONDS = 0, 0
    assert local_launcher()._limits == Limits()
