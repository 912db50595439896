"""Tiny language models with random weights, and tokenizers trained on the spot: what they say is fast, not sensible."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator.core.language_model import Following

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

NAMES = (
    "Text Summarization",
    "Text Generation",
    "Text",
    "Image Denoising",
    "Image Deblurring",
    "Colorization",
    "Sentiment Analysis",
)
TEXTS = [
    *NAMES,
    "Given a noisy image, how to return the text step by step?",
    "Text Generation, Image Denoising, Colorization",
    "summarize the text and return the sentiment of the analysis",
]
SPECIAL = ["<pad>", "</s>", "<unk>", "<s>"]
PAD, END, UNKNOWN, BEGIN = range(4)


class AnyOrder:
    """Names in any order, none twice, `least` to `most` of them; `after` forbids followers."""

    separator = ", "

    def __init__(self, names=NAMES, *, least=1, most=2, forbidden=()):
        self.names, self.least, self.most, self.forbidden = names, least, most, set(forbidden)
        self.asked = []

    def following(self, written):
        self.asked.append(written)
        last = written[-1] if written else None
        free = [name for name in self.names if name not in written and (last, name) not in self.forbidden]
        return Following(names=tuple(free) if len(written) < self.most else (), may_end=self.least <= len(written))


def completions(constraint, written=()):
    """Every completion that a constraint allows."""
    following = constraint.following(written)
    if following.may_end:
        yield written
    for name in following.names:
        yield from completions(constraint, (*written, name))


def byte_level_bpe(
    *, texts: Sequence[str] = TEXTS, size: int = 330, prefix_space: bool = False
) -> "PreTrainedTokenizerFast":
    """The kind of GPT-2's: a space belongs to the word after it, and any text can be spelt."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return _wrapped(tokenizer)


def unigram(*, texts: Sequence[str] = TEXTS, size: int = 120) -> "PreTrainedTokenizerFast":
    """The kind of T5's: words begin with a mark, pieces may cross punctuation, and the end is added to every text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator([*texts, *(f"{text}," for text in texts)], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", END)])
    return _wrapped(tokenizer)


def _wrapped(tokenizer: "Tokenizer", *, longest: int = 256) -> "PreTrainedTokenizerFast":
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        bos_token="<s>",
        model_max_length=longest,
        clean_up_tokenization_spaces=False,
    )


def gpt2(tokenizer, *, length=256, seed=0):
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    return GPT2LMHeadModel(
        GPT2Config(vocab_size=len(tokenizer), n_positions=length, n_embd=32, n_layer=2, n_head=2,
                   pad_token_id=PAD, eos_token_id=END, bos_token_id=BEGIN)
    )  # fmt: skip


def llama(tokenizer, *, length=256, seed=0):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=length, hidden_size=32, intermediate_size=64,
                    num_hidden_layers=2, num_attention_heads=2, pad_token_id=PAD, eos_token_id=END, bos_token_id=BEGIN)
    )  # fmt: skip


def opt(tokenizer, *, length=256, seed=0):
    import torch
    from transformers import OPTConfig, OPTForCausalLM

    torch.manual_seed(seed)
    return OPTForCausalLM(
        OPTConfig(vocab_size=len(tokenizer), max_position_embeddings=length, hidden_size=32, ffn_dim=64,
                  word_embed_proj_dim=32, num_hidden_layers=2, num_attention_heads=2, pad_token_id=PAD,
                  eos_token_id=END, bos_token_id=BEGIN)
    )  # fmt: skip


def t5(tokenizer, *, seed=0):
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(seed)
    return T5ForConditionalGeneration(
        T5Config(vocab_size=len(tokenizer), d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2,
                 pad_token_id=PAD, eos_token_id=END, decoder_start_token_id=PAD)
    )  # fmt: skip


def livelier(model, *, by=30.0):
    """Random models say the same whatever they are asked; with larger weights they do not."""
    import torch

    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(by ** (1 / 3))
    return model.eval()


def endless(model):
    """Special tokens, the end among them, are never the likeliest: otherwise rounding decides how long a text gets."""
    import torch

    with torch.no_grad():
        model.get_output_embeddings().weight[: len(SPECIAL)] = 0.0
    return model


def saved(folder: Path, *, model, tokenizer) -> Path:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


LLAMA_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}[INST] {{ message['content'] }} "
    "[/INST]{% elif message['role'] == 'assistant' %} {{ message['content'] }} {{ eos_token }}{% else %}"
    "<<SYS>>\n{{ message['content'] }}\n<</SYS>>\n{% endif %}{% endfor %}"
)


def released_llama(folder: Path, *, texts: Sequence[str], template: bool = False, size: int = 400, seed: int = 0):
    """A tiny LLaMA-2 in the layout of its release: BPE with bytes as a fallback, and a beginning before each text.

    Args:
        folder: where it is written.
        texts: what the tokenizer learns from.
        template: whether it has a chat template, as the chat variants.
        size: of the vocabulary.
        seed: of the weights.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, normalizers, processors, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    special = ["<unk>", "<s>", "</s>"]
    native = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    native.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    native.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=[*special, *(f"<0x{byte:02X}>" for byte in range(256))], show_progress=False
    )
    native.train_from_iterator(texts, trainer)
    native.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=native,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        clean_up_tokenization_spaces=False,
    )
    if template:
        tokenizer.chat_template = LLAMA_TEMPLATE
    torch.manual_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                    num_attention_heads=4, max_position_embeddings=1024, rms_norm_eps=1e-5, bos_token_id=1,
                    eos_token_id=2, pad_token_id=None, tie_word_embeddings=False)
    )  # fmt: skip
    model.half().save_pretrained(folder, max_shard_size="40KB")
    tokenizer.save_pretrained(folder)
    (folder / "LICENSE.txt").write_text("LLAMA 2 COMMUNITY LICENSE AGREEMENT\n")
    (folder / "README.md").write_text("---\nlicense: llama2\npipeline_tag: text-generation\n---\n# Llama\n")
    return folder
