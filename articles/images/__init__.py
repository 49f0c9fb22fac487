"""The image library: uploads, renditions, which articles use an image, and images in HTML."""

from articles.images.fetch import NotFetched as NotFetched, fetch as fetch
from articles.images.html import (
    IN_A_COLUMN as IN_A_COLUMN,
    absolute as absolute,
    gather_covers as gather_covers,
    gather_images as gather_images,
    markup as markup,
    with_copies as with_copies,
    with_renditions as with_renditions,
)
from articles.images.library import (
    ADD as ADD,
    CHANGE as CHANGE,
    DELETE as DELETE,
    EDITABLE as EDITABLE,
    VIEW as VIEW,
    change_image as change_image,
    delete_image as delete_image,
    favour as favour,
    may_change as may_change,
    upload as upload,
)
from articles.images.references import (
    check_images as check_images,
    unknown_images as unknown_images,
    update_uses as update_uses,
)
from articles.images.resize import too_many_bytes as too_many_bytes
