"""The built-in check of images, with generated images."""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Callable
from unittest import mock

import pytest
from PIL import Image as PillowImage
from PIL.TiffImagePlugin import IFDRational

from articles.review import ReviewSubject
from articles.review.images import ImageProblem, inspect, review_images
from articles.workflow import Verdict


def image(kind: str = "PNG", size: tuple[int, int] = (40, 30), *, located: bool = False) -> bytes:
    image = PillowImage.new("RGB", size, "teal")
    exif = image.getexif()
    if located:
        exif.get_ifd(0x8825)[2] = tuple(IFDRational(n) for n in (52, 31, 12))
    file = io.BytesIO()
    image.save(file, kind, exif=exif.tobytes())
    return file.getvalue()


def verdicts(faults: list[ImageProblem]) -> set[Verdict]:
    return {fault.verdict for fault in faults}


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP"])
def test_an_image_passes(kind: str) -> None:
    """R5.1"""
    assert inspect(image(kind), claimed=f"image/{kind.lower()}") == []


def archived(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("payload.txt", "hello")
    return data + file.getvalue()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:-20],
        lambda data: b"",
        lambda data: b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        lambda data: b"MZ" + data,
        lambda data: data + b"<?php system($_GET['x']); ?>",
        lambda data: data + b"\x01\x02\x03 more than the picture",
        archived,
    ],
    ids=["cut off", "empty", "SVG with a script", "a program", "PHP behind", "bytes behind", "an archive behind"],
)
@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_what_is_no_image_or_hides_something_is_blocked(kind: str, spoil: Callable[[bytes], bytes]) -> None:
    """R5.1"""
    assert verdicts(inspect(spoil(image(kind)))) == {Verdict.BLOCKED}


def test_an_image_is_of_the_type_it_claims() -> None:
    assert verdicts(inspect(image("PNG"), claimed="image/jpeg")) == {Verdict.BLOCKED}


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_an_image_with_its_location_goes_to_a_reviewer(kind: str) -> None:
    assert verdicts(inspect(image(kind, located=True))) == {Verdict.UNSURE}


def test_an_image_of_absurd_size_is_not_decoded() -> None:
    assert verdicts(inspect(image(size=(10_000, 6_000)))) == {Verdict.UNSURE}


def test_the_images_in_a_text_are_reviewed() -> None:
    """R5.1"""
    good, bad = (base64.b64encode(data).decode() for data in (image(), b"no picture"))
    assert review_images(ReviewSubject({}, body=f'<img src="data:image/png;base64,{good}">')).verdict is Verdict.PASSED
    body = f'<img src="data:image/png;base64,{good}"><img src="data:image/png;base64,{bad}">'
    opinion = review_images(ReviewSubject({}, body=body))
    assert opinion.verdict is Verdict.BLOCKED
    assert opinion.findings[0].message == "The image cannot be decoded, or is none."
    assert review_images(ReviewSubject({}, body="<p>Some data: 1, 2, 3</p>")).verdict is Verdict.PASSED


def test_the_images_in_a_text_are_decoded_up_to_a_number_of_pixels_together(monkeypatch: pytest.MonkeyPatch) -> None:
    decode = mock.Mock(return_value=[])
    monkeypatch.setattr("articles.review.images.inspect", decode)
    huge = base64.b64encode(image(size=(5_000, 5_000))).decode()
    opinion = review_images(ReviewSubject({}, body=f'<img src="data:image/png;base64,{huge}">' * 9))
    assert (opinion.verdict, decode.call_count) == (Verdict.UNSURE, 2)
    assert opinion.findings[0].message == "The images in the text have more than 50 million pixels together."
