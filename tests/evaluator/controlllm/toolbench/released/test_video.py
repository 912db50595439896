"""Videos of an operator: what is read of good ones, and that bad ones end in a sentence."""

import struct
import wave
from contextlib import suppress

import numpy as np
import pytest
from PIL import Image

from evaluator.controlllm.toolbench.released.media import MediaError, read_media, read_video
from evaluator.controlllm.toolbench.released.video_decoding import Sampler, sampled_indices
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Clip
from tests.rings import usual

SIZE = (64, 48)
CODECS = {"mp4": "mpeg4", "mov": "mpeg4", "avi": "mpeg4", "webm": "libvpx"}


def video(path, *, frames=12, size=SIZE, codec=None):
    """A clip that grows brighter: frame k of n has the grey level 20 + 200 k / n."""
    import av

    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec or CODECS[path.suffix[1:]], rate=25)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for number in range(frames):
            level = 20 + 200 * number // frames
            pixels = np.full((size[1], size[0], 3), level, dtype=np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode())
    return path


def repeated(path, *, times, size):
    """One frame of noise, again and again: small effort to write, much to decode."""
    import av

    pixels = np.random.default_rng(0).integers(0, 256, size=(size[1], size[0], 3), dtype=np.uint8)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        packets = [*stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")), *stream.encode()]
        content = bytes(packets[0])
        for number in range(times):
            packet = av.Packet(content)
            packet.stream, packet.time_base = stream, stream.codec_context.time_base
            packet.pts = packet.dts = number
            packet.is_keyframe = True
            container.mux(packet)
    return path


def read(path) -> Clip:
    found = read_media(path, kind=ResourceType.VIDEO)
    assert isinstance(found, Clip)
    return found


class TestGoodOnes:
    @pytest.mark.parametrize("ending", CODECS)
    def test_every_container_is_read(self, tmp_path, ending):
        found = read(video(tmp_path / f"a.{ending}"))
        assert found.frames.shape == (12, 48, 64, 3)
        levels = found.frames.mean(axis=(1, 2, 3))
        assert levels == pytest.approx([20 + 200 * k // 12 for k in range(12)], abs=6)

    def test_of_a_long_one_frames_are_taken_evenly_from_first_to_last(self, tmp_path):
        levels = read(video(tmp_path / "a.mp4", frames=1000)).frames.mean(axis=(1, 2, 3))
        assert len(levels) == 64
        assert levels == pytest.approx([20 + 200 * k / 64 for k in range(64)], abs=8)

    def test_a_video_of_a_phone_that_was_held_upright_is_turned(self, tmp_path):
        import av

        path = tmp_path / "a.mp4"
        pixels = np.zeros((48, 64, 3), dtype=np.uint8)
        pixels[:24] = 200
        with av.open(str(path), "w") as container:
            stream = container.add_stream("mpeg4", rate=25)
            stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
            container.mux([*stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")), *stream.encode()])
        content = path.read_bytes()
        start = content.index(b"tkhd")
        upright, clockwise = (
            struct.pack(">9i", *matrix)
            for matrix in (
                (2**16, 0, 0, 0, 2**16, 0, 0, 0, 2**30),
                (0, 2**16, 0, -(2**16), 0, 0, 48 * 2**16, 0, 2**30),
            )
        )
        path.write_bytes(content[:start] + content[start:].replace(upright, clockwise, 1))
        found = read(path)
        assert found.size == (48, 64)
        assert found.frames[0, :, 30:].mean() > 180
        assert found.frames[0, :, :18].mean() < 20

    def test_large_frames_are_reduced(self, tmp_path):
        assert read(video(tmp_path / "a.mp4", frames=2, size=(1280, 720))).size == (480, 270)


class TestSampling:
    @pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 256, 257, 1000, 9_999])
    def test_samples_are_even_and_memory_is_bounded(self, count):
        sampler = Sampler(most=64)
        for number in range(count):
            sampler.add(np.asarray([number]) if sampler.wants_next() else None)
            assert len(sampler._buffer) <= 4 * 64
        found = [int(one[0]) for one in sampler.sampled(last=np.asarray([count - 1]))]
        wanted = sampled_indices(count, most=64)
        assert (found[0], found[-1], len(found)) == (0, count - 1, len(wanted))
        assert max(abs(one - other) for one, other in zip(found, wanted, strict=True)) <= count / 64 / 4


class TestHostileOnes:
    def test_what_is_no_video_says_so(self, tmp_path):
        contents = [b"", b"\0" * 5000, b"\0\0\0\x18ftypmp42", b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n", b"RIFF\xff"]
        for content, ending in zip(contents, [*CODECS, "mp4"], strict=True):
            (tmp_path / f"a.{ending}").write_bytes(content)
            with pytest.raises(MediaError, match="is damaged or no video"):
                read(tmp_path / f"a.{ending}")

    @pytest.mark.parametrize("ending", usual(CODECS, of=["mp4"]))
    def test_a_damaged_one_is_read_or_says_so_whatever_was_changed(self, tmp_path, ending, full):
        whole = bytearray(video(tmp_path / f"whole.{ending}").read_bytes())
        rng = np.random.default_rng(7)
        for attempt in range(6 if full else 3):
            broken = bytearray(whole[: len(whole) - attempt * len(whole) // 8])
            for place in rng.integers(0, len(broken), size=20 * (attempt % 3)):
                broken[place] = int(rng.integers(256))
            (tmp_path / f"broken.{ending}").write_bytes(broken)
            with suppress(MediaError):
                assert 1 <= len(read(tmp_path / f"broken.{ending}").frames) <= 64

    def test_sound_alone_has_no_pictures(self, tmp_path):
        import av

        with av.open(str(tmp_path / "a.mp4"), "w") as container:
            stream = container.add_stream("aac", rate=8000)
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 4096), dtype=np.float32), format="fltp", layout="mono")
            frame.sample_rate = 8000
            container.mux(stream.encode(frame))
            container.mux(stream.encode())
        with pytest.raises(MediaError, match="has no pictures"):
            read(tmp_path / "a.mp4")

    def test_another_kind_of_file_under_a_videos_name_is_refused(self, tmp_path):
        with wave.open(str(tmp_path / "sound.avi"), "wb") as sound:
            sound.setparams((1, 2, 8000, 0, "NONE", ""))
            sound.writeframes(b"\0" * 4000)
        Image.new("RGB", SIZE).save(tmp_path / "picture.mp4", format="PNG")
        for name in ("sound.avi", "picture.mp4"):
            with pytest.raises(MediaError, match="is damaged or no video"):
                read(tmp_path / name)

    def test_frames_too_large_are_refused(self, tmp_path):
        with pytest.raises(MediaError, match="has 5000x32 pixels; at most"):
            read(video(tmp_path / "a.mp4", frames=1, size=(5000, 32)))

    def test_a_header_that_claims_a_huge_size_costs_nothing(self, tmp_path):
        path = video(tmp_path / "a.avi", codec="rawvideo")
        content = path.read_bytes().replace(struct.pack("<II", *SIZE), struct.pack("<II", 60_000, 60_000))
        path.write_bytes(content)
        with pytest.raises(MediaError):
            read(path)

    @pytest.mark.full
    def test_too_many_frames_are_not_decoded_to_the_end(self, tmp_path):
        with pytest.raises(MediaError, match="has more than 10000 frames of 16x16"):
            read(video(tmp_path / "a.mp4", frames=10_050, size=(16, 16)))

    @pytest.mark.full
    def test_decoding_that_takes_too_long_is_ended(self, tmp_path):
        path = repeated(tmp_path / "a.mp4", times=500, size=(1920, 1080))
        with pytest.raises(MediaError, match=r"takes more than 1 s to decode: shorten it"):
            read_video(path, most=64, side=480, cpu_seconds=1)

    def test_a_file_of_too_many_bytes_is_not_opened(self, tmp_path):
        with (tmp_path / "a.mp4").open("wb") as file:
            file.truncate(2**28 + 1)
        with pytest.raises(MediaError, match="has more than"):
            read(tmp_path / "a.mp4")
