"""Pictures are read as a person sees them."""

import io

import numpy as np
from PIL import Image

from evaluator.core.pictures import as_seen


def saved(picture, *, kind="PNG", **options):
    stream = io.BytesIO()
    picture.save(stream, format=kind, **options)
    return Image.open(io.BytesIO(stream.getvalue()))


def test_a_picture_lies_as_its_orientation_says():
    picture = Image.fromarray(np.repeat(np.array([[255, 0]], dtype=np.uint8), 4, axis=0)).resize((8, 4), 0)
    exif = Image.Exif()
    exif[0x0112] = 6
    seen = as_seen(saved(picture.convert("RGB"), kind="PNG", exif=exif))
    assert seen.size == (4, 8)
    assert [seen.getpixel((2, row))[0] for row in (0, 7)] == [255, 0]


def test_damaged_orientation_data_are_ignored():
    stream = io.BytesIO()
    Image.new("RGB", (4, 2), "red").save(stream, format="JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\x00\x01")
    assert as_seen(Image.open(stream)).size == (4, 2)


def test_greys_of_sixteen_bits_are_scaled():
    deep = Image.fromarray(np.array([[0, 32896, 65535]], dtype=np.uint16))
    assert [as_seen(saved(deep)).getpixel((x, 0)) for x in range(3)] == [(0,) * 3, (128,) * 3, (255,) * 3]
    shallow = Image.fromarray(np.array([[0, 128, 255]], dtype=np.int32))
    assert [as_seen(shallow).getpixel((x, 0)) for x in range(3)] == [(0,) * 3, (128,) * 3, (255,) * 3]


def test_what_is_transparent_is_white():
    layered = Image.new("RGBA", (2, 1), (10, 20, 30, 0))
    layered.putpixel((1, 0), (10, 20, 30, 255))
    assert [as_seen(saved(layered)).getpixel((x, 0)) for x in range(2)] == [(255, 255, 255), (10, 20, 30)]
    palette = layered.convert("RGB").convert("P", palette=Image.Palette.ADAPTIVE, colors=2)
    index = palette.getpixel((0, 0))
    assert as_seen(saved(palette, transparency=index)).getpixel((0, 0)) == (255, 255, 255)


def test_inks_and_animations_are_read():
    assert as_seen(saved(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), kind="JPEG")).getpixel((4, 4))[0] > 200
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    animation = saved(frames[0], kind="GIF", save_all=True, append_images=frames[1:])
    assert as_seen(animation).getpixel((0, 0)) == (255, 0, 0)
