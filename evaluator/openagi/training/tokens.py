"""The planner's tokenizer: byte-level BPE, trained on paraphrased requests and the names of the tools.

Every frequent word of these is one token, every other text is spelt in pieces of them and can be read back.
"""

from functools import cache

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from evaluator.core.tools.catalogues import OPENAGI
from evaluator.openagi.training.corpus.annotators import draw_annotator
from evaluator.openagi.training.corpus.paraphrases import draw_paraphrase, few_shot_lesson, zero_shot_lesson
from evaluator.training.special_tokens import END, END_ID, PAD, UNKNOWN

_READ = 4000
_SIZE = 1000
_STREAM = 6


@cache
def planner_tokenizer() -> Tokenizer:
    """Trained again by every process, always with the same result."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_SIZE,
        min_frequency=2,
        special_tokens=[PAD, END, UNKNOWN],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, END_ID)])
    return tokenizer


def _texts() -> list[str]:
    rng = np.random.default_rng(_STREAM)
    requests = [draw_paraphrase(annotator=draw_annotator(rng), rng=rng).request for _ in range(_READ)]
    forms = [zero_shot_lesson(rng=rng, names_tools=True), few_shot_lesson(rng=rng, shown=3)] * 10
    return [
        *requests,
        *(text for form in forms for text in (form.messages[0].content, form.answer)),
        *[*OPENAGI.tools] * 10,
    ]
