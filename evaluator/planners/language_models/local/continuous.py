"""Free completions by continuous batching of `transformers`: a row that ends makes room for the next, and prompts that
begin alike are read once as far as they do (in pages of the cache).

Only for causal models and for calls that draw nothing. A request that fails here has no answer from here; the caller
answers it in plain batches, where one bad call is found by halving.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transformers import GenerationConfig
from transformers.generation.configuration_utils import ContinuousBatchingConfig
from transformers.generation.continuous_batching.utils import WorkloadHints

from evaluator.core.language_model import Completion
from evaluator.planners.language_models.local.generation import Prepared, completion_of
from evaluator.planners.language_models.local.network import Network

logger = logging.getLogger(__name__)

SILENT_SECONDS = 900.0
"""Without any request that ends in between: then the rest is given up here."""
MEMORY_SHARE = 0.6
"""Of the device's free memory, for keys and values: experts of the same process need room too."""
_POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSize:
    """How large the cache of keys and values is. None: as the library finds fit for the device."""

    page_size: int = 256
    """Tokens; as many must be the same at the beginning of two prompts for them to share the page."""
    pages: int | None = None
    batch_tokens: int | None = None


def is_suitable(*, network: Network, work: Prepared) -> bool:
    """Whether a call can be answered here."""
    return not network.is_seq2seq and work.grammar is None and work.call.temperature == 0


def continuous_completions(
    *, network: Network, works: Sequence[Prepared], size: CacheSize | None = None
) -> list[Completion | None]:
    """Completions of calls; None for each one that failed, and the log says why.

    Raises:
        Exception: whatever the library raises where it cannot run this model at all.
    """
    size = size or CacheSize()
    settings = ContinuousBatchingConfig(
        page_size=size.page_size,
        num_blocks=size.pages,
        max_batch_tokens=size.batch_tokens,
        max_memory_percent=MEMORY_SHARE,
        allow_block_sharing=True,
        # The library would fetch attention kernels, which are foreign programs, from the hub.
        auto_switch_to_flash=False,
    )
    longest = max(work.room for work in works)
    hints = WorkloadHints(
        max_prompt_length=max(len(work.prompt.ids) for work in works),
        max_generated_length=longest,
        num_requests=len(works),
    )
    with network.module.continuous_batching_context_manager(
        generation_config=GenerationConfig(
            max_new_tokens=longest, do_sample=False, eos_token_id=list(network.ends), pad_token_id=network.pad
        ),
        continuous_batching_config=settings,
        workload_hints=hints,
        warmup=network.device.type == "cuda",
        timeout=30.0,
    ) as manager:
        _submit(manager=manager, network=network, works=works)
        outputs = _collected(manager=manager, count=len(works))
    return [_completion(work, output=outputs.get(str(at)), network=network) for at, work in enumerate(works)]


def _submit(*, manager: Any, network: Network, works: Sequence[Prepared]) -> None:
    # Prompts that begin alike one after the other find each other's pages in the cache.
    for at in sorted(range(len(works)), key=lambda position: works[position].prompt.ids):
        manager.add_request(
            input_ids=list(works[at].prompt.ids),
            request_id=str(at),
            max_new_tokens=works[at].room,
            eos_token_id=list(network.ends),
        )


def _collected(*, manager: Any, count: int) -> Mapping[str, Any]:
    outputs: dict[str, Any] = {}
    heard = time.monotonic()
    while len(outputs) < count:
        output = manager.get_result(timeout=_POLL_SECONDS)
        if output is not None and output.is_finished():
            outputs[output.request_id] = output
            heard = time.monotonic()
        elif output is None and (not manager.is_running() or time.monotonic() - heard > SILENT_SECONDS):
            logger.warning("continuous batching ended with %d of %d requests open", count - len(outputs), count)
            break
    return outputs


def _completion(work: Prepared, *, output: Any, network: Network) -> Completion | None:
    if output is None or output.error is not None:
        logger.warning("continuous batching failed for a call: %s", "no answer" if output is None else output.error)
        return None
    return completion_of(work, tokens=tuple(output.generated_tokens), network=network)
