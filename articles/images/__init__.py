"""The image library: uploads, renditions, which articles use an image, and images in HTML."""

from articles.images.fetch import NotFetched, fetch
from articles.images.html import (
    IN_A_COLUMN,
    absolute,
    gather_covers,
    gather_images,
    markup,
    with_copies,
    with_renditions,
)
from articles.images.library import (
    ADD,
    CHANGE,
    CHANGE_IMAGE,
    DELETE,
    DELETE_IMAGE,
    EDITABLE,
    UPLOAD,
    VIEW,
    change_image,
    delete_image,
    favour,
    may_change,
    upload,
)
from articles.images.references import check_images, unknown_images, update_uses
from articles.images.resize import too_many_bytes

__all__ = [
    "ADD",
    "CHANGE",
    "CHANGE_IMAGE",
    "DELETE",
    "DELETE_IMAGE",
    "EDITABLE",
    "IN_A_COLUMN",
    "NotFetched",
    "UPLOAD",
    "VIEW",
    "absolute",
    "change_image",
    "delete_image",
    "favour",
    "fetch",
    "gather_covers",
    "gather_images",
    "markup",
    "may_change",
    "update_uses",
    "check_images",
    "too_many_bytes",
    "unknown_images",
    "upload",
    "with_copies",
    "with_renditions",
]
