"""Pages of workers: their logs, tokens and verifications."""
