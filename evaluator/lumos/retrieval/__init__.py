"""Retrieval of articles and their paragraphs by BM25 or by embeddings."""
