"""The bilingual grammar: everything that is said in the miniature world, in English and in German."""

from evaluator.miniature.grammar.bilingual import Bilingual, joined
from evaluator.miniature.grammar.captions import caption, main_caption
from evaluator.miniature.grammar.documents import Document, DocumentQuestion, draw_document, draw_document_question
from evaluator.miniature.grammar.labels import label, label_of, object_names
from evaluator.miniature.grammar.masking import MASK, mask_word
from evaluator.miniature.grammar.questions import Question, draw_question
from evaluator.miniature.grammar.reviews import Review, draw_review

__all__ = [
    "MASK",
    "Bilingual",
    "Document",
    "DocumentQuestion",
    "Question",
    "Review",
    "caption",
    "draw_document",
    "draw_document_question",
    "draw_question",
    "draw_review",
    "joined",
    "label",
    "label_of",
    "main_caption",
    "mask_word",
    "object_names",
]
