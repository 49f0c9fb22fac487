"""The built-in check of images: they decode, have a sane size and the claimed type, and hide no other content.

Images of the library are files; in a text an image can also be a `data:` address. Images of other sites are not
fetched. What an image shows is for a review provider to say, see `articles.review.providers`.
"""

from __future__ import annotations

import base64
import binascii
import html
import io
import logging
import re
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from django.utils.translation import gettext_noop as _
from PIL import Image as PillowImage, ImageFile

from articles.limits import IMAGE_BYTES, IMAGE_PIXELS
from articles.models import BODY, Image, Translatable
from articles.review.findings import PASSED, Finding, Opinion, strictest
from articles.review.text import ReviewSubject
from articles.workflow import Verdict

logger = logging.getLogger(__name__)

FORMATS = ("JPEG", "PNG", "GIF", "WEBP")
MOST_FRAMES = 1000

_GPS = 0x8825  # EXIF's table of the place
_END = {"JPEG": b"\xff\xd9", "MPO": b"\xff\xd9", "PNG": b"IEND\xaeB`\x82", "GIF": b";"}
_MARK_UP = re.compile(rb"<\?php|<script|<html|<!doctype", re.IGNORECASE)
_PDF_WITHIN = 1024  # bytes in which readers of PDF look for its first line
_DATA_ADDRESS = re.compile(r"""\bdata:([\w.+-]+/[\w.+-]+)?((?:;[\w=."+-]+)*),([^"'\s<>]*)""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ImageProblem:
    """A problem of an image, with its verdict for the article."""

    verdict: Verdict
    message: str


def review_images(subject: ReviewSubject) -> Opinion:
    """Check each image embedded in the body, and those of the image library in cover and body."""
    problems = [*_problems(subject.body), *(problem for image in subject.images for problem in _problems_of(image))]
    return strictest([PASSED, *map(_opinion, problems)])


def inspect(data: bytes, *, claimed: str = "") -> list[ImageProblem]:
    """The problems of an image; `claimed` is its media type, such as "image/png"."""
    if len(data) > IMAGE_BYTES:
        return [_problem(Verdict.UNSURE, _("The image is larger than %(most)d MB."), most=IMAGE_BYTES // 1_000_000)]
    try:
        with PillowImage.open(io.BytesIO(data), formats=FORMATS) as image:
            return list(_look(image, data, claimed))
    except (
        OSError,
        ValueError,
        SyntaxError,
        EOFError,
        PillowImage.DecompressionBombError,
        PillowImage.DecompressionBombWarning,
    ):
        return [_problem(Verdict.BLOCKED, _("The image cannot be decoded, or is none."))]


def _look(image: ImageFile.ImageFile, data: bytes, claimed: str) -> Iterator[ImageProblem]:
    if image.width * image.height > IMAGE_PIXELS or getattr(image, "n_frames", 1) > MOST_FRAMES:
        most = IMAGE_PIXELS // 1_000_000
        yield _problem(Verdict.UNSURE, _("The image has more than %(most)d million pixels."), most=most)
        return
    image.load()
    if claimed and claimed not in (image.get_format_mimetype(), PillowImage.MIME.get(image.format or "")):
        yield _problem(Verdict.BLOCKED, _("The image is not of the type it claims to be: %(type)s."), type=claimed)
    if hides_something(image.format or "", data):
        yield _problem(Verdict.BLOCKED, _("The image contains other content, such as a script or an archive."))
    if image.getexif().get_ifd(_GPS) or b"GPSLatitude" in data:
        yield _problem(Verdict.UNSURE, _("The image contains the place where it was taken."))


def hides_something(kind: str, data: bytes) -> bool:
    """Whether the bytes could be run or opened as something other than the image."""
    return bool(
        _MARK_UP.search(data)
        or b"%PDF-" in data[:_PDF_WITHIN]
        or zipfile.is_zipfile(io.BytesIO(data))
        or not _ends_with_image(kind, data)
    )


def _ends_with_image(kind: str, data: bytes) -> bool:
    if kind == "WEBP":
        return len(data) <= int.from_bytes(data[4:8], "little") + 8 + 1
    return data.rstrip(b"\0").endswith(_END[kind])


def pixels_of(data: bytes) -> int:
    """How many pixels a file says it has; 0 if it is no image. Nothing is decoded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with PillowImage.open(io.BytesIO(data), formats=(*FORMATS, "AVIF")) as image:
                return image.width * image.height
        except Exception:  # Pillow raises many different exceptions for broken files
            return 0


def _problems(body: str) -> Iterator[ImageProblem]:
    left = IMAGE_PIXELS  # of all images in the text: a few kilobytes may hold one of seconds
    for address in _DATA_ADDRESS.finditer(html.unescape(body)):
        kind, parameters, content = address.groups()
        try:
            data = unquote_to_bytes(content)
            data = base64.b64decode(data, validate=True) if "base64" in parameters.lower() else data
        except binascii.Error:
            data = b""
        left -= pixels_of(data)
        if left < 0:
            text = _("The images in the text have more than %(most)d million pixels together.")
            yield _problem(Verdict.UNSURE, text, most=IMAGE_PIXELS // 1_000_000)
            return
        yield from inspect(data, claimed=(kind or "text/plain").lower())


def _problems_of(image: Image) -> Iterator[ImageProblem]:
    """The problems of an image in the library; one missing in the storage needs a reviewer."""
    try:
        found = inspect(image.read(), claimed=f"image/{image.format}")
    except Exception:
        logger.exception("image %s cannot be read", image.pk)
        found = [_problem(Verdict.UNSURE, _("The image cannot be read from the storage."))]
    for problem in found:
        yield ImageProblem(problem.verdict, Translatable.joined([f"“{image.title}”:", problem.message]))


def _problem(verdict: Verdict, msgid: str, **values: int | str) -> ImageProblem:
    return ImageProblem(verdict, Translatable.of(msgid, **values))


def _opinion(problem: ImageProblem) -> Opinion:
    return Opinion(problem.verdict, problem.message, (Finding(BODY, message=problem.message),))
