"""Experts of other packages: found by entry point, named in an operator's profile, and part of every digest."""

from pathlib import Path

import pytest

from evaluator.core.expert import ExpertError, ExpertSpec
from evaluator.execution.engine.jobs import step_key
from evaluator.execution.experts import plug_ins
from evaluator.execution.experts.profile import ProfileError, load_expert, load_profile, profile_names
from tests.plug_ins import install_example

TOOL = "Text Summarization"
PROFILE = 'name = "own"\nextends = "lilliput"\n[experts."Text Summarization"]\nid = "own/it"\nimplementation = "lead"\n'


@pytest.fixture(autouse=True)
def package(tmp_path, monkeypatch) -> Path:
    return install_example(tmp_path, monkeypatch=monkeypatch)


def key_of(spec: ExpertSpec) -> str:
    return step_key(spec=spec, inputs={}, batch_size=16, device={"kind": "cpu"})


def test_a_profile_of_the_operator_takes_over_a_bundled_one_with_an_expert_of_a_package():
    base, own = load_profile("lilliput"), load_profile("lead")
    assert profile_names() == ("lead", "lilliput", "lilliput-cast", "lilliput-film", "lilliput-sound", "paper")
    assert own.digest != base.digest
    assert {tool for tool in base.experts if own.experts[tool] != base.experts[tool]} == {TOOL}
    assert (list(own.experts), own.scorers, own.owner_of_weights) == (list(base.experts), base.scorers, "lilliput")
    (result,) = load_expert(spec=own.experts[TOOL]).run([{"text": "One cat. Two dogs."}])
    assert result == {"text": "One cat."}


def test_a_profile_that_extends_released_models_shares_their_weights(tmp_path):
    (tmp_path / "own.toml").write_text(PROFILE.replace("lilliput", "paper"))
    base, own = load_profile("paper"), load_profile("own")
    assert (own.owner_of_weights, own.checkpoints) == ("paper", base.checkpoints)
    assert own.experts["Fill Mask"] == base.experts["Fill Mask"]


def test_package_version_and_digest_are_part_of_digests_of_keys_and_of_provenance(tmp_path, package, monkeypatch):
    first = load_profile("lead")
    digest = first.plug_ins[TOOL].digest
    assert first.facts() == {
        "name": "lead", "digest": first.digest, "plug_ins": {TOOL: f"lead-summary==1.0.0 sha256:{digest}"},
    }  # fmt: skip
    assert "plug_ins" not in load_profile("lilliput").facts()
    (package / "words.txt").write_text("weights")
    second = load_profile("lead")
    install_example(tmp_path, monkeypatch=monkeypatch, version="1.0.1")
    third = load_profile("lead")
    profiles = (first, second, third)
    assert len({profile.digest for profile in profiles}) == 3
    assert len({key_of(profile.experts[TOOL]) for profile in profiles}) == 3
    assert second.plug_ins[TOOL].digest == third.plug_ins[TOOL].digest != digest


def test_compiled_files_are_not_part_of_the_digest(package):
    before = load_profile("lead").digest
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "lead.pyc").write_bytes(b"0")
    assert load_profile("lead").digest == before


def test_a_package_that_changed_since_the_profile_was_read_is_refused(package):
    spec = load_profile("lead").experts[TOOL]
    (package / "words.txt").write_text("other")
    with pytest.raises(ExpertError, match=r"the profile has lead-summary==1\.0\.0 .* is installed"):
        load_expert(spec=spec)


def test_a_process_that_imported_a_package_refuses_another_state_of_it(package):
    load_expert(spec=load_profile("lead").experts[TOOL])
    (package / "words.txt").write_text("other")
    with pytest.raises(ExpertError, match="has changed since this process imported it; restart"):
        load_expert(spec=load_profile("lead").experts[TOOL])


def test_what_an_entry_declares_for_the_engine_changes_the_digest(tmp_path):
    (tmp_path / "own.toml").write_text(PROFILE)
    plain = load_profile("own")
    (tmp_path / "own.toml").write_text(PROFILE + "samples = true\nresizes = true\n")
    declared = load_profile("own")
    assert (declared.experts[TOOL].samples, declared.experts[TOOL].resizes) == (True, True)
    assert declared.digest != plain.digest


def test_an_entry_may_name_weights_of_the_extended_profile(tmp_path):
    (tmp_path / "own.toml").write_text(PROFILE + 'weights = "summarization"\n')
    base, own = load_profile("lilliput").experts[TOOL], load_profile("own").experts[TOOL]
    assert (own.path, own.weights_digest) == (base.path, base.weights_digest)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name = "own"', 'name = "other"', "it must have name = \"own\", as the file, found 'other'"),
        (
            '"lilliput"',
            '"nowhere"',
            r"extends must name a bundled profile \(lilliput, .*, paper\), found 'nowhere'",
        ),
        ('extends = "lilliput"', "", r"it has no \[scorers\]"),
        ('id = "own/it"', "id = 3", 'expert "Text Summarization" needs id = "...", a text, found 3'),
        ('"lead"', '"leed"', "no expert implementation 'leed'; there are: .*, lead"),
        ('"lead"', '"lead"\nbatch_size = 0', "batch_size must be a whole number from 1, found 0"),
        ('"lead"', '"lead"\nsamples = 1', "samples must be true or false, found 1"),
        ('"lead"', '"bart"\nweights = "summarization"\nsamples = true', "unknown settings: samples"),
        ('name = "own"', "name = ", "the file is no TOML"),
        ('[experts."Text Summarization"]', "[experts]", 'expert "id" must be a table, found'),
    ],
)
def test_a_wrong_profile_is_explained(tmp_path, old, new, words):
    (tmp_path / "own.toml").write_text(PROFILE.replace(old, new))
    with pytest.raises(ProfileError, match=rf"own\.toml\): .*{words}"):
        load_profile("own")


def test_a_profile_cannot_take_the_name_of_a_bundled_one(tmp_path):
    (tmp_path / "lilliput.toml").write_text(PROFILE)
    with pytest.raises(ProfileError, match=r"lilliput\.toml: a bundled profile has this name"):
        load_profile("lilliput")


def test_two_packages_with_one_name_and_a_module_that_is_missing_are_explained(tmp_path):
    facts = tmp_path / "other.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 2\n")
    (facts / "entry_points.txt").write_text("[planarena.experts]\nlead = other_module:Lead\ngone = other_module:Lead\n")
    with pytest.raises(ProfileError, match=r"is an entry point of lead-summary 1\.0\.0 and other 2; uninstall one"):
        load_profile("lead")
    with pytest.raises(LookupError, match="names the module other_module, which is not installed"):
        plug_ins.plug_in("gone")


def test_a_class_that_cannot_be_imported_is_explained(package):
    (package / "__init__.py").write_text("import nothing_of_this_name\n")
    with pytest.raises(ExpertError, match=r'"lead" of lead-summary 1\.0\.0 cannot be imported: No module named'):
        load_expert(spec=load_profile("lead").experts[TOOL])
