"""Teacher forcing: logits and log-probabilities of given completions."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from evaluator.planners.language_models.local.network import Network
from evaluator.planners.language_models.spelling import Tokens


def completion_logits(*, network: Network, prompts: Sequence[Tokens], completions: Sequence[Tokens]) -> Tensor:
    """Logits of the tokens of given completions, with gradients if they are on.

    Args:
        network: the model.
        prompts: the prompt of each completion.
        completions: completions without `Network.decoder_start`.

    Returns:
        Shape (completions, longest completion, vocabulary): at [row, place] the logits of the token
        completions[row][place]. Values after a completion's end are undefined.
    """
    if network.is_seq2seq:
        return _of_decoder(network=network, prompts=prompts, completions=completions)
    longest = max(1, max(len(tokens) for tokens in completions))
    whole = [(*prompt, *tokens) for prompt, tokens in zip(prompts, completions, strict=True)]
    ids, mask = network.padded(whole, left=True)
    settings: dict[str, Any] = {"logits_to_keep": longest + 1} if "logits_to_keep" in network.arguments else {}
    output = network.module(
        input_ids=ids, attention_mask=mask, use_cache=False, **_positions(mask, network=network), **settings
    )
    logits = output.logits[:, -(longest + 1) :]
    # All rows end together; the logits of a shorter completion begin later.
    begin = torch.tensor([longest - len(tokens) for tokens in completions], device=logits.device)
    places = (begin[:, None] + torch.arange(longest, device=logits.device)).clamp(max=longest)
    return torch.take_along_dim(logits, places[:, :, None], dim=1)


def continuation_scores(
    *, network: Network, prompts: Sequence[Tokens], continuations: Sequence[Sequence[Tokens]]
) -> list[tuple[float, ...]]:
    """Log-probabilities of several continuations of each prompt; each prompt is read once.

    Returns:
        For each prompt, the sums over the tokens of its continuations, at most 0; 0 for an empty continuation.
    """
    owners = [row for row, several in enumerate(continuations) for _ in several]
    flat = [tokens for several in continuations for tokens in several]
    if not any(flat):
        return [tuple(0.0 for _ in several) for several in continuations]
    with torch.inference_mode():
        read = _of_shared_encoder if network.is_seq2seq else _of_shared_cache
        logits = read(network=network, prompts=prompts, owners=owners, completions=flat)
        ids, mask = network.padded([tokens or (network.pad,) for tokens in flat], left=False)
        steps = torch.log_softmax(logits.float(), dim=-1).gather(2, ids[:, :, None])[:, :, 0]
        counts = torch.tensor([len(tokens) for tokens in flat], device=steps.device)
        mask = torch.arange(ids.shape[1], device=steps.device) < counts[:, None]
        sums = iter(steps.masked_fill(~mask, 0.0).sum(dim=1).tolist())
    return [tuple(min(0.0, next(sums)) for _ in several) for several in continuations]


def _of_decoder(*, network: Network, prompts: Sequence[Tokens], completions: Sequence[Tokens]) -> Tensor:
    ids, mask = network.padded(prompts, left=False)
    decoder_ids, decoder_mask = network.padded([network.decoder_start + tokens for tokens in completions], left=False)
    output = network.module(
        input_ids=ids, attention_mask=mask, decoder_input_ids=decoder_ids, decoder_attention_mask=decoder_mask,
        use_cache=False,
    )  # fmt: skip
    return output.logits[:, len(network.decoder_start) - 1 :]  # type: ignore[no-any-return]


def _of_shared_encoder(
    *, network: Network, prompts: Sequence[Tokens], owners: Sequence[int], completions: Sequence[Tokens]
) -> Tensor:
    ids, mask = network.padded(prompts, left=False)
    encoded = network.module.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
    owner = torch.tensor(owners, device=ids.device)
    decoder_ids, decoder_mask = network.padded([network.decoder_start + tokens for tokens in completions], left=False)
    output = network.module(
        encoder_outputs=(encoded[owner],), attention_mask=mask[owner], decoder_input_ids=decoder_ids,
        decoder_attention_mask=decoder_mask, use_cache=False,
    )  # fmt: skip
    return output.logits[:, len(network.decoder_start) - 1 :]  # type: ignore[no-any-return]


def _of_shared_cache(
    *, network: Network, prompts: Sequence[Tokens], owners: Sequence[int], completions: Sequence[Tokens]
) -> Tensor:
    ids, mask = network.padded(prompts, left=True)
    settings: dict[str, Any] = {"logits_to_keep": 1} if "logits_to_keep" in network.arguments else {}
    read = network.module(
        input_ids=ids, attention_mask=mask, use_cache=True, **_positions(mask, network=network), **settings
    )
    owner = torch.tensor(owners, device=ids.device)
    first = read.logits[:, -1:][owner]
    longest = max(len(tokens) for tokens in completions)
    if longest == 1:
        return first  # type: ignore[no-any-return]
    cache = read.past_key_values
    if not hasattr(cache, "batch_select_indices"):  # such as state space models, which cache no keys and values
        return completion_logits(network=network, prompts=[prompts[row] for row in owners], completions=completions)
    cache.batch_select_indices(owner)
    more, more_mask = network.padded([tokens[:-1] or (network.pad,) for tokens in completions], left=False)
    whole_mask = torch.cat([mask[owner], more_mask], dim=1)
    positions = {name: value[:, -more.shape[1] :] for name, value in _positions(whole_mask, network=network).items()}
    output = network.module(
        input_ids=more, attention_mask=whole_mask, past_key_values=cache, use_cache=True, **positions
    )
    return torch.cat([first, output.logits], dim=1)


def _positions(mask: Tensor, *, network: Network) -> dict[str, Tensor]:
    """Positions without padding, for models that take them."""
    if "position_ids" not in network.arguments:
        return {}
    return {"position_ids": (mask.cumsum(dim=1) - 1).clamp(min=0)}
