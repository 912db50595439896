"""Bundles of artefacts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.core.values import Artefact, MediaType, encode
from gpu_jobs import bundles

ARTEFACTS = st.builds(Artefact, data=st.binary(max_size=200), media_type=st.sampled_from(MediaType))


@given(st.lists(ARTEFACTS, max_size=8))
def test_what_is_packed_comes_out_again(artefacts):
    frames = bundles.unpack(bundles.pack(artefacts))
    assert [(f.digest, f.media_type, f.data) for f in frames] == [(a.digest, a.media_type, a.data) for a in artefacts]


@given(st.binary(max_size=300))
def test_any_other_bytes_are_an_error_and_never_a_crash(data):
    try:
        frames = bundles.unpack(data)
    except bundles.BundleError:
        return
    assert data == b"" or frames


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda data: data[:-1], "artefact 2 is truncated: 1 bytes are missing"),
        (lambda data: data + b"more", "byte 197, artefact 3"),
        (lambda data: b"Z" + data[1:], "byte 0, artefact 1"),
        (lambda data: data.replace(b" 5 ", b" -5 "), "artefact 1"),
        (lambda data: data.replace(b" 5 ", b" 05 "), "artefact 1"),
        (lambda data: data * 101, "at most 200 artefacts"),
    ],
)
def test_what_is_wrong_with_a_bundle_is_said(spoil, complaint):
    good = bundles.pack([encode("first"), encode("x" * 6)])
    with pytest.raises(bundles.BundleError, match=complaint):
        bundles.unpack(spoil(good))


def test_groups_keep_both_bounds_and_the_order(monkeypatch):
    small = [encode(f"number {number}") for number in range(450)]
    assert [len(group) for group in bundles.bundles(small)] == [200, 200, 50]
    monkeypatch.setattr(bundles, "MOST_BYTES", 1000)
    sized = [encode("a" * 300), encode("b" * 300), encode("c" * 300), encode("d" * 2000), encode("e")]
    groups = list(bundles.bundles(sized))
    assert [artefact for group in groups for artefact in group] == sized
    assert [len(group) for group in groups] == [2, 1, 1, 1]
    assert [bundles.fits(group[0]) for group in groups] == [True, True, False, True]
    for group in groups:
        if bundles.fits(group[0]):
            bundles.unpack(bundles.pack(group))
