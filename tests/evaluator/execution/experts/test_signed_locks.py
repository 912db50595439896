"""Signatures of lock files: what they cover, whose count, and how an operator makes one."""

import json

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.core.signatures.envelope import KeyFormatError
from evaluator.execution.experts.checkpoints import LOCK, FetchError, Locked, checkpoint, write_lock
from evaluator.execution.experts.signed_locks import SIGNATURE, lock_problem, sign_lock, signer_of, trusted_keys

SECRET = "a secret of an operator, 32 characters and more"
NAMES = ("reader", "painter")
CHECKPOINTS = {
    name: checkpoint(name=name, entry={"repo": f"org/{name}", "revision": "main", "licence": "mine", "values": 1})
    for name in NAMES
}


def locked(*, digit="1", **changes):
    found = {
        name: Locked(revision=digit * 40, files={"model.safetensors": digit * 64}, source=f"org/{name}@main")
        for name in NAMES
    }
    return found | changes


@pytest.fixture
def folder(tmp_path):
    write_lock(folder=tmp_path, locked=locked())
    return tmp_path


@pytest.fixture
def keys(folder):
    key = sign_lock(profile="paper", folder=folder, secret=SECRET)
    return trusted_keys(key.text)


def problem(folder, keys, profile="paper"):
    return lock_problem(profile=profile, checkpoints=CHECKPOINTS, folder=folder, keys=keys)


def test_a_signature_vouches_for_the_checkpoints_of_one_profile(folder, keys):
    assert problem(folder, keys) == ""
    assert [signer_of(folder)] == list(keys)
    assert problem(folder, keys, profile="other") == "the signature of its lock file is of the profile paper"


def test_only_trusted_keys_count(folder, keys):
    assert "which is not trusted (trusted: none)" in problem(folder, {})
    other = sign_lock(profile="paper", folder=folder, secret=SECRET[::-1])
    assert "which is not trusted" in problem(folder, keys)
    assert problem(folder, trusted_keys(f"{other.text}, {next(iter(keys.values())).text}")) == ""
    with pytest.raises(KeyFormatError, match="32 bytes in base64"):
        trusted_keys("no-key")


@pytest.mark.parametrize("changed", ["revision", "files", "source"])
def test_a_checkpoint_that_was_fetched_again_needs_another_signature(folder, keys, changed):
    values = {"revision": "1" * 40, "files": {"model.safetensors": "1" * 64}, "source": "org/reader@main"}
    other = {"revision": "2" * 40, "files": {"model.safetensors": "2" * 64}, "source": "org/thief@main"}
    write_lock(folder=folder, locked=locked(reader=Locked(**{**values, changed: other[changed]})))
    assert problem(folder, keys) == "its lock file was signed before reader changed"
    sign_lock(profile="paper", folder=folder, secret=SECRET)
    assert problem(folder, keys) == ""


def test_entries_that_the_profile_does_not_use_do_not_matter(folder, keys):
    write_lock(folder=folder, locked=locked(former=Locked(revision="x", files={}, source="org/former@main")))
    assert problem(folder, keys) == ""


def test_a_lock_that_is_missing_or_incomplete_is_said_to_be(folder, keys, tmp_path):
    write_lock(folder=folder, locked={"reader": locked()["reader"]})
    assert problem(folder, keys) == "its lock file has no entry for painter"
    (folder / LOCK).unlink()
    assert problem(folder, keys) == "it has no lock file"
    with pytest.raises(FetchError, match="profiles fetch paper"):
        sign_lock(profile="paper", folder=folder, secret=SECRET)


def edited(folder, keys):
    envelope = json.loads((folder / SIGNATURE).read_text())
    envelope["signatures"][0]["sig"] = "A" * 86 + "=="
    return json.dumps(envelope)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lambda *_: None, "is missing"), (lambda *_: "{}", "is no signed envelope"), (lambda *_: "\0", "is no sig"),
        (lambda *_: "x" * 200_000, "has more than"), (edited, "does not have a valid signature"),
    ],
)  # fmt: skip
def test_a_signature_that_is_none_is_said_to_be(folder, keys, content, said):
    text = content(folder, keys)
    (folder / SIGNATURE).unlink() if text is None else (folder / SIGNATURE).write_text(text)
    assert problem(folder, keys).startswith(f"the signature of its lock file {said}")


class TestCommand:
    def run(self, *arguments, secret=SECRET):
        return CliRunner().invoke(app, ["profiles", *arguments], env={"PLANARENA_LOCK_KEY": secret})

    def test_it_signs_and_names_the_key_that_sites_need(self, folder):
        done = self.run("sign", "paper", "--cache", str(folder))
        assert done.exit_code == 0
        (key,) = [word for word in done.output.split() if len(word) == 44 and word.endswith("=")]
        assert signer_of(folder) in trusted_keys(key)
        assert SECRET not in done.output + (folder / SIGNATURE).read_text()

    @pytest.mark.parametrize(
        ("profile", "secret", "said"),
        [("paper", "", "PLANARENA_LOCK_KEY is not set"), ("paper", "short", "has 5 characters"),
         ("lilliput", SECRET, "the weights of lilliput are shipped")],
    )  # fmt: skip
    def test_what_is_missing_is_said(self, folder, profile, secret, said):
        done = self.run("sign", profile, "--cache", str(folder), secret=secret)
        assert done.exit_code == 2
        assert said in " ".join(done.output.split())
        assert not (folder / SIGNATURE).exists()
