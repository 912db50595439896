"""API and admin of quotas."""
