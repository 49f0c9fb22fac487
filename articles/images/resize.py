"""Making pictures fit for the site: decoded, turned upright, freed of metadata, and resized.

Everything that is stored is written anew from the pixels, so whatever else a file carried (places, scripts, archives,
another document) is gone. Of the old file only the colour profile stays.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from threading import BoundedSemaphore
from typing import Any

from django.utils.translation import gettext as _
from PIL import Image as PillowImage
from PIL import ImageCms, ImageOps

from articles.exceptions import InvalidImageFile
from articles.models import MODERN, WIDTHS, Image
from articles.review import MOST_BYTES, MOST_PIXELS, inspect
from articles.workflow import Verdict

READ = ("JPEG", "PNG", "WEBP", "GIF", "AVIF")
ENDINGS = {
    "JPEG": ("jpg", "jpeg", "jpe", "jfif"),
    "PNG": ("png",),
    "WEBP": ("webp",),
    "GIF": ("gif",),
    "AVIF": ("avif",),
}
KEPT = {"JPEG": "jpeg", "WEBP": "webp"}
"""In which form a picture in full is kept, by what it was; all others lose nothing as PNG."""

MOST_SIDE = 16_000  # pixels; WebP ends a little above
MOST_RATIO = 100  # between the sides
OPTIONS: dict[str, dict[str, Any]] = {
    "jpeg": {"quality": 92, "progressive": True},
    "png": {},
    "webp": {"quality": 80},
    "avif": {"quality": 60, "speed": 9},
}

_AT_ONCE = BoundedSemaphore(2)
"""How many are taken apart at once in this process: one may need 400 MB."""


@dataclass(frozen=True)
class Prepared:
    """A picture as it will be stored."""

    format: str
    width: int
    height: int
    widths: list[int]
    files: dict[str, bytes]
    remark: str = ""  #: what the sender should know


def prepare(data: bytes, *, name: str) -> Prepared:
    """Every file that is stored for the picture `data`, which was sent as `name`. Raises `NoPicture`."""
    with _AT_ONCE:
        image = _decoded(data)
        kind, form = image.info["kind"], KEPT.get(image.info["kind"], "png")
        widths = [width for width in WIDTHS if width < image.width]
        if len(widths) < len(WIDTHS):
            widths.append(image.width)
        files = {f"original.{form}": _written(image, form), "shared-50-50.jpeg": _cut(image, 50, 50)}
        for width, version in _resized(image, widths):
            files |= {f"{width}.{modern}": _written(version, modern) for modern in MODERN}
    _refuse_survivors(files)
    return Prepared(form, image.width, image.height, widths, files, _remark(kind, name))


def crop(data: bytes, *, x: int, y: int) -> bytes:
    """The part of the picture `data` around its focal point (per cent) that other sites show."""
    with _AT_ONCE:
        return _cut(_decoded(data), x, y)


def _decoded(data: bytes) -> PillowImage.Image:
    """The pixels of a picture of any kind, upright, in a plain colour mode. Raises `NoPicture`."""
    if len(data) > MOST_BYTES:
        raise too_many_bytes()
    try:
        with warnings.catch_warnings(), PillowImage.open(io.BytesIO(data), formats=READ) as image:
            _refuse_extremes(image)
            return _plain(ImageOps.exif_transpose(image), "JPEG" if image.format == "MPO" else str(image.format))
    except InvalidImageFile:
        raise
    except PillowImage.DecompressionBombError as error:
        raise _too_many_pixels() from error
    except Exception as error:  # Pillow's readers raise almost anything on broken files
        raise InvalidImageFile(_reason(data)) from error


def _cut(image: PillowImage.Image, x: int, y: int) -> bytes:
    wide, high = Image.SHARED
    share = min(1, image.width / wide, image.height / high)
    size = max(1, round(wide * share)), max(1, round(high * share))
    cut = ImageOps.fit(image, size, PillowImage.Resampling.LANCZOS, centering=(x / 100, y / 100))
    return _written(cut, "jpeg")


def _refuse_extremes(image: PillowImage.Image) -> None:
    """Before anything is decoded: what would take all memory, and what moves."""
    if image.width * image.height > MOST_PIXELS or max(image.size) > MOST_SIDE:
        raise _too_many_pixels()
    if max(image.size) > MOST_RATIO * min(image.size):
        raise InvalidImageFile(_("It is a line rather than a picture."))
    if image.format != "MPO" and getattr(image, "n_frames", 1) > 1:
        raise InvalidImageFile(_("It is animated or has several pages; send a still picture."))


def too_many_bytes() -> InvalidImageFile:
    """Why a file that is too large is refused."""
    return InvalidImageFile(_("It is larger than %d MB; send a smaller version.") % (MOST_BYTES // 1_000_000))


def _too_many_pixels() -> InvalidImageFile:
    limits = {"most": MOST_PIXELS // 1_000_000, "side": MOST_SIDE}
    return InvalidImageFile(_("It has more than %(most)d million pixels, or %(side)d on one side; send less.") % limits)


def _reason(data: bytes) -> str:
    head = data[:1024].lower()
    if b"<svg" in head:
        return _("SVG is not taken, since it can carry scripts; send it as PNG.")
    if data[4:12] in (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftypmsf1"):
        return _("HEIC is not taken; send it as JPEG.")
    return _("It is no picture that can be read, or only a part of one; send it again as JPEG, PNG or WebP.")


def _plain(image: PillowImage.Image, kind: str) -> PillowImage.Image:
    """The same in grey, RGB or RGBA of 8 bits, with no metadata but its kind and colour profile."""
    profile = _profile(image)
    if image.mode.startswith("I") or image.mode == "F":
        image = image.point(lambda value: value / 256).convert("L")
    elif image.mode == "CMYK":
        image, profile = _to_rgb(image, profile), None
    elif image.mode not in ("L", "RGB", "RGBA"):
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    plain = PillowImage.frombytes(image.mode, image.size, image.tobytes())
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
    """From the inks of a printer to the light of a screen."""
    if profile is None:
        return image.convert("RGB")
    source, target = ImageCms.ImageCmsProfile(io.BytesIO(profile)), ImageCms.createProfile("sRGB")
    return ImageCms.profileToProfile(image, source, target, outputMode="RGB") or image.convert("RGB")


def _resized(image: PillowImage.Image, widths: list[int]) -> Iterator[tuple[int, PillowImage.Image]]:
    """From the largest to the smallest, each from the one before."""
    info = image.info
    for width in reversed(widths):
        size = width, max(1, round(image.height * width / image.width))
        image = image if image.size == size else image.resize(size, PillowImage.Resampling.LANCZOS, reducing_gap=3.0)
        image.info = info
        yield width, image


def _written(image: PillowImage.Image, form: str) -> bytes:
    profile = image.info.get("icc_profile")
    if form == "jpeg" and image.mode == "RGBA":
        paper = PillowImage.new("RGBA", image.size, "white")
        image = PillowImage.alpha_composite(paper, image).convert("RGB")
    file = io.BytesIO()
    image.save(file, form, icc_profile=profile, **OPTIONS[form])
    return file.getvalue()


def _refuse_survivors(files: dict[str, bytes]) -> None:
    """What the review would object to is not stored; a colour profile is the only place where it could have lived."""
    for name, content in files.items():
        kind = name.rpartition(".")[2]
        faults = [] if kind == "avif" else inspect(content, claimed=f"image/{kind}")
        if any(fault.verdict is Verdict.BLOCKED for fault in faults):
            raise InvalidImageFile(_("It carries other content, such as a script or an archive."))


def _remark(kind: str, name: str) -> str:
    ending = PurePath(name).suffix.lstrip(".").lower()
    if not ending or ending in ENDINGS[kind]:
        return ""
    return _("“%(name)s” is a %(kind)s picture in truth, and was taken as one.") % {"name": name, "kind": kind}
