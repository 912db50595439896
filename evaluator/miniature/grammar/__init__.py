"""The bilingual grammar: everything that is said in the miniature world, in English and in German."""
