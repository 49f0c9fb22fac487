"""Pictures made on the spot, and the newsroom's own of them."""

from __future__ import annotations

import io
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from articles import images
from articles.models import Material

GPS, ORIENTATION = 0x8825, 0x0112


def picture(
    kind: str = "JPEG",
    size: tuple[int, int] = (400, 300),
    *,
    colour: str | int | None = None,
    located: bool = False,
    turned: bool = False,
    **options: Any,
) -> bytes:
    """A picture's file; each has a colour of its own unless told otherwise. `options` are Pillow's for saving."""
    image = Image.new("RGB", size, uuid4().int & 0xFFFFFF if colour is None else colour)
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
    return SimpleUploadedFile(name, picture() if data is None else data)


def make_material(by: User, alt: str = "Ships in the harbour", **said: str) -> Material:
    """A picture of the newsroom."""
    return images.upload(sent(), by=by, alt=alt, **said).material


def shown(material: Material) -> str:
    """A text that shows the picture."""
    return f'<p>Look:</p><img src="{material.in_texts}" alt="">'
