"""Signed results: what a site signs about its boards, and how anybody checks it. No Django, no network.

envelope.py    Ed25519 keys, and signatures over typed payloads (DSSE)
documents.py   what a site serves for verification
statements.py  what is signed, and the digests that bind rows and records to it
"""
