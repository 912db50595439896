"""The example pipeline that builds, describes, signs and verifies the images."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "examples" / "ci" / "release-images.yml").read_text()
JOB = yaml.safe_load(TEXT)["jobs"]["image"]
MANUAL = (ROOT / "docs" / "operating.md").read_text()


def step(name):
    (found,) = [one for one in JOB["steps"] if one.get("name") == name]
    return found


def position(name):
    return [one.get("name") for one in JOB["steps"]].index(name)


@pytest.mark.parametrize("image", JOB["strategy"]["matrix"]["image"])
@pytest.mark.parametrize("digest", [True, False])
def test_an_image_whose_base_has_no_digest_is_not_built(image, digest, tmp_path):
    target = tmp_path / "k8s" / "images" / f"{image}.Dockerfile"
    target.parent.mkdir(parents=True)
    shutil.copy(ROOT / "k8s" / "images" / f"{image}.Dockerfile", target)
    if not digest:
        target.write_text(re.sub(r"@sha256:[0-9a-f]{64}", "", target.read_text(), count=1))
    command = step("Refuse base images without a digest")["run"]
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", command], cwd=tmp_path, env={"IMAGE": image, "PATH": "/usr/bin:/bin"}
    )
    assert (done.returncode == 0) is digest
    assert position("Refuse base images without a digest") < position("Build and push")


def test_both_images_are_built_from_their_dockerfiles():
    assert JOB["strategy"]["matrix"]["image"] == ["web", "worker"]
    built = step("Build and push")["with"]
    assert built["file"] == "k8s/images/${{ matrix.image }}.Dockerfile"
    # BuildKit reads SOURCE_DATE_EPOCH from the environment.
    assert built["outputs"] == "type=registry,rewrite-timestamp=true"
    assert "SOURCE_DATE_EPOCH=" in step("Take the time of the commit for that of all files")["run"]
    assert position("Take the time of the commit for that of all files") < position("Build and push")


def test_the_bill_of_materials_comes_from_the_image_and_is_attached_to_its_digest():
    assert "python" in step("Write the bill of materials from the image itself")["run"]
    assert "-m evaluator sbom" in step("Write the bill of materials from the image itself")["run"]
    lines = step("Sign the image and attach the bill of materials")["run"].splitlines()
    assert lines[0] == 'cosign sign --yes "$NAME@$DIGEST"'
    assert "cosign attest" in lines[1]
    assert "--type cyclonedx --predicate sbom.cdx.json" in lines[1]
    assert JOB["permissions"]["id-token"] == "write", "keyless signatures need it"


def test_what_was_signed_is_verified_against_this_workflow_s_identity_and_the_manual_says_how():
    run = step("Verify both")["run"]
    for text in (run, MANUAL):
        assert "cosign verify " in text
        assert "cosign verify-attestation --type cyclonedx" in text
        assert "--certificate-oidc-issuer https://token.actions.githubusercontent.com" in text
        assert "--certificate-identity" in text
    assert position("Sign the image and attach the bill of materials") < position("Verify both")


def test_the_job_may_write_packages_and_nothing_else_of_the_repository():
    assert yaml.safe_load(TEXT)["permissions"] == {"contents": "read"}
    assert JOB["permissions"] == {"contents": "read", "packages": "write", "id-token": "write"}
