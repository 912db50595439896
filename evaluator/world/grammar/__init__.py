"""The bilingual grammar: everything that is said in the miniature world, in English and in German."""

from evaluator.world.grammar.bilingual import Bilingual, joined
from evaluator.world.grammar.captions import caption, main_caption
from evaluator.world.grammar.documents import Document, DocumentQuestion, draw_document, draw_document_question
from evaluator.world.grammar.labels import label, label_of, object_names
from evaluator.world.grammar.masking import MASK, mask_word
from evaluator.world.grammar.questions import Question, draw_question
from evaluator.world.grammar.reviews import Review, draw_review

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
