"""Fetching the checkpoints of the profile `paper`: from a hub, from a folder; converted, locked, verified."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.execution.experts.checkpoints import Checkpoint, FetchError, checkpoint, read_lock
from evaluator.execution.experts.fetching import Fetcher, problem_of
from evaluator.execution.experts.profile import NO_WEIGHTS, ProfileError, load_expert, load_profile
from evaluator.execution.experts.weights import WeightsError
from evaluator.network.hub_files import needed_files
from tests.evaluator.execution.experts.hub_server import serving

ROOT = Path(__file__).resolve().parents[4]
COMMIT = "fb53ab8" + "0" * 33
REPO = "distilbert/distilroberta-base"
CHECKPOINTS = load_profile("paper").checkpoints


def quiet(line):
    pass


def small_denoiser(**settings):
    from tests.evaluator.execution.experts.released import SINGLE_FILES

    return Checkpoint(
        name="denoising", licence="mine", values=1, url="https://example.org/real_denoising.pth",
        config=SINGLE_FILES["denoising"], **settings,
    )  # fmt: skip


@pytest.fixture
def mirror(tmp_path):
    """A folder like a hub: one repository with safetensors, and a released file with parameters."""

    import torch

    from tests.evaluator.execution.experts.released import BUILDERS, save_single_file

    folder = tmp_path / "mirror"
    torch.manual_seed(0)
    BUILDERS["fill-mask"](folder / REPO)
    (folder / REPO / "README.md").write_text("not needed")
    save_single_file("denoising", folder / "real_denoising.pth")
    return folder


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def fetched(item, *, cache, mirror, **settings):
    return Fetcher(folder=cache, mirror=mirror, report=quiet, **settings).fetch(item)


class TestFromAFolder:
    def test_what_was_fetched_is_locked_and_can_be_loaded(self, mirror, cache):
        locked = fetched(CHECKPOINTS["fill-mask"], cache=cache, mirror=mirror)
        assert "model.safetensors" in locked.files
        assert not {"README.md", "tf_model.h5"} & set(locked.files)
        assert problem_of(item=CHECKPOINTS["fill-mask"], folder=cache) is None
        spec = load_profile("paper", weights=cache).experts["Fill Mask"]
        assert spec.weights_digest == locked.digest
        load_expert(spec=spec)

    def test_a_repository_without_safetensors_is_converted(self, mirror, cache):
        import torch
        from safetensors.torch import load_file

        folder = mirror / REPO
        state = load_file(folder / "model.safetensors")
        (folder / "model.safetensors").unlink()
        torch.save(state, folder / "pytorch_model.bin")
        locked = fetched(CHECKPOINTS["fill-mask"], cache=cache, mirror=mirror)
        assert "pytorch_model.bin" not in locked.files
        assert set(load_file(cache / "fill-mask" / "model.safetensors")) == set(state)

    def test_a_checkpoint_in_parts_is_converted_part_by_part(self, mirror, cache):
        import torch
        from safetensors.torch import load_file

        folder = mirror / REPO
        state = load_file(folder / "model.safetensors")
        (folder / "model.safetensors").unlink()
        names = sorted(state)
        parts = {"00001": names[::2], "00002": names[1::2]}
        weight_map = {}
        for part, own in parts.items():
            torch.save({name: state[name] for name in own}, folder / f"pytorch_model-{part}-of-00002.bin")
            weight_map |= dict.fromkeys(own, f"pytorch_model-{part}-of-00002.bin")
        (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
        locked = fetched(CHECKPOINTS["fill-mask"], cache=cache, mirror=mirror)
        assert {"model-00001-of-00002.safetensors", "model.safetensors.index.json"} <= set(locked.files)
        load_expert(spec=load_profile("paper", weights=cache).experts["Fill Mask"])

        (folder / "pytorch_model.bin.index.json").write_text('{"weight_map": ["a"]}')
        with pytest.raises(FetchError, match="is no index of the parts"):
            fetched(CHECKPOINTS["fill-mask"], cache=cache, mirror=mirror, update=True)

    def test_fetching_again_changes_nothing(self, mirror, cache):
        first = fetched(small_denoiser(), cache=cache, mirror=mirror)
        said = []
        again = Fetcher(folder=cache, mirror=None, report=said.append).fetch(small_denoiser())
        assert again == first
        assert said == ["denoising: https://example.org/real_denoising.pth is there"]

    def test_other_bytes_than_the_locked_ones_are_refused_unless_wanted(self, mirror, cache):
        import torch

        from tests.evaluator.execution.experts.released import save_single_file

        before = fetched(small_denoiser(), cache=cache, mirror=mirror)
        torch.manual_seed(1)
        save_single_file("denoising", mirror / "real_denoising.pth")
        (cache / "denoising" / "model.safetensors").unlink()
        with pytest.raises(FetchError, match=r"model\.safetensors has SHA-256 .* but the lock file says"):
            fetched(small_denoiser(), cache=cache, mirror=mirror)
        assert read_lock(cache)["denoising"] == before
        assert fetched(small_denoiser(), cache=cache, mirror=mirror, update=True) != before

    def test_a_lost_file_is_fetched_again(self, mirror, cache):
        before = fetched(CHECKPOINTS["fill-mask"], cache=cache, mirror=mirror)
        (cache / "fill-mask" / "config.json").unlink()
        assert "config.json is not the file" in problem_of(item=CHECKPOINTS["fill-mask"], folder=cache)
        assert fetched(CHECKPOINTS["fill-mask"], cache=cache, mirror=mirror) == before

    def test_the_digest_of_a_released_file_is_checked(self, mirror, cache):
        with pytest.raises(FetchError, match=r"is not the released real_denoising\.pth"):
            fetched(small_denoiser(sha256="0" * 64), cache=cache, mirror=mirror)
        assert not (cache / "denoising").exists()


class _Harmful:
    def __reduce__(self):
        return (print, ("this must not run",))


class TestConversion:
    def test_a_file_that_would_run_code_is_refused(self, tmp_path, capsys):
        import torch

        from evaluator.execution.experts.conversion import convert

        torch.save({"weight": torch.ones(2), "extra": _Harmful()}, tmp_path / "bad.pth")
        with pytest.raises(FetchError, match="not a checkpoint of numbers only"):
            convert(source=tmp_path / "bad.pth", target=tmp_path / "model.safetensors")
        assert "this must not run" not in capsys.readouterr().out
        assert not (tmp_path / "model.safetensors").exists()

    def test_parameters_are_written_under_all_names_and_other_contents_refused(self, tmp_path):
        import torch

        from evaluator.execution.experts.conversion import convert

        weight = torch.ones(2, 2)
        torch.save({"a": weight, "b": weight}, tmp_path / "tied.bin")
        assert convert(source=tmp_path / "tied.bin", target=tmp_path / "model.safetensors") == 2
        for content, message in (([1, 2], "no parameters by name"), ({"epoch": 3}, "more than parameters: epoch")):
            torch.save(content, tmp_path / "odd.pth")
            with pytest.raises(FetchError, match=message):
                convert(source=tmp_path / "odd.pth", target=tmp_path / "model.safetensors")


def test_only_what_is_needed_is_chosen():
    names = [
        "config.json", "model.safetensors", "pytorch_model.bin", "flax_model.msgpack", "README.md", "vocab.json",
        "merges.txt", "spiece.model", "unet/config.json", "unet/diffusion_pytorch_model.bin",
        "unet/diffusion_pytorch_model.fp16.bin", "safety_checker/model.safetensors", "onnx/model.onnx",
    ]  # fmt: skip
    assert needed_files(names=names, folders=["unet"]) == (
        "config.json", "merges.txt", "model.safetensors", "spiece.model", "unet/config.json",
        "unet/diffusion_pytorch_model.bin", "vocab.json",
    )  # fmt: skip


class TestProfile:
    def test_every_tool_has_an_expert_before_anything_is_fetched(self, tmp_path):
        from evaluator.core.tools.catalogues import CONTROLLLM, OPENAGI

        profile = load_profile("paper", weights=tmp_path)
        without = set(profile.unavailable)
        assert set(OPENAGI.tools) == {tool for tool in profile.experts if tool not in CONTROLLLM.tools}
        assert without == {"openai_chat_model"}
        assert not without & set(profile.experts)
        assert set(profile.scorers) == {"ViT", "BERT", "CLIP"}
        with pytest.raises(WeightsError, match="run `planarena profiles fetch paper`"):
            load_expert(spec=profile.experts["Image Denoising"])

    def test_every_checkpoint_is_used_and_says_where_it_comes_from(self):
        profile = load_profile("paper")
        specs = [*profile.experts.values(), *profile.scorers.values(), *profile.reference_experts.values()]
        bases = {spec.base.name for spec in profile.experts.values() if spec.base is not None}
        rules = {spec.path.name for spec in specs} - set(profile.checkpoints)
        assert {spec.path.name for spec in specs} | bases == {*profile.checkpoints, *rules}
        assert rules == {NO_WEIGHTS}
        for item in profile.checkpoints.values():
            assert item.licence
            assert item.values > 0
        loose = {name for name, item in profile.checkpoints.items() if not item.is_pinned}
        of_openagi = {"detection", "visual-questions", "vit-score", "denoising", "deblurring"}
        of_controlllm = {
            "llava", "detection-boxes", "segment-anything", "visual-grounding", "depth", "normals", "people",
            "video-classification", "video-captioning", "image-variations", "stable-diffusion-15",
            "instruction-editing", "text-to-text", "controlnet-mlsd", "controlnet-hed", "controlnet-scribble",
            "controlnet-openpose", "controlnet-seg", "controlnet-canny", "controlnet-normal", "speech-to-text",
            "text-to-speech", "sound-classification", "text-to-music", "text-to-video", "image-to-video",
        }  # fmt: skip
        assert loose == of_openagi | of_controlllm
        assert not [item for item in profile.checkpoints.values() if "see model card" in item.licence]

    def test_another_precision_is_another_profile(self):
        plain, changed = load_profile("paper"), load_profile("paper", precision="float32")
        assert {spec.precision for spec in changed.experts.values()} == {"float32"}
        assert plain.digest != changed.digest
        with pytest.raises(ProfileError, match="no precision 'int8'"):
            load_profile("paper", precision="int8")

    def test_a_damaged_lock_file_is_said(self, cache):
        cache.mkdir()
        (cache / "lock.json").write_text("{")
        with pytest.raises(ProfileError, match="is damaged"):
            load_profile("paper", weights=cache)

    @pytest.mark.parametrize(
        ("entry", "says"),
        [
            ({"licence": "x", "values": 1}, "either repo and revision, or url"),
            ({"licence": "x", "values": 1, "repo": "a/b"}, "either repo and revision, or url"),
            ({"repo": "a/b", "revision": "main", "values": 1}, "lacks licence"),
            ({"repo": "a/b", "revision": "main", "values": 1, "licence": "x", "hash": 1}, "unknown settings: hash"),
        ],
    )
    def test_a_wrong_checkpoint_is_explained(self, entry, says):
        with pytest.raises(LookupError, match=says):
            checkpoint(name="x", entry=entry)

    def test_the_sizes_are_those_of_the_networks(self):
        import torch

        from evaluator.execution.experts.colorizer import Colorizer, ColorizerConfig
        from evaluator.execution.experts.restormer import Restormer, RestormerConfig

        def settings(name):
            return {k: tuple(v) if isinstance(v, list) else v for k, v in CHECKPOINTS[name].config.items()}

        with torch.device("meta"):
            models = {name: Restormer(RestormerConfig(**settings(name))) for name in ("denoising", "deblurring")}
            models["colorization"] = Colorizer(ColorizerConfig(**settings("colorization")))
        for name, model in models.items():
            assert sum(value.numel() for value in model.parameters()) == CHECKPOINTS[name].values


def planarena(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "evaluator", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120,
        env={**os.environ, "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1", **environment},
    )  # fmt: skip


def line_of(name, text):
    """The lines that list a checkpoint, as one."""
    return " ".join(" ".join(block.split()) for block in text.split("\n\n") if block.split()[:1] == [name]) or next(
        line for line in text.splitlines() if line.split()[:1] == [name]
    )


def fetch(cache, *, hub):
    return planarena("profiles", "fetch", "paper", "--only", "fill-mask", "--cache", str(cache), HF_ENDPOINT=hub)


class TestCommands:
    def test_a_hub_is_asked_for_the_pinned_revision_and_the_files_are_verified(self, mirror, cache):
        with serving(mirror, commits={REPO: COMMIT}) as address:
            done = fetch(cache, hub=address)
        assert done.returncode == 0, done.stderr
        assert "on its card mit" in done.stderr
        assert read_lock(cache)["fill-mask"].revision == COMMIT
        assert not (cache / ".incoming" / "fill-mask").exists()
        checked = planarena("profiles", "verify", "paper", "--only", "fill-mask", "--cache", str(cache))
        assert (checked.returncode, checked.stdout) == (0, "fill-mask: as locked\n")
        (cache / "fill-mask" / "config.json").write_text("{}")
        checked = planarena("profiles", "verify", "paper", "--only", "fill-mask,sentiment", "--cache", str(cache))
        assert checked.returncode == 1
        assert "config.json is not the file that was fetched" in checked.stdout
        assert "sentiment: was not fetched" in checked.stdout
        assert "not pinned" not in checked.stderr

    def test_a_dry_run_lists_sizes_licences_and_formats_and_downloads_nothing(self, mirror, cache, monkeypatch):
        dry = ("profiles", "fetch", "paper", "--dry-run", "--only", "fill-mask,denoising", "--cache", str(cache))
        done = CliRunner().invoke(app, [*dry, "--from", str(mirror)])
        assert done.exit_code == 0
        assert not cache.exists()
        size = sum(path.stat().st_size for path in (mirror / REPO).iterdir() if path.suffix != ".md") / 1e6
        assert f"{size:,.0f}" in line_of("fill-mask", done.output)
        assert "safetensors" in line_of("fill-mask", done.output)
        assert "pth" in line_of("denoising", done.output)
        assert "it fits" in done.output
        fetched(CHECKPOINTS["fill-mask"], cache=cache, mirror=mirror)
        done = CliRunner().invoke(app, [*dry, "--from", str(mirror)])
        assert "there" in line_of("fill-mask", done.output)
        monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=1))
        assert CliRunner().invoke(app, [*dry, "--from", str(mirror)]).exit_code == ExitCode.CHECK_FAILED

    def test_a_dry_run_asks_the_hub_and_estimates_without_it(self, mirror, cache):
        dry = ("profiles", "fetch", "paper", "--dry-run", "--only", "fill-mask,sentiment", "--cache", str(cache))
        with serving(mirror, commits={REPO: COMMIT}) as address:
            done = planarena(*dry, HF_ENDPOINT=address)
        assert done.returncode == 0, done.stderr
        assert "mit" in line_of("fill-mask", done.stdout)
        assert "about" not in line_of("fill-mask", done.stdout)
        assert "about" in line_of("sentiment", done.stdout)
        assert "has no model yiyanghkust/finbert-tone" in done.stderr
        assert not (cache / "lock.json").exists()

    @pytest.mark.full
    def test_another_commit_than_the_pinned_one_is_refused(self, mirror, cache):
        with serving(mirror, commits={REPO: "1" * 40}) as address:
            done = fetch(cache, hub=address)
        assert done.returncode == 2
        assert "the hub answered commit 1111" in done.stderr

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (("fetch", "lilliput"), "there is nothing to fetch"),
            (("fetch", "paper", "--only", "magic"), "no checkpoint 'magic'; there are: super-resolution"),
            (("show", "nope"), "no profile 'nope'"),
            (("convert", "nowhere.pth", "x.safetensors"), "nowhere.pth"),
        ],
    )
    def test_wrong_use_is_exit_code_2_with_a_sentence(self, arguments, says):
        done = CliRunner().invoke(app, ["profiles", *arguments])
        assert done.exit_code == 2
        assert says in done.output
