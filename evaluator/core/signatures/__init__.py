"""Signed results: statements of a site about its boards, and their verification. No Django, no network.

envelope.py    Ed25519 keys, and signatures over typed payloads (DSSE)
documents.py   documents that a site serves for verification
statements.py  signed statements, and the digests that bind rows and records to them
"""
