"""Writes the network for onnxruntime: int8 weights with a scale for each row, float32 arithmetic.

Rounding by row loses nothing that matters, while activations in int8, as of dynamic quantisation, lose much.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

Weights = Mapping[str, NDArray[np.float32]]
_HEADS = 12
_EPSILON = 1e-12
_OPSET, _IR = 20, 10


def rows_in_int8(weights: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """The rows of a matrix in int8, and the scale of each, of shape (rows, 1)."""
    scales = np.maximum(np.abs(weights).max(axis=1, keepdims=True), 1e-8) / 127
    return np.rint(weights / scales).astype(np.int8), scales.astype(np.float32)


class _Graph:
    """Nodes and constants of an ONNX graph, named in order."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: NDArray[np.generic] | list[int] | float, name: str = "") -> str:
        array = np.asarray(value, dtype=np.float32) if isinstance(value, float) else np.asarray(value)
        name = name or f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, name: str) -> str:
        return self.constant(self.weights[name], name)

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        output = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def linear(self, states: str, name: str) -> str:
        values, scales = rows_in_int8(self.weights[f"{name}.weight"])
        # Not DequantizeLinear, which onnxruntime would compute for every pair: a product of constants is computed once.
        stored = self.add("Cast", self.constant(np.ascontiguousarray(values.T), f"{name}.weight"), to=TensorProto.FLOAT)
        matrix = self.add("Mul", stored, self.constant(np.ascontiguousarray(scales.T), f"{name}.scale"))
        return self.add("Add", self.add("MatMul", states, matrix), self.weight(f"{name}.bias"))

    def norm(self, states: str, name: str) -> str:
        scale, bias = (self.weight(f"{name}.{part}") for part in ("weight", "bias"))
        return self.add("LayerNormalization", states, scale, bias, axis=-1, epsilon=_EPSILON)


def _embedded(graph: _Graph) -> str:
    name = "body.embeddings"
    values, scales = rows_in_int8(graph.weights[f"{name}.word_embeddings.weight"])
    rows = graph.add("Gather", graph.constant(values, f"{name}.word_embeddings.weight"), "ids")
    scale = graph.add("Gather", graph.constant(scales, f"{name}.word_embeddings.scale"), "ids")
    words = graph.add("Mul", graph.add("Cast", rows, to=TensorProto.FLOAT), scale)
    length = graph.add("Shape", "ids", start=1, end=2)
    places = graph.add("Slice", graph.weight(f"{name}.position_embeddings.weight"), graph.constant([0]), length)
    types = graph.add("Gather", graph.weight(f"{name}.token_type_embeddings.weight"), "types")
    return graph.norm(graph.add("Add", graph.add("Add", words, types), places), f"{name}.LayerNorm")


def _attended(graph: _Graph, states: str, *, name: str, width: int) -> str:
    split = graph.constant([0, 0, _HEADS, width // _HEADS])
    orders = {"query": [0, 2, 1, 3], "key": [0, 2, 3, 1], "value": [0, 2, 1, 3]}
    query, key, value = (
        graph.add("Transpose", graph.add("Reshape", graph.linear(states, f"{name}.self.{part}"), split), perm=order)
        for part, order in orders.items()
    )
    scale = graph.constant(float((width // _HEADS) ** -0.5))
    weights = graph.add("Softmax", graph.add("Mul", graph.add("MatMul", query, key), scale), axis=-1)
    mixed = graph.add("Transpose", graph.add("MatMul", weights, value), perm=[0, 2, 1, 3])
    joined = graph.add("Reshape", mixed, graph.constant([0, 0, width]))
    output = graph.linear(joined, f"{name}.output.dense")
    return graph.norm(graph.add("Add", output, states), f"{name}.output.LayerNorm")


def write_onnx(*, weights: Path, out: Path) -> None:
    """Write the graph: inputs `ids` and `types` of shape (pairs, tokens) without padding, output (pairs,) in [0, 1].

    Args:
        weights: safetensors of a `PairNetwork`.
        out: the ONNX file.
    """
    graph = _Graph(load_file(weights))
    width = graph.weights["head.weight"].shape[1]
    layers = 1 + max(int(name.split(".")[3]) for name in graph.weights if name.startswith("body.encoder.layer."))
    states = _embedded(graph)
    for layer in range(layers):
        name = f"body.encoder.layer.{layer}"
        states = _attended(graph, states, name=f"{name}.attention", width=width)
        inner = graph.add("Gelu", graph.linear(states, f"{name}.intermediate.dense"))
        output = graph.linear(inner, f"{name}.output.dense")
        states = graph.norm(graph.add("Add", output, states), f"{name}.output.LayerNorm")
    mean = graph.add("ReduceMean", states, graph.constant([1]), keepdims=0)
    logit = graph.linear(graph.add("Tanh", graph.linear(mean, "pool")), "head")
    flat = graph.add("Reshape", graph.add("Sigmoid", logit), graph.constant([-1]))
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["pairs", "tokens"]) for name in ("ids", "types")]
    outputs = [helper.make_tensor_value_info(flat, TensorProto.FLOAT, ["pairs"])]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "same-meaning", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR,
        producer_name="planarena",
    )
    onnx.checker.check_model(model)
    onnx.save(model, out)
