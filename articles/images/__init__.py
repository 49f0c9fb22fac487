"""The image library: uploads, renditions, which articles use an image, and images in HTML."""

from articles.images.html import IN_A_COLUMN, absolute, gather_covers, gather_pictures, illustrate, markup
from articles.images.library import (
    ADD,
    CHANGE,
    CHANGE_PICTURE,
    DELETE,
    DELETE_PICTURE,
    EDITABLE,
    UPLOAD,
    VIEW,
    change_material,
    delete_material,
    favour,
    may_change,
    upload,
)
from articles.images.references import note_uses, refuse_pictures, unknown_pictures
from articles.images.resize import too_many_bytes

__all__ = [
    "ADD",
    "CHANGE",
    "CHANGE_PICTURE",
    "DELETE",
    "DELETE_PICTURE",
    "EDITABLE",
    "IN_A_COLUMN",
    "UPLOAD",
    "VIEW",
    "absolute",
    "change_material",
    "delete_material",
    "favour",
    "gather_covers",
    "gather_pictures",
    "illustrate",
    "markup",
    "may_change",
    "note_uses",
    "refuse_pictures",
    "too_many_bytes",
    "unknown_pictures",
    "upload",
]
