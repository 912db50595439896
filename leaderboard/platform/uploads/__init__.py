"""Uploads: admitted by a ticket before a byte is read, and written to a separate volume until they are validated."""
