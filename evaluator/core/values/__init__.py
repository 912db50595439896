"""The values that flow between experts: pictures, texts, clips, and what was found in a picture.

An *artefact* is the stored form of a value: bytes with a media type, named by the SHA-256 of the bytes.
"""
