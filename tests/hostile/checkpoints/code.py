"""Checkpoints that come with code, or that name code elsewhere."""

import io
import json
import pickle  # noqa: TID251 - what hostile checkpoints are made of
import zipfile

from tests.hostile.checkpoints.base import Files, Target, case, changed, tensors, with_config, with_settings

RUNS = "have code run: "
_PROGRAM = b"import os\nraise SystemExit(os.environ)\n"


class _Leak:
    """Reads a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return eval, (f"open({self._path!r}).read()",)


@case(tries=RUNS + "a configuration class of its own", reads=True)
def auto_map_of_the_configuration(files: Files, target: Target) -> Files:
    program = f"from transformers import LlamaConfig\nraise ValueError(open({target.path!r}).read())\n"
    files = with_config(files, auto_map={"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"})
    return {**files, "own.py": program.encode()}


@case(tries=RUNS + "a class of a repository on the hub", reads=True)
def auto_map_of_the_hub(files: Files, target: Target) -> Files:
    del target
    return with_config(files, auto_map={"AutoModelForCausalLM": "mallory/own--own.Model"})


@case(tries=RUNS + "a tokenizer class of its own", reads=True)
def auto_map_of_the_tokenizer(files: Files, target: Target) -> Files:
    del target
    return with_settings(files, auto_map={"AutoTokenizer": ["own.Tokenizer", None]}, tokenizer_class="Own")


@case(tries=RUNS + "a pipeline of its own", reads=True)
def custom_pipelines(files: Files, target: Target) -> Files:
    del target
    return with_config(files, custom_pipelines={"text-generation": {"impl": "own.Pipeline", "pt": ["AutoModel"]}})


@case(tries=RUNS + "a generation loop of its own", reads=True)
def custom_generate(files: Files, target: Target) -> Files:
    program = f"def generate(model, **_):\n    raise ValueError(open({target.path!r}).read())\n"
    files = changed(files, "generation_config.json", custom_generate=".")
    return {**files, "custom_generate/generate.py": program.encode()}


@case(tries=RUNS + "an attention kernel of the hub", reads=True)
def attention_of_the_hub(files: Files, target: Target) -> Files:
    del target
    return with_config(files, attn_implementation="mallory/kernel", _attn_implementation="mallory/kernel@main:run")


@case(tries=RUNS + "kernels of the hub for other layers", reads=True)
def kernels_of_the_hub(files: Files, target: Target) -> Files:
    del target
    return with_config(files, use_kernels=True, kernel_config={"RMSNorm": "mallory/kernel:RMSNorm"},
                       experts_implementation="mallory/experts")  # fmt: skip


@case(tries=RUNS + "a method of quantisation with a module of its own", reads=True)
def quantisation_method(files: Files, target: Target) -> Files:
    return with_config(files, quantization_config={"quant_method": "mallory", "modules_to_not_convert": [target.path],
                                                   "checkpoint": target.path, "dataset": target.path})  # fmt: skip


@case(tries=RUNS + "calibration by quantisation with GPTQ", reads=True)
def quantisation_with_data(files: Files, target: Target) -> Files:
    return with_config(files, quantization_config={"quant_method": "gptq", "bits": 4, "dataset": [target.path],
                                                   "tokenizer": target.secrets})  # fmt: skip


@case(tries=RUNS + "a pickle beside the weights", reads=True)
def pickle_of_weights(files: Files, target: Target) -> Files:
    without = {name: data for name, data in files.items() if name != "model.safetensors"}
    return {**without, "pytorch_model.bin": pickle.dumps(_Leak(target.path))}


@case(tries=RUNS + "a pickle under the name of safetensors", reads=True)
def pickle_named_safetensors(files: Files, target: Target) -> Files:
    return {**files, "model.safetensors": pickle.dumps(_Leak(target.path))}


@case(tries=RUNS + "a pickle in an archive of torch's under the name of safetensors", reads=True)
def torch_archive_named_safetensors(files: Files, target: Target) -> Files:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("model/data.pkl", pickle.dumps(_Leak(target.path)))
        archive.writestr("model/version", "3\n")
    return {**files, "model.safetensors": buffer.getvalue()}


@case(tries=RUNS + "an index that names a pickle", reads=True)
def index_of_a_pickle(files: Files, target: Target) -> Files:
    index = {"metadata": {}, "weight_map": {"lm_head.weight": "training.json"}}
    leak = pickle.dumps(_Leak(target.path))
    return {**files, "training.json": leak, "model.safetensors.index.json": json.dumps(index).encode()}


@case(tries=RUNS + "an archive for diffusers")
def diffusers_archive(files: Files, target: Target) -> Files:
    del target
    return {**files, "model.dduf": tensors({}), "model_index.json": b'{"_class_name": ["own", "Pipeline"]}'}


@case(tries=RUNS + "a class of the library that is no language model")
def class_that_is_no_language_model(files: Files, target: Target) -> Files:
    del target
    return with_config(files, architectures=["LlavaForConditionalGeneration", "__import__('os')"], model_type="llava")


@case(tries=RUNS + "a type of torch's by name")
def torch_type_by_name(files: Files, target: Target) -> Files:
    del target
    return with_config(files, torch_dtype="load", dtype="hub.load", hidden_act="__import__")


@case(tries=RUNS + "a file of Python's that is found before the library's")
def shadowing_modules(files: Files, target: Target) -> Files:
    del target
    return {**files, "sitecustomize.py": _PROGRAM, "json.py": _PROGRAM, "torch.py": _PROGRAM}


@case(tries=RUNS + "trust that it grants itself", reads=True)
def trust_remote_code(files: Files, target: Target) -> Files:
    del target
    files = with_config(files, trust_remote_code=True, auto_map={"AutoModelForCausalLM": "own.Model"})
    return with_settings(files, trust_remote_code=True, use_fast=False)


@case(tries=RUNS + "kernels that a method of quantisation fetches", reads=True)
def kernels_of_a_quantisation(files: Files, target: Target) -> Files:
    return with_config(files, quantization_config={"quant_method": "mxfp4", "modules_to_not_convert": [],
                                                   "kernels": target.path, "repo_id": "mallory/kernels"})  # fmt: skip


@case(tries=RUNS + "classes by name in settings of torchao", reads=True)
def quantisation_by_class_name(files: Files, target: Target) -> Files:
    kind = {"default": {"_type": "Int4WeightOnlyConfig", "_version": 10**9, "_data": {"_type": "os.system", "_data": [
        f"cat {target.path}"]}}}  # fmt: skip
    return with_config(files, quantization_config={"quant_method": "torchao", "quant_type": kind})


@case(tries=RUNS + "eight-bit weights with a library of its own", reads=True)
def quantisation_with_a_library(files: Files, target: Target) -> Files:
    return with_config(files, quantization_config={"quant_method": "bitsandbytes", "load_in_8bit": True,
                                                   "bnb_4bit_quant_storage": "x", "library": target.path})  # fmt: skip
