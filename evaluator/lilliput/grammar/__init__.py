"""The bilingual grammar: everything that is said in the miniature world, in English and in German."""

from evaluator.lilliput.grammar.bilingual import Bilingual, joined
from evaluator.lilliput.grammar.captions import caption, main_caption
from evaluator.lilliput.grammar.documents import Document, DocumentQuestion, draw_document, draw_document_question
from evaluator.lilliput.grammar.labels import label, label_of, object_names
from evaluator.lilliput.grammar.masking import MASK, mask_word
from evaluator.lilliput.grammar.questions import Question, draw_question
from evaluator.lilliput.grammar.reviews import Review, draw_review

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
