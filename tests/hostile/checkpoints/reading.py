"""Checkpoints that name files of the machine which loads them, by every route of the libraries' loaders."""

import json

from tests.hostile.checkpoints.base import (
    Files,
    Target,
    case,
    changed,
    settings,
    with_config,
    with_settings,
    with_template,
    with_tokenizer,
)

READS = "read a file through "
_TELLS = "{{ raise_exception('told: ' ~ bos_token ~ eos_token ~ pad_token) }}"
"""Lets a row say what the special tokens are."""


def _of_class(files: Files, name: str, **values: object) -> Files:
    """A tokenizer that one of the library's slow classes would build."""
    return with_template(with_settings(files, tokenizer_class=name, **values), _TELLS)


@case(tries=READS + "the vocabulary of a BERT tokenizer", reads=True)
def vocab_file_of_bert(files: Files, target: Target) -> Files:
    return _of_class(files, "BertTokenizer", vocab_file=target.path)


@case(tries=READS + "the argument `vocab`", reads=True)
def vocab_argument(files: Files, target: Target) -> Files:
    return _of_class(files, "BertTokenizer", vocab=target.path)


@case(tries=READS + "the environment of the process", reads=True)
def vocab_is_the_environment(files: Files, target: Target) -> Files:
    del target
    return _of_class(files, "BertTokenizer", vocab_file="/proc/self/environ", vocab="/proc/self/environ")


@case(tries=READS + "the argument `merges`", reads=True)
def merges_argument(files: Files, target: Target) -> Files:
    return _of_class(files, "GPT2Tokenizer", merges=target.path, merges_file=target.path)


@case(tries=READS + "`tokenizer_file`", reads=True)
def tokenizer_file(files: Files, target: Target) -> Files:
    return with_settings(files, tokenizer_file=target.path)


@case(tries=READS + "positional arguments of the tokenizer", reads=True)
def init_inputs(files: Files, target: Target) -> Files:
    return _of_class(files, "BertTokenizer", init_inputs=[target.path])


@case(tries=READS + "a sentencepiece model", reads=True)
def sentencepiece_model(files: Files, target: Target) -> Files:
    return _of_class(files, "LlamaTokenizer", vocab_file=target.path, sp_model_kwargs={"model_file": target.path})


@case(tries=READS + "a tiktoken file", reads=True)
def tiktoken_file(files: Files, target: Target) -> Files:
    return _of_class(files, "TikTokenTokenizer", vocab_file=target.path, tiktoken_file=target.path)


@case(tries=READS + "`gguf_file` of the tokenizer", reads=True)
def gguf_of_the_tokenizer(files: Files, target: Target) -> Files:
    return with_settings(files, gguf_file=target.path)


@case(tries=READS + "`gguf_file` of the model", reads=True)
def gguf_of_the_model(files: Files, target: Target) -> Files:
    return with_config(files, gguf_file=target.path, gguf={"file": target.path})


@case(tries=READS + "a special tokens map elsewhere", reads=True)
def special_tokens_map_file(files: Files, target: Target) -> Files:
    return with_settings(files, special_tokens_map_file=target.path, added_tokens_file=target.path)


@case(tries=READS + "`name_or_path`", reads=True)
def name_or_path(files: Files, target: Target) -> Files:
    files = with_settings(files, name_or_path=target.secrets)
    return with_config(files, _name_or_path=target.secrets, name_or_path=target.path)


@case(tries=READS + "an index of weights that leaves the folder", reads=True)
def weight_map_elsewhere(files: Files, target: Target) -> Files:
    index = {"metadata": {"total_size": 1}, "weight_map": {"lm_head.weight": "../../../../" + target.path.lstrip("/")}}
    return {**files, "model.safetensors.index.json": json.dumps(index).encode()}


@case(tries=READS + "`transformers_weights`", reads=True)
def transformers_weights(files: Files, target: Target) -> Files:
    return with_config(files, transformers_weights=target.path)


@case(tries=READS + "the base model of an adapter", reads=True)
def adapter_of_a_path(files: Files, target: Target) -> Files:
    files = changed(files, "adapter_config.json", base_model_name_or_path=target.secrets, peft_type="LORA")
    return {**files, "adapter_model.safetensors": files["model.safetensors"]}


@case(tries=READS + "the base model of an adapter in the configuration", reads=True)
def adapter_in_the_configuration(files: Files, target: Target) -> Files:
    return with_config(files, base_model_name_or_path=target.path, adapter_path=target.path, peft_type="LORA")


@case(tries=READS + "a template that includes one", reads=True)
def template_includes(files: Files, target: Target) -> Files:
    return with_template(files, "{% include '" + target.path + "' %}")


@case(tries=READS + "a template that is a list of further ones", reads=True)
def template_list(files: Files, target: Target) -> Files:
    templates = [{"name": "default", "template": "{% import '" + target.path + "' as t %}{{ t }}"},
                 {"name": target.path, "template": target.path}]  # fmt: skip
    return with_settings({name: data for name, data in files.items() if "jinja" not in name}, chat_template=templates)


@case(tries=READS + "a folder of additional templates", reads=True)
def additional_chat_templates(files: Files, target: Target) -> Files:
    return {**files, "additional_chat_templates/../../../x.jinja": target.path.encode()}


@case(tries=READS + "a template that climbs to the interpreter's modules", reads=True)
def template_leaves_its_sandbox(files: Files, target: Target) -> Files:
    climb = "cycler.__init__.__globals__.os.popen('cat " + target.path + "').read()"
    return with_template(files, "{{ raise_exception(" + climb + ") }}")


@case(tries=READS + "formatting of texts in a template", reads=True)
def template_formats(files: Files, target: Target) -> Files:
    del target
    climb = "'{0.__class__.__mro__[1].__subclasses__}'|format(messages) ~ '{0.__init__.__globals__}'.format(cycler)"
    return with_template(files, "{{ raise_exception(" + climb + ") }}")


@case(tries=READS + "`generation_config.json`", reads=True)
def generation_settings(files: Files, target: Target) -> Files:
    return changed(files, "generation_config.json", custom_generate=target.secrets, _from_model_config=False,
                   assistant_model=target.path, prompt_lookup_num_tokens=10**9, stop_strings=[target.path],
                   trust_remote_code=True)  # fmt: skip


@case(tries=READS + "pretrained parts that the configuration names", reads=True)
def pretrained_parts(files: Files, target: Target) -> Files:
    part = {"_name_or_path": target.secrets, "model_type": "llama", "vocab_file": target.path}
    return with_config(files, text_config=part, encoder=part, decoder=part, backbone=target.path,
                       use_pretrained_backbone=True, pretrained_model_name_or_path=target.path)  # fmt: skip


@case(tries=READS + "a model inside tokenizer.json that names files", reads=True)
def files_in_tokenizer_json(files: Files, target: Target) -> Files:
    model = settings(files, "tokenizer.json")["model"]
    return with_tokenizer(files, model={**model, "vocab": target.path, "merges": target.path, "cache": target.path})


@case(tries=READS + "a template in a file of its own", reads=True)
def template_in_a_file(files: Files, target: Target) -> Files:
    template = "{% extends '" + target.path + "' %}{% from '" + target.path + "' import x %}"
    return {**files, "chat_template.jinja": template.encode()}


@case(tries=READS + "a template that is a setting of a setting", reads=True)
def template_in_settings(files: Files, target: Target) -> Files:
    return changed(files, "chat_template.json", chat_template={"include": target.path}, file=target.path)


@case(tries=READS + "a slow tokenizer's own files", reads=True)
def files_of_a_slow_tokenizer(files: Files, target: Target) -> Files:
    files = _of_class(files, "LlamaTokenizer", use_fast=False, legacy=True, from_slow=True)
    link = target.path.encode()
    return {**files, "tokenizer.model": b"\x0a" + bytes([len(link)]) + link, "vocab.txt": link, "merges.txt": link}


@case(tries=READS + "the tokenizer that the model's configuration names", reads=True)
def tokenizer_of_the_configuration(files: Files, target: Target) -> Files:
    return with_config(files, tokenizer_class="BertTokenizer", tokenizer_name=target.path, vocab_file=target.path,
                       _commit_hash=f"../../../{target.path}")  # fmt: skip


@case(tries=READS + "further special tokens and their map", reads=True)
def added_tokens_of_a_file(files: Files, target: Target) -> Files:
    files = changed(files, "added_tokens.json", **{target.path: 3})
    return changed(files, "special_tokens_map.json", bos_token={"content": "<s>", "file": target.path},
                   vocab_file=target.path)  # fmt: skip


@case(tries=READS + "an adapter that the configuration points to", reads=True)
def adapter_by_its_path(files: Files, target: Target) -> Files:
    return with_config(files, _adapter_model_path=target.secrets, adapter_kwargs={"subfolder": target.path},
                       adapters=[target.path], peft_config={"default": target.path})  # fmt: skip
