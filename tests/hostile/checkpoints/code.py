"""Checkpoints that come with code, or that name code elsewhere."""

import io
import json
import pickle  # noqa: TID251 - what hostile checkpoints are made of
import zipfile

from tests.hostile.checkpoints.base import Files, Target, add, changed, tensors, with_config, with_settings

_PROGRAM = b"import os\nraise SystemExit(os.environ)\n"


class _Leak:
    """Reads a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return eval, (f"open({self._path!r}).read()",)


def _pickled(target: Target) -> bytes:
    return pickle.dumps(_Leak(target.path))


def _quantized(files: Files, **values: object) -> Files:
    return with_config(files, quantization_config=values)


def _configuration_class(files: Files, target: Target) -> Files:
    program = f"from transformers import LlamaConfig\nraise ValueError(open({target.path!r}).read())\n"
    files = with_config(files, auto_map={"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"})
    return {**files, "own.py": program.encode()}


def _generation_loop(files: Files, target: Target) -> Files:
    program = f"def generate(model, **_):\n    raise ValueError(open({target.path!r}).read())\n"
    files = changed(files, "generation_config.json", custom_generate=".")
    return {**files, "custom_generate/generate.py": program.encode()}


def _pickle_of_weights(files: Files, target: Target) -> Files:
    without = {name: data for name, data in files.items() if name != "model.safetensors"}
    return {**without, "pytorch_model.bin": _pickled(target)}


def _torch_archive(files: Files, target: Target) -> Files:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("model/data.pkl", _pickled(target))
        archive.writestr("model/version", "3\n")
    return {**files, "model.safetensors": buffer.getvalue()}


def _index_of_a_pickle(files: Files, target: Target) -> Files:
    index = {"metadata": {}, "weight_map": {"lm_head.weight": "training.json"}}
    return {**files, "training.json": _pickled(target), "model.safetensors.index.json": json.dumps(index).encode()}


def _trust_in_itself(files: Files, _: Target) -> Files:
    files = with_config(files, trust_remote_code=True, auto_map={"AutoModelForCausalLM": "own.Model"})
    return with_settings(files, trust_remote_code=True, use_fast=False)


def _classes_by_name(files: Files, target: Target) -> Files:
    call = {"_type": "os.system", "_data": [f"cat {target.path}"]}
    kind = {"default": {"_type": "Int4WeightOnlyConfig", "_version": 10**9, "_data": call}}
    return _quantized(files, quant_method="torchao", quant_type=kind)


add({
    "a configuration class of its own": _configuration_class,
    "a class of a repository on the hub": lambda files, _: with_config(
        files, auto_map={"AutoModelForCausalLM": "mallory/own--own.Model"}),
    "a tokenizer class of its own": lambda files, _: with_settings(
        files, auto_map={"AutoTokenizer": ["own.Tokenizer", None]}, tokenizer_class="Own"),
    "a pipeline of its own": lambda files, _: with_config(
        files, custom_pipelines={"text-generation": {"impl": "own.Pipeline", "pt": ["AutoModel"]}}),
    "a generation loop of its own": _generation_loop,
    "an attention kernel of the hub": lambda files, _: with_config(
        files, attn_implementation="mallory/kernel", _attn_implementation="mallory/kernel@main:run"),
    "kernels of the hub for other layers": lambda files, _: with_config(
        files, use_kernels=True, kernel_config={"RMSNorm": "mallory/kernel:RMSNorm"},
        experts_implementation="mallory/experts"),
    "a method of quantisation with a module of its own": lambda files, target: _quantized(
        files, quant_method="mallory", modules_to_not_convert=[target.path], checkpoint=target.path,
        dataset=target.path),
    "calibration by quantisation with GPTQ": lambda files, target: _quantized(
        files, quant_method="gptq", bits=4, dataset=[target.path], tokenizer=target.secrets),
    "a pickle beside the weights": _pickle_of_weights,
    "a pickle under the name of safetensors": lambda files, target: {**files, "model.safetensors": _pickled(target)},
    "an archive of torch's under the name of safetensors": _torch_archive,
    "an index that names a pickle": _index_of_a_pickle,
    "trust that it grants itself": _trust_in_itself,
    "kernels that a method of quantisation fetches": lambda files, target: _quantized(
        files, quant_method="mxfp4", modules_to_not_convert=[], kernels=target.path, repo_id="mallory/kernels"),
    "classes by name in settings of torchao": _classes_by_name,
    "eight-bit weights with a library of its own": lambda files, target: _quantized(
        files, quant_method="bitsandbytes", load_in_8bit=True, bnb_4bit_quant_storage="x", library=target.path),
    "an archive for diffusers": lambda files, _: {
        **files, "model.dduf": tensors({}), "model_index.json": b'{"_class_name": ["own", "Pipeline"]}'},
    "a class of the library that is no language model": lambda files, _: with_config(
        files, architectures=["LlavaForConditionalGeneration", "__import__('os')"], model_type="llava"),
    "a type of torch's by name": lambda files, _: with_config(
        files, torch_dtype="load", dtype="hub.load", hidden_act="__import__"),
    "files of Python's that are found before the library's": lambda files, _: {
        **files, "sitecustomize.py": _PROGRAM, "json.py": _PROGRAM, "torch.py": _PROGRAM},
})  # fmt: skip
