"""The bilingual grammar: all texts of the miniature world, in English and German."""
