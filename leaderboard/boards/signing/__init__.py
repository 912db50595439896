"""Signing what is published: the operator's keys, statements of snapshots and evaluations, and their proofs."""
