"""Uploads: admitted by a ticket before a byte is read, and kept on a volume of their own until they are checked."""
