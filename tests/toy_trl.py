"""A trainer of a few lines that calls models and reward functions as TRL's does, for examples that need TRL.

It has the parts of `trl.GRPOTrainer` that such an example touches: prompts are padded on the left, `generate` returns
the prompt before the completion, reward functions get the columns of the data set, each repeated for a group.
"""

from types import ModuleType, SimpleNamespace

import torch


class GRPOConfig(SimpleNamespace):
    """Any settings."""


class GRPOTrainer:
    """Group-relative policy gradient on one batch with all prompts."""

    def __init__(self, *, model, processing_class, reward_funcs, train_dataset, args):
        self.model, self.args, self.temperature = model, args, args.temperature
        self._tokenizer, self._reward, self._rows = processing_class, reward_funcs, list(train_dataset)
        self.state = SimpleNamespace(log_history=[])

    def train(self):
        torch.manual_seed(self.args.seed)
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=self.args.learning_rate)
        for _ in range(self.args.max_steps):
            loss, mean = self._step()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            self.state.log_history.append({"loss": loss.item(), "reward": mean})

    def save_model(self, folder):
        self.model.save_pretrained(folder)

    def _step(self):
        rows = [row for row in self._rows for _ in range(self.args.num_generations)]
        prompts = self._tokenizer([row["prompt"] for row in rows], return_tensors="pt", padding=True)
        with torch.no_grad():
            ids = self.model.generate(
                input_ids=prompts.input_ids, attention_mask=prompts.attention_mask, do_sample=True,
                max_new_tokens=self.args.max_completion_length,
            )  # fmt: skip
        length = prompts.input_ids.shape[1]
        completions = ids[:, length:]
        texts = self._tokenizer.batch_decode(completions, skip_special_tokens=True)
        columns = {name: [row[name] for row in rows] for name in rows[0] if name != "prompt"}
        found = self._reward(prompts=[row["prompt"] for row in rows], completions=texts, **columns)
        rewards = torch.tensor(found).view(-1, self.args.num_generations)
        advantages = (rewards - rewards.mean(dim=1, keepdim=True)) / (rewards.std(dim=1, keepdim=True) + 1e-4)
        mask = torch.cat([prompts.attention_mask, torch.ones_like(completions)], dim=1)
        logs, _, _ = self._get_per_token_logps_and_entropies(self.model, ids, mask, completions.shape[1])
        written = (completions != self._tokenizer.pad_token_id).float()
        loss = -((logs * written).sum(dim=1) * advantages.flatten()).mean()
        return loss, rewards.mean().item()


def toy_trl():
    """The module to put in the place of `trl`."""
    module = ModuleType("trl")
    module.GRPOConfig, module.GRPOTrainer = GRPOConfig, GRPOTrainer
    return module
