"""Outgoing emails and webhooks: a transactional outbox."""
