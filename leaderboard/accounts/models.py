"""People who submit planners."""

from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person with an account. Its own class from the start, so that it can grow without a painful migration."""

    queue_weight = models.PositiveSmallIntegerField(default=1)
    """Set by the operator: a user with weight 2 gets twice the workers that one with weight 1 gets."""

    class Meta(AbstractUser.Meta):
        constraints = [models.CheckConstraint(condition=models.Q(queue_weight__gte=1), name="a_weight_is_at_least_one")]
