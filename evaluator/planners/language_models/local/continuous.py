"""Free completions by continuous batching of `transformers`: a row that ends makes room for the next, and prompts share
the cache pages of a common prefix.

Only for causal models and greedy decoding. The caller answers failed requests in plain batches, where bisection
isolates a bad call.
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
"""After this long without a finished request, the remaining ones fail."""
MEMORY_SHARE = 0.6
"""Share of the device's free memory for keys and values: experts of the same process need memory too."""
_POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSize:
    """Size of the cache of keys and values. None: the library's choice for the device."""

    page_size: int = 256
    """In tokens. Two prompts share a page if all its tokens are equal."""
    pages: int | None = None
    batch_tokens: int | None = None


def is_suitable(*, network: Network, work: Prepared) -> bool:
    """Whether continuous batching can answer a call."""
    return not network.is_seq2seq and work.grammar is None and work.call.temperature == 0


def continuous_completions(
    *, network: Network, works: Sequence[Prepared], size: CacheSize | None = None
) -> list[Completion | None]:
    """Completions of calls; None for failed ones, which are logged.

    Raises:
        Exception: any exception of the library if it cannot run this model.
    """
    size = size or CacheSize()
    settings = ContinuousBatchingConfig(
        page_size=size.page_size,
        num_blocks=size.pages,
        max_batch_tokens=size.batch_tokens,
        max_memory_percent=MEMORY_SHARE,
        allow_block_sharing=True,
        # Otherwise the library would download attention kernels, untrusted code, from the hub.
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
        # In sorted order, prompts with a common prefix are neighbours and share its pages.
        for at in sorted(range(len(works)), key=lambda position: works[position].prompt.ids):
            manager.add_request(
                input_ids=list(works[at].prompt.ids),
                request_id=str(at),
                max_new_tokens=works[at].room,
                eos_token_id=list(network.ends),
            )
        outputs = _collected(manager=manager, count=len(works))
    completions: list[Completion | None] = []
    for at, work in enumerate(works):
        output = outputs.get(str(at))
        if output is None or output.error is not None:
            problem = "no answer" if output is None else output.error
            logger.warning("continuous batching failed for a call: %s", problem)
            completions.append(None)
        else:
            completions.append(completion_of(work, tokens=tuple(output.generated_tokens), network=network))
    return completions


def _collected(*, manager: Any, count: int) -> Mapping[str, Any]:
    outputs: dict[str, Any] = {}
    last = time.monotonic()
    while len(outputs) < count:
        output = manager.get_result(timeout=_POLL_SECONDS)
        if output is not None and output.is_finished():
            outputs[output.request_id] = output
            last = time.monotonic()
        elif output is None and (not manager.is_running() or time.monotonic() - last > SILENT_SECONDS):
            logger.warning("continuous batching ended with %d of %d requests open", count - len(outputs), count)
            break
    return outputs
