"""Tuning a given model: a tiny Llama in its released layout, from a file of conversations to a checkpoint."""

import json
import zipfile
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, safe_open

from evaluator.core.language_model import GenerateCall, Message
from evaluator.execution.experts.weights import weights_digest
from evaluator.lumos.strategies import templates
from evaluator.lumos.training.training import module_lessons
from evaluator.planners.language_models.local.model import LocalModel
from evaluator.sandbox.admission.checkpoint_zip import inspect
from evaluator.training.export import base_model
from evaluator.training.lessons import DataError, LessonFile, chat_lessons
from evaluator.training.lora import LoraError, LoraSettings
from evaluator.training.runs import SettingsError
from evaluator.training.tuning import Tuning, TuningError, rows_of, summed_loss, tune
from tests.fakes.checkpoints import zipped_folder
from tests.fakes.tiny_models import released_llama, saved, t5, unigram

pytestmark = pytest.mark.usefixtures("one_thread")


def _conversation(number):
    """A task of LUMOS's released annotations for planning."""
    task = templates.plan_prompt(task=f"What is {number} + 1?", past=())
    first = task.removeprefix(templates.USER).removesuffix(templates.ASSISTANT)
    return {
        "dataset": "gsm8k",
        "id": f"maths_{number}",
        "messages": [
            {"role": "user", "content": first},
            {"role": "assistant", "content": f"Subgoal 1: Add 1 to {number}."},
            {"role": "user", "content": f"The executed result for Subgoal 1 is {number + 1}. Should we stop planning?"},
            {"role": "assistant", "content": templates.STOP},
        ],
    }


RECORDS = [_conversation(number) for number in range(40)]


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write(tmp_path_factory.mktemp("data") / "plan.jsonl", RECORDS)


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "chat"])
def llama(request, tmp_path_factory):
    texts = [message["content"] for record in RECORDS for message in record["messages"]]
    return released_llama(tmp_path_factory.mktemp("Llama-2-tiny"), texts=texts, template=request.param)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    texts = [message["content"] for record in RECORDS for message in record["messages"]]
    return released_llama(tmp_path_factory.mktemp("Llama-2-tiny"), texts=texts)


def order(model, data, out, **settings):
    return Tuning(
        **{
            "base": base_model(str(model)), "data": data, "out": out, "title": "LUMOS, plan_iterative",
            "strategy": "lumos/iterative", "read": module_lessons, "stop": ("\n",), "steps": 2, "batch": 4,
            "held_out": 0.2, **settings,
        }
    )  # fmt: skip


def weights(folder):
    return {name: value for path in folder.glob("*.safetensors") for name, value in load_file(path).items()}


def test_a_llama_is_tuned_with_adapters_and_what_is_written_is_a_checkpoint_with_all_its_files(llama, data, tmp_path):
    lora = LoraSettings(rank=2, alpha=4, targets=("q_proj", "o_proj"))
    out = tune(order(llama, data, tmp_path / "out", lora=lora, learning_rate=0.01, data_licence="Apache-2.0"))
    before, after = weights(llama), weights(out)
    assert before.keys() == after.keys()
    changed = {name for name, value in before.items() if not torch.equal(value.half(), after[name])}
    assert changed
    assert all(name.endswith(("q_proj.weight", "o_proj.weight")) for name in changed)
    file = tmp_path / "model.zip"
    file.write_bytes(zipped_folder(out))
    facts = inspect(file, most_unpacked_bytes=10**8)
    assert facts.architecture == "llama"
    names = set(zipfile.ZipFile(file).namelist())
    assert {
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "card.md",
        "training.json",
        "LICENSE.txt",
    } <= names
    there, here = LocalModel.from_folder(out), LocalModel.from_folder(llama)
    assert there.network.template_digest == here.network.template_digest
    assert (here.network.template_digest is None) == (not any(llama.glob("chat_template*")))
    card = (out / "card.md").read_text()
    for text in (
        f"tuned from {llama.name}", "licence: llama2", "SHA-256", "licence: Apache-2.0", "LoRA of rank 2",
        "q_proj, o_proj", "Seed: 0", "commit ", "held-out tasks of the data", "| tuned |", "strategy `lumos/iterative`",
    ):  # fmt: skip
        assert text in card, text
    assert str(tmp_path) not in card + (out / "training.json").read_text() + (out / "config.json").read_text()


def test_a_model_learns_the_replies_and_says_them_when_the_strategy_asks(llama, data, tmp_path):
    out = tune(order(llama, data, tmp_path / "out", steps=60, batch=8, at_once=8, learning_rate=1e-2, held_out=0.0))
    prompts = [
        templates.plan_prompt(task="What is 7 + 1?", past=()),
        f"{templates.plan_prompt(task='What is 7 + 1?', past=())}Subgoal 1: Add 1 to 7.\n{templates.USER}"
        f"The executed result for Subgoal 1 is 8. Should we stop planning?{templates.ASSISTANT}",
    ]
    calls = [GenerateCall(messages=(Message("user", prompt),), max_tokens=40, stop=("\n",)) for prompt in prompts]
    first, second = LocalModel.from_folder(out).answer(calls)
    assert first.text.startswith("Subgoal 1: Add 1 to ")
    assert second.text == templates.STOP
    assert "no quality" in (out / "card.md").read_text()


@pytest.mark.parametrize("lora", [None, LoraSettings(rank=2, alpha=4)], ids=["whole", "lora"])
def test_a_run_that_was_killed_ends_with_the_same_weights(plain, data, tmp_path, lora):
    settings = {"steps": 4, "lora": lora}
    whole = tune(order(plain, data, tmp_path / "whole", **settings))
    assert tune(order(plain, data, tmp_path / "cut", stop_after=2, **settings)) is None
    checkpoint = tmp_path / "cut.checkpoint.safetensors"
    with safe_open(checkpoint, framework="pt") as file:
        names = {name for name in file.keys() if name.startswith("model.")}  # noqa: SIM118
    # Adapters alone: a checkpoint of a large model must not repeat it.
    assert all("lora" in name for name in names) == (lora is not None)
    with pytest.raises(SettingsError, match="batch 4, not 5"):
        tune(order(plain, data, tmp_path / "cut", resume=True, batch=5, **settings))
    assert weights_digest(tune(order(plain, data, tmp_path / "cut", resume=True, **settings))) == weights_digest(whole)
    assert (tmp_path / "cut" / "card.md").read_text() == (tmp_path / "whole" / "card.md").read_text()


def test_fewer_texts_in_memory_and_computing_twice_change_no_result(plain, data, tmp_path):
    one = weights(tune(order(plain, data, tmp_path / "one", learning_rate=1e-3)))
    others = [
        weights(tune(order(plain, data, tmp_path / "all", learning_rate=1e-3, at_once=8))),
        weights(tune(order(plain, data, tmp_path / "twice", learning_rate=1e-3, save_memory=True))),
    ]
    for other in others:
        for name, value in one.items():
            assert torch.allclose(value.float(), other[name].float(), atol=2e-3), name


def test_a_row_of_several_turns_has_the_loss_of_its_lessons(plain):
    network = LocalModel.from_folder(plain).network
    lessons = module_lessons(RECORDS[3])
    (row,), too_long = rows_of(lessons, network=network, longest=1024)
    alone = [rows_of([lesson], network=network, longest=1024)[0][0] for lesson in lessons]
    assert too_long == 0
    assert row.count == sum(each.count for each in alone)
    with torch.inference_mode():
        together = summed_loss([row], network=network)
        apart = sum(summed_loss([each], network=network) for each in alone)
    assert torch.allclose(together, apart, rtol=1e-5)


def test_an_encoder_and_decoder_is_tuned_too(data, tmp_path):
    tokenizer = unigram(texts=[message["content"] for record in RECORDS for message in record["messages"]])
    folder = saved(tmp_path / "t5", model=t5(tokenizer), tokenizer=tokenizer)
    out = tune(order(folder, data, tmp_path / "out", lora=LoraSettings(), learning_rate=0.01))
    assert LocalModel.from_folder(out).network.is_seq2seq
    assert any(not torch.equal(value.half(), weights(out)[name]) for name, value in weights(folder).items())


def test_large_weights_are_written_in_parts(plain, tmp_path):
    from evaluator.training.export import write_weights

    module = LocalModel.from_folder(plain).network.module
    write_weights(model=module, folder=tmp_path, shard_bytes=20_000)
    parts = sorted(path.name for path in tmp_path.glob("*.safetensors"))
    assert len(parts) > 1
    assert parts[0] == f"model-00001-of-{len(parts):05}.safetensors"
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())["weight_map"]
    assert weights(tmp_path).keys() == index.keys()


USER, REPLY = {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"line 2 is not JSON in UTF-8; a line is \{"),
        ("[]", "line 2 is no object"),
        ('{"id": "x"}', "line 2: messages is missing or no list"),
        (json.dumps({"messages": [USER, "b"]}), r"line 2: messages\[1\] must be an object"),
        (json.dumps({"messages": [{"role": "human", "content": ""}]}), r"messages\[0\]\.role is 'human'; it must be"),
        (json.dumps({"messages": [USER, {"role": "assistant"}]}), r"messages\[1\]\.content is missing or no text"),
        (json.dumps({"messages": [USER, REPLY, REPLY]}), r"messages\[2\]\.role is 'assistant'; it must be 'user'"),
        (json.dumps({"messages": [USER]}), r"messages\[0\] must be a reply"),
        (json.dumps({"messages": [USER, {**REPLY, "content": " "}]}), "line 2: all replies are empty"),
        (json.dumps({"messages": [USER, {**REPLY, "content": "\ud800"}]}), "half of a surrogate pair"),
        (json.dumps({"prompt": "a"}), "line 2: reply is missing or no text"),
    ],
)
def test_a_wrong_line_is_named_with_its_field(tmp_path, line, message):
    path = tmp_path / "data.jsonl"
    path.write_text(f"{json.dumps({'messages': [USER, REPLY]})}\n{line}\n")
    with pytest.raises(DataError, match=message):
        LessonFile.checked(path, held_out=0.0)


def test_a_file_that_is_missing_empty_or_all_held_out_is_refused(tmp_path):
    with pytest.raises(DataError, match="cannot be read: No such file"):
        LessonFile.checked(tmp_path / "none.jsonl", held_out=0.0)
    with pytest.raises(DataError, match="no conversation to learn from; a line is"):
        LessonFile.checked(write(tmp_path / "empty.jsonl", []), held_out=0.0)


def test_all_lines_of_a_task_are_held_out_together_in_every_file(tmp_path):
    ground = [{**record, "messages": [USER, REPLY]} for record in reversed(RECORDS)]
    plan, other = (
        LessonFile.checked(write(tmp_path / name, records), held_out=0.3)
        for name, records in (("plan.jsonl", [*RECORDS, *RECORDS]), ("ground.jsonl", ground))
    )
    tasks = {RECORDS[line % 40]["id"] for line in plan.held_out}
    assert tasks == {ground[line]["id"] for line in other.held_out}
    assert 0 < plan.held_out_tasks == len(tasks) < 40
    assert tasks.isdisjoint(RECORDS[line % 40]["id"] for line in plan.training)


def test_wrong_settings_are_refused_with_the_option(plain, data, tmp_path):
    with pytest.raises(LoraError, match=r"no linear layers query; --targets may name .*q_proj"):
        tune(order(plain, data, tmp_path / "out", lora=LoraSettings(targets=("query",))))
    with pytest.raises(TuningError, match="--precision bfloat16 needs --lora"):
        tune(order(plain, data, tmp_path / "out", precision="bfloat16"))
    with pytest.raises(TuningError, match="is the folder of the base model"):
        tune(order(plain, data, plain))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("x")
    with pytest.raises(TuningError, match="holds other files"):
        tune(order(plain, data, tmp_path / "home"))
    with pytest.raises(DataError, match="every prompt with its reply has more than 8 tokens"):
        tune(order(plain, data, tmp_path / "out", longest=8))
    with pytest.raises(LookupError, match=r"is no folder, not hf:ORG/NAME@REVISION"):
        base_model("meta-llama/Llama-2-7b-hf")
    with pytest.raises(LookupError, match="is not hf:ORG/NAME@REVISION"):
        base_model("hf:meta-llama/Llama-2-7b-hf")


def test_replies_that_are_too_long_are_left_out_and_counted(plain, tmp_path):
    long = {**_conversation(99), "id": "long"}
    long["messages"] = [long["messages"][0], {"role": "assistant", "content": "word " * 2000}]
    said = []
    path = write(tmp_path / "data.jsonl", [*RECORDS, long])
    tune(replace(order(plain, path, tmp_path / "out", steps=1), held_out=0.0), say=said.append)
    assert said == ["1 of 81 replies are left out: with their prompts they have more than 1024 tokens"]


def test_bfloat16_is_kept(plain, data, tmp_path):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = tmp_path / "base"
    AutoModelForCausalLM.from_pretrained(plain, dtype=torch.bfloat16).save_pretrained(folder)
    AutoTokenizer.from_pretrained(plain).save_pretrained(folder)
    out = tune(order(folder, data, tmp_path / "out", lora=LoraSettings(), precision="bfloat16", learning_rate=0.05))
    assert {value.dtype for value in weights(out).values()} == {torch.bfloat16}
    assert any(not torch.equal(value, weights(out)[name]) for name, value in weights(folder).items())


def test_a_chat_is_a_lesson_for_each_reply_and_a_prompt_with_its_reply_is_one():
    system = {"role": "system", "content": "s"}
    first, second = chat_lessons({"messages": [system, USER, REPLY, USER, REPLY]})
    assert [message.role for message in first.messages] == ["system", "user"]
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "user"]
    (only,) = chat_lessons({"prompt": "p", "reply": "r"})
    assert (only.messages, only.answer) == ((Message("user", "p"),), "r")
