"""Network clients: guarded connections, retries, downloads, the model hub."""
