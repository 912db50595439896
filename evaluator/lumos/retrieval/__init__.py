"""Articles, and finding them and their paragraphs by BM25."""
