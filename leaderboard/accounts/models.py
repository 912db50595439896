"""People who submit planners."""

from django.contrib.auth.models import AbstractUser


class User(AbstractUser):
    """A person with an account. Its own class from the start, so that it can grow without a painful migration."""
