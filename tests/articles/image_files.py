"""Generated image files, and images of the library."""

from __future__ import annotations

import io
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image as PillowImage
from PIL.TiffImagePlugin import IFDRational

from articles import images as image_library
from articles.models import Image

GPS, ORIENTATION = 0x8825, 0x0112


def image_bytes(
    kind: str = "JPEG",
    size: tuple[int, int] = (400, 300),
    *,
    colour: str | int | None = None,
    located: bool = False,
    turned: bool = False,
    **options: Any,
) -> bytes:
    """An image file, by default with a colour of its own. `options` are Pillow's for saving."""
    image = PillowImage.new("RGB", size, uuid4().int & 0xFFFFFF if colour is None else colour)
    exif = image.getexif()
    if located:
        exif.get_ifd(GPS)[2] = tuple(IFDRational(n) for n in (52, 31, 12))
    if turned:
        exif[ORIENTATION] = 6
    file = io.BytesIO()
    image.save(file, kind, exif=exif.tobytes(), **options)
    return file.getvalue()


def sent(data: bytes | None = None, name: str = "harbour.jpg") -> SimpleUploadedFile:
    """A file as a browser sends it."""
    return SimpleUploadedFile(name, image_bytes() if data is None else data)


def make_image(by: User, alt: str = "Ships in the harbour", **said: str) -> Image:
    """An image of the library."""
    return image_library.upload(sent(), by=by, alt=alt, **said).image


def shown(image: Image) -> str:
    """A text that shows the image."""
    return f'<p>Look:</p><img src="{image.in_texts}" alt="">'
