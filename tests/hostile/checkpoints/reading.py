"""Checkpoints that name files of the machine which loads them, by every route of the libraries' loaders."""

import json

from tests.hostile.checkpoints.base import (
    Files,
    Target,
    add,
    changed,
    settings,
    with_config,
    with_settings,
    with_template,
    with_tokenizer,
)

_SAYS_ITS_TOKENS = "{{ raise_exception('told: ' ~ bos_token ~ eos_token ~ pad_token) }}"


def _of_class(files: Files, name: str, **values: object) -> Files:
    """A tokenizer that one of the library's slow classes would build."""
    return with_template(with_settings(files, tokenizer_class=name, **values), _SAYS_ITS_TOKENS)


def _raising(files: Files, expression: str) -> Files:
    return with_template(files, "{{ raise_exception(" + expression + ") }}")


def _index_elsewhere(files: Files, target: Target) -> Files:
    index = {"metadata": {"total_size": 1}, "weight_map": {"lm_head.weight": "../../../../" + target.path.lstrip("/")}}
    return {**files, "model.safetensors.index.json": json.dumps(index).encode()}


def _adapter(files: Files, target: Target) -> Files:
    files = changed(files, "adapter_config.json", base_model_name_or_path=target.secrets, peft_type="LORA")
    return {**files, "adapter_model.safetensors": files["model.safetensors"]}


def _list_of_templates(files: Files, target: Target) -> Files:
    templates = [{"name": "default", "template": "{% import '" + target.path + "' as t %}{{ t }}"},
                 {"name": target.path, "template": target.path}]  # fmt: skip
    return with_settings({name: data for name, data in files.items() if "jinja" not in name}, chat_template=templates)


def _pretrained_parts(files: Files, target: Target) -> Files:
    part = {"_name_or_path": target.secrets, "model_type": "llama", "vocab_file": target.path}
    return with_config(files, text_config=part, encoder=part, decoder=part, backbone=target.path,
                       use_pretrained_backbone=True, pretrained_model_name_or_path=target.path)  # fmt: skip


def _files_of_a_slow_tokenizer(files: Files, target: Target) -> Files:
    files = _of_class(files, "LlamaTokenizer", use_fast=False, legacy=True, from_slow=True)
    link = target.path.encode()
    return {**files, "tokenizer.model": b"\x0a" + bytes([len(link)]) + link, "vocab.txt": link, "merges.txt": link}


def _special_tokens_of_a_file(files: Files, target: Target) -> Files:
    files = changed(files, "added_tokens.json", **{target.path: 3})
    bos = {"content": "<s>", "file": target.path}
    return changed(files, "special_tokens_map.json", bos_token=bos, vocab_file=target.path)


add({
    "the vocabulary of a BERT tokenizer": lambda files, target: _of_class(
        files, "BertTokenizer", vocab_file=target.path),
    "the argument vocab": lambda files, target: _of_class(files, "BertTokenizer", vocab=target.path),
    "the environment of the process": lambda files, _: _of_class(
        files, "BertTokenizer", vocab_file="/proc/self/environ", vocab="/proc/self/environ"),
    "the argument merges": lambda files, target: _of_class(
        files, "GPT2Tokenizer", merges=target.path, merges_file=target.path),
    "tokenizer_file": lambda files, target: with_settings(files, tokenizer_file=target.path),
    "positional arguments of the tokenizer": lambda files, target: _of_class(
        files, "BertTokenizer", init_inputs=[target.path]),
    "a sentencepiece model": lambda files, target: _of_class(
        files, "LlamaTokenizer", vocab_file=target.path, sp_model_kwargs={"model_file": target.path}),
    "a tiktoken file": lambda files, target: _of_class(
        files, "TikTokenTokenizer", vocab_file=target.path, tiktoken_file=target.path),
    "gguf_file of the tokenizer": lambda files, target: with_settings(files, gguf_file=target.path),
    "gguf_file of the model": lambda files, target: with_config(
        files, gguf_file=target.path, gguf={"file": target.path}),
    "a special tokens map elsewhere": lambda files, target: with_settings(
        files, special_tokens_map_file=target.path, added_tokens_file=target.path),
    "name_or_path": lambda files, target: with_config(
        with_settings(files, name_or_path=target.secrets), _name_or_path=target.secrets, name_or_path=target.path),
    "an index of weights that leaves the folder": _index_elsewhere,
    "transformers_weights": lambda files, target: with_config(files, transformers_weights=target.path),
    "the base model of an adapter": _adapter,
    "the base model of an adapter in the configuration": lambda files, target: with_config(
        files, base_model_name_or_path=target.path, adapter_path=target.path, peft_type="LORA"),
    "a template that includes one": lambda files, target: with_template(files, "{% include '" + target.path + "' %}"),
    "a template that is a list of further ones": _list_of_templates,
    "a folder of additional templates": lambda files, target: {
        **files, "additional_chat_templates/../../../x.jinja": target.path.encode()},
    "a template that climbs to the interpreter's modules": lambda files, target: _raising(
        files, "cycler.__init__.__globals__.os.popen('cat " + target.path + "').read()"),
    "formatting of texts in a template": lambda files, _: _raising(
        files, "'{0.__class__.__mro__[1].__subclasses__}'|format(messages) ~ "
               "'{0.__init__.__globals__}'.format(cycler)"),
    "generation_config.json": lambda files, target: changed(
        files, "generation_config.json", custom_generate=target.secrets, _from_model_config=False,
        assistant_model=target.path, prompt_lookup_num_tokens=10**9, stop_strings=[target.path],
        trust_remote_code=True),
    "pretrained parts that the configuration names": _pretrained_parts,
    "a model inside tokenizer.json that names files": lambda files, target: with_tokenizer(
        files, model={**settings(files, "tokenizer.json")["model"], "vocab": target.path, "merges": target.path,
                      "cache": target.path}),
    "a template in a file of its own": lambda files, target: {
        **files, "chat_template.jinja":
        ("{% extends '" + target.path + "' %}{% from '" + target.path + "' import x %}").encode()},
    "a template that is a setting of a setting": lambda files, target: changed(
        files, "chat_template.json", chat_template={"include": target.path}, file=target.path),
    "a slow tokenizer's own files": _files_of_a_slow_tokenizer,
    "the tokenizer that the model's configuration names": lambda files, target: with_config(
        files, tokenizer_class="BertTokenizer", tokenizer_name=target.path, vocab_file=target.path,
        _commit_hash=f"../../../{target.path}"),
    "further special tokens and their map": _special_tokens_of_a_file,
    "an adapter that the configuration points to": lambda files, target: with_config(
        files, _adapter_model_path=target.secrets, adapter_kwargs={"subfolder": target.path},
        adapters=[target.path], peft_config={"default": target.path}),
})  # fmt: skip
