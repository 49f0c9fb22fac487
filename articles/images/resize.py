"""Decode, normalise and resize uploaded images.

All stored files are encoded from the decoded pixels, so nothing else from the upload (location data, scripts, archives,
other documents) survives, except the colour profile.
"""

from __future__ import annotations

import io
import tempfile
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from django.utils.translation import gettext as _
from PIL import Image as PillowImage, ImageCms, ImageOps, PngImagePlugin

from articles.exceptions import InvalidImageFile
from articles.limits import IMAGE_BYTES, IMAGE_PIXELS, IMAGE_RATIO, IMAGE_SIDE
from articles.models import MODERN, Image
from articles.review import hides_something

WIDTHS = (320, 640, 1280, 2048)
"""The widths of renditions in pixels; the largest rendition of a narrower image has its own width."""

READABLE_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "AVIF")
ENDINGS = {
    "JPEG": ("jpg", "jpeg", "jpe", "jfif"),
    "PNG": ("png",),
    "WEBP": ("webp",),
    "GIF": ("gif",),
    "AVIF": ("avif",),
}
ORIGINAL_FORMATS = {"JPEG": "jpeg", "WEBP": "webp"}
"""The format of the stored original by the upload's format; all others are stored as PNG, which is lossless."""

OPTIONS: dict[str, dict[str, Any]] = {
    "jpeg": {"quality": 92, "progressive": True},
    "png": {},
    "webp": {"quality": 80},
    "avif": {"quality": 60, "speed": 9},
}

PillowImage.core.set_block_size(64 * 1024 * 1024)  # type: ignore[attr-defined]
"""Of memory: what is smaller than 32 MB the C library would keep, hundreds of megabytes after each large image."""

_PNG, _COMPRESSED = b"\x89PNG\r\n\x1a\n", (b"zTXt", b"iTXt", b"iCCP")
_AROUND_CHUNK = 12  # bytes of its length, type and check sum


@dataclass(frozen=True)
class Prepared:
    """The files and properties of an image to store."""

    format: str
    width: int
    height: int
    widths: list[int]
    files: dict[str, bytes]
    remark: str = ""  #: a message for the uploader


def prepare(data: bytes, *, name: str) -> Prepared:
    """Make all files of an image uploaded as `name`. Raises `InvalidImageFile`."""
    image = _decoded(data)
    kind, form = image.info["kind"], ORIGINAL_FORMATS.get(image.info["kind"], "png")
    widths = [width for width in WIDTHS if width < image.width]
    if len(widths) < len(WIDTHS):
        widths.append(image.width)
    files = {f"original.{form}": _encoded(image, form), "shared-50-50.jpeg": _cropped(image, 50, 50)}
    for width, rendition in _resized(image, widths):
        files |= {f"{width}.{modern}": _encoded(rendition, modern) for modern in MODERN}
    _check_files(files)
    return Prepared(form, image.width, image.height, widths, files, _remark(kind, name))


def crop(data: bytes, *, x: int, y: int) -> bytes:
    """The crop around the focal point (per cent) that other sites show."""
    return _cropped(_decoded(data), x, y)


def _decoded(data: bytes) -> PillowImage.Image:
    """The pixels of an image in any supported format, upright, in a plain colour mode. Raises `InvalidImageFile`."""
    if len(data) > IMAGE_BYTES:
        raise too_many_bytes()
    try:
        with (
            warnings.catch_warnings(),
            PillowImage.open(io.BytesIO(_without_large_chunks(data)), formats=READABLE_FORMATS) as image,
        ):
            _check_size(image)
            ImageOps.exif_transpose(image, in_place=True)  # without a copy of an upright image
            return _plain(image, "JPEG" if image.format == "MPO" else str(image.format))
    except InvalidImageFile:
        raise
    except PillowImage.DecompressionBombError as error:
        raise _too_many_pixels() from error
    except Exception as error:  # Pillow raises many different exceptions for broken files
        raise InvalidImageFile(_reason(data)) from error


def _cropped(image: PillowImage.Image, x: int, y: int) -> bytes:
    width, height = Image.SHARED
    scale = min(1, image.width / width, image.height / height)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    cropped = ImageOps.fit(image, size, PillowImage.Resampling.LANCZOS, centering=(x / 100, y / 100))
    return _encoded(cropped, "jpeg")


def _check_size(image: PillowImage.Image) -> None:
    """Refuse images that would need too much memory, and animations, before they are decoded."""
    if image.width * image.height > IMAGE_PIXELS or max(image.size) > IMAGE_SIDE:
        raise _too_many_pixels()
    if max(image.size) > IMAGE_RATIO * min(image.size):
        raise InvalidImageFile(_("The image is too narrow: one side is more than %d times the other.") % IMAGE_RATIO)
    if image.format != "MPO" and getattr(image, "n_frames", 1) > 1:
        raise InvalidImageFile(_("The image is animated or has several pages; upload a still image."))


def too_many_bytes() -> InvalidImageFile:
    """The error for a file that is too large."""
    return InvalidImageFile(_("The file is larger than %d MB; upload a smaller version.") % (IMAGE_BYTES // 1_000_000))


def _too_many_pixels() -> InvalidImageFile:
    limits = {"most": IMAGE_PIXELS // 1_000_000, "side": IMAGE_SIDE}
    message = _("The image has more than %(most)d million pixels, or %(side)d on one side; upload a smaller version.")
    return InvalidImageFile(message % limits)


def _without_large_chunks(data: bytes) -> bytes:
    """A PNG file without texts and profiles that Pillow would refuse to decompress; other files unchanged."""
    if not data.startswith(_PNG):
        return data
    kept, place = [_PNG], len(_PNG)
    while place + _AROUND_CHUNK <= len(data):
        length, kind = int.from_bytes(data[place : place + 4], "big"), data[place + 4 : place + 8]
        if kind not in _COMPRESSED or not _is_large(data[place : place + 8 + length]):
            kept.append(data[place : place + _AROUND_CHUNK + length])
        place += _AROUND_CHUNK + length
    return b"".join(kept)


def _is_large(chunk: bytes) -> bool:
    """Whether a compressed text or profile has more than Pillow decompresses."""
    kind, content = chunk[4:8], chunk[8:]
    fields = content.split(b"\0", 1)[-1]  # behind its name: the method, and the data
    if kind == b"iTXt":
        if fields[:1] != b"\1":
            return False
        fields = b"\0" + fields[2:].split(b"\0", 2)[-1]
    try:
        found = zlib.decompressobj().decompress(fields[1:], PngImagePlugin.MAX_TEXT_CHUNK + 1)
    except zlib.error:
        return True
    return len(found) > PngImagePlugin.MAX_TEXT_CHUNK


def _reason(data: bytes) -> str:
    head = data[:1024].lower()
    if data.startswith((b"II*\0", b"MM\0*")):
        return _("TIFF files are not accepted; upload it as JPEG or PNG.")
    if data.startswith(b"BM"):
        return _("BMP files are not accepted; upload it as JPEG or PNG.")
    if b"<svg" in head:
        return _("SVG files are not accepted because they can contain scripts; upload it as PNG.")
    if data[4:12] in (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftypmsf1"):
        return _("HEIC files are not accepted; upload it as JPEG.")
    return _("The file is not a readable image, or is incomplete; upload it again as JPEG, PNG or WebP.")


def _plain(image: PillowImage.Image, kind: str) -> PillowImage.Image:
    """The image in grey, RGB or RGBA of 8 bits, with no metadata but its format and colour profile."""
    profile = _profile(image)
    if image.mode.startswith("I") or image.mode == "F":
        image = image.point(lambda value: value / 256).convert("L")
    elif image.mode == "CMYK":
        image, profile = _to_rgb(image, profile), None
    elif image.has_transparency_data and image.mode != "RGBA":  # a colour may be transparent in grey and RGB, too
        image = image.convert("RGBA")
    elif image.mode not in ("L", "RGB", "RGBA"):
        image = image.convert("RGB")
    plain = image.copy()
    plain.info = {"kind": kind, "icc_profile": profile}
    return plain


def _profile(image: PillowImage.Image) -> bytes | None:
    profile: bytes | None = image.info.get("icc_profile")
    try:
        ImageCms.ImageCmsProfile(io.BytesIO(profile or b""))
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return None
    return profile


def _to_rgb(image: PillowImage.Image, profile: bytes | None) -> PillowImage.Image:
    """Convert a CMYK image."""
    if profile is None:
        return image.convert("RGB")
    source, target = ImageCms.ImageCmsProfile(io.BytesIO(profile)), ImageCms.createProfile("sRGB")
    try:
        return ImageCms.profileToProfile(image, source, target, outputMode="RGB") or image.convert("RGB")
    except (ImageCms.PyCMSError, OSError, ValueError):  # the profile is of another colour space
        return image.convert("RGB")


def _resized(image: PillowImage.Image, widths: list[int]) -> Iterator[tuple[int, PillowImage.Image]]:
    """Renditions from the largest to the smallest, each resized from the one before."""
    info = image.info
    for width in reversed(widths):
        size = width, max(1, round(image.height * width / image.width))
        image = image if image.size == size else image.resize(size, PillowImage.Resampling.LANCZOS, reducing_gap=3.0)
        image.info = info
        yield width, image


def _encoded(image: PillowImage.Image, form: str) -> bytes:
    profile = image.info.get("icc_profile")
    if form == "jpeg" and image.mode == "RGBA":
        paper = PillowImage.new("RGBA", image.size, "white")
        image = PillowImage.alpha_composite(paper, image).convert("RGB")
    # A real file: other threads wait while Pillow compresses JPEG or PNG into memory.
    with tempfile.TemporaryFile() as file:
        image.save(file, form, icc_profile=profile, **OPTIONS[form])
        file.seek(0)
        return file.read()


def _check_files(files: dict[str, bytes]) -> None:
    """Refuse files that the automatic review would block; only a colour profile could still hold such content."""
    for name, content in files.items():
        kind = name.rpartition(".")[2].upper()
        if kind != "AVIF" and hides_something(kind, content):
            raise InvalidImageFile(_("The file contains other content, such as a script or an archive."))


def _remark(kind: str, name: str) -> str:
    ending = PurePath(name).suffix.lstrip(".").lower()
    if not ending or ending in ENDINGS[kind]:
        return ""
    return _("“%(name)s” is really a %(kind)s image and was stored as one.") % {"name": name, "kind": kind}
