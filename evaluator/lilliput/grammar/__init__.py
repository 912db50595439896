"""The bilingual grammar: everything that is said in the miniature world, in English and in German."""

from evaluator.lilliput.grammar.bilingual import Bilingual, joined
from evaluator.lilliput.grammar.captions import caption
from evaluator.lilliput.grammar.labels import label, label_of, object_names
from evaluator.lilliput.grammar.questions import Question, draw_question

__all__ = ["Bilingual", "Question", "caption", "draw_question", "joined", "label", "label_of", "object_names"]
