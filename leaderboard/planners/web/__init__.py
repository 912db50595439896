"""API and admin of planners: uploads, checkpoints, secret headers."""
