"""Clients of other machines: guarded connections, retries, downloads, the hub."""
