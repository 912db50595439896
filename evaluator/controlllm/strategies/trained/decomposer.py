"""The trained decomposer: a small T5 that writes the linear form of a request's decomposition, greedily.

At each step only the tokens that the grammar allows can be chosen, so whatever the network has learnt, what it writes
is a decomposition by the protocol whose files and texts are those of the request. Torch is imported when it is loaded.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from evaluator.controlllm.strategies.trained.encoding import Encoding
from evaluator.controlllm.strategies.trained.linear import END, Grammar, LinearSubtask, parsed
from evaluator.controlllm.strategies.trained.reading import Reading
from evaluator.controlllm.strategies.trained.shipped import DECOMPOSER, shipped_folder

if TYPE_CHECKING:
    from transformers import T5ForConditionalGeneration

_LOADING = Lock()


@dataclass(frozen=True, slots=True)
class Decomposer:
    """A T5 with its tokens."""

    module: "T5ForConditionalGeneration"
    encoding: Encoding

    @classmethod
    def from_folder(cls, folder: Path) -> "Decomposer":
        """The decomposer of a folder with `config.json`, `model.safetensors` and `tokenizer.json`.

        Raises:
            OSError: there is none.
        """
        from transformers import T5ForConditionalGeneration

        from evaluator.execution.experts.pretrained import load_pretrained

        module = load_pretrained(T5ForConditionalGeneration, folder=folder, device="cpu")
        return cls(module=module, encoding=Encoding.load(folder))

    def decompose(self, reading: Reading) -> tuple[LinearSubtask, ...]:
        """The subtasks of a request; none only where it holds neither words nor files."""
        import torch

        grammar = Grammar(reading)
        if not reading.pieces or grammar.allowed([]) == [END]:
            return ()
        sequence: list[str] = []
        with torch.inference_mode():
            ids = torch.tensor([self.encoding.read(reading)])
            encoded = self.module.encoder(input_ids=ids)
            token, cache_ = self.module.config.decoder_start_token_id, None
            while not sequence or sequence[-1] != END:
                out = self.module(
                    encoder_outputs=encoded, decoder_input_ids=torch.tensor([[token]]), past_key_values=cache_,
                    use_cache=True,
                )  # fmt: skip
                cache_ = out.past_key_values
                allowed = [self.encoding.number(one) for one in grammar.allowed(sequence)]
                token = allowed[int(out.logits[0, -1, allowed].argmax())]
                sequence.append(self.encoding.token(token))
        return parsed(sequence)


def shipped_decomposer() -> Decomposer:
    """The decomposer that comes with PlanArena, loaded once."""
    with _LOADING:
        return _shipped()


@cache
def _shipped() -> Decomposer:
    return Decomposer.from_folder(shipped_folder(DECOMPOSER))
