"""The image library: upload, change and delete images."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from math import ceil
from pathlib import PurePath
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files import File
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from articles.audit import Action, Actor, record_beside
from articles.exceptions import (
    AltMissing,
    ImageGone,
    ImageInUse,
    InvalidImage,
    NotAllowed,
    NotEditable,
    NotStored,
    PixelsUsedUp,
)
from articles.images import resize
from articles.images.slots import decoding_slot
from articles.limits import IMAGE_BYTES, IMAGE_PIXELS
from articles.models import Article, Image, ImageUse, ProposedChange
from articles.permissions import REVIEW, reads_articles, require
from articles.review import ReviewSubject, applies, needs_second_person, pixels_of, propose, review_words
from scheduling.database import lock_by_ids, retried

logger = logging.getLogger(__name__)

ADD, CHANGE, DELETE = "articles.add_image", "articles.change_image", "articles.delete_image"
VIEW, EDIT_ANY = "articles.view_image", "articles.edit_any_image"


READER_FIELDS = frozenset(Image.SHOWN)
"""The texts of an image that readers see."""

FOCUS = frozenset({"focus_x", "focus_y"})
"""Which part of it readers and other sites see."""

SEEN_FIELDS = READER_FIELDS | FOCUS
"""What readers see, besides the image itself."""

EDITABLE = SEEN_FIELDS | {"title"}


@dataclass(frozen=True)
class Uploaded:
    """The result of an upload; `remark` is a message for the uploader."""

    image: Image
    is_new: bool
    remark: str = ""


def upload(file: File[bytes], *, by: Actor, **texts: str) -> Uploaded:
    """Store a file as an image with these `texts`: title, alt, caption, credit.

    A file that exists already is not stored again; its image gets the texts that were empty. All renditions are stored
    or none. Raises `NotAllowed`, `InvalidImageFile`, `NotStored`, `InvalidImage`, `PixelsUsedUp` and `DecodingBusy`.
    """
    require(ADD, by)
    data = _read(file)
    digest = hashlib.sha256(data).hexdigest()
    if (known := Image.objects.filter(digest=digest).first()) is not None:
        return _reuse(known, texts, by)
    with _decoding(pixels_of(data), by):
        prepared = resize.prepare(data, name=file.name or "")
    image = Image(
        digest=digest,
        format=prepared.format,
        width=prepared.width,
        height=prepared.height,
        widths=prepared.widths,
        size=len(prepared.files[f"original.{prepared.format}"]),
        uploaded_by=by,  # type: ignore[misc]
    )
    image.title = PurePath(file.name or "").stem[:200] or _("Image")
    _set_values(image, {name: text for name, text in texts.items() if text})
    image.file.name = image.path(image.original)
    try:
        with _stored(image, prepared.files):
            _insert(image, by)
    except IntegrityError:  # the same file was uploaded at the same time
        return _reuse(Image.objects.get(digest=digest), texts, by)
    return Uploaded(image, is_new=True, remark=prepared.remark)


@retried
def change_image(image: Image, *, by: Actor, changes: Mapping[str, Any]) -> None:
    """Change an image's texts or focal point; `changes` maps field names to values.

    Under the two-person rule what readers see of an image in approved articles is proposed.

    Raises `NotAllowed`, `NotEditable`, `ImageGone`, `AltMissing` if the alt text would become empty, `InvalidImage`
    for invalid values and for sensitive words in an image of approved articles, and `NotStored`.
    """
    if unknown := changes.keys() - EDITABLE:
        raise NotEditable(_("Not editable: %(names)s") % {"names": _(", ").join(sorted(unknown))})
    _lock(image)
    _require_own(CHANGE, image, by)
    before = {name: getattr(image, name) for name in SEEN_FIELDS}
    _set_values(image, changes)
    if before["alt"] and not image.alt:
        raise AltMissing([image.title])
    # What is not changed stays as it is proposed, too.
    seen = {
        name: getattr(image, name) for name in before.keys() & changes.keys() if getattr(image, name) != before[name]
    }
    if seen:
        _require_approval(image, by)
        _check_words(image)
    _set_values(image, before)
    if needs_second_person() and _is_read(image, seen.keys()):
        propose(image, seen, name=image.title, by=by)
        changes = {name: value for name, value in changes.items() if name not in SEEN_FIELDS}
    else:
        _show(image, seen, by)
    if changes:
        image.save()
        record_beside(Action.CHANGE_IMAGE, title=image.title, by=by, image=str(image.pk), changed=sorted(changes))


@applies(ProposedChange.Subject.IMAGE, Image, shown=Image.SHOWN)
def _apply(image: Image, values: Mapping[str, Any], by: Actor) -> None:
    _show(image, values, by)
    image.save()
    record_beside(Action.CHANGE_IMAGE, title=image.title, by=by, image=str(image.pk), changed=sorted(values))


def _show(image: Image, values: Mapping[str, Any], by: Actor) -> None:
    """Set what readers see of it, with the crop for its focal point."""
    shared = image.shared
    _set_values(image, values)
    if image.shared != shared:
        _replace_crop(image, shared, by)


@retried
def favour(image: Image, *, by: Actor, is_favourite: bool) -> None:
    """Mark an image as a favourite of the user, or remove the mark."""
    require(VIEW, by)
    change = image.favoured_by.add if is_favourite else image.favoured_by.remove
    change(by)  # type: ignore[arg-type]


@retried
def delete_image(image: Image, *, by: Actor) -> None:
    """Delete an image that no article, pending update or front uses. Raises `NotAllowed`, `ImageInUse`, `ImageGone`."""
    _lock(image)
    _require_own(DELETE, image, by)
    if titles := image.used_in():
        raise ImageInUse(titles if reads_articles(by) else [])
    paths = [*map(image.path, image.names), str(image.pk)]
    record_beside(Action.DELETE_IMAGE, title=image.title, by=by, image=str(image.pk))
    image.delete()
    transaction.on_commit(partial(_remove, paths), robust=True)


@retried
def _insert(image: Image, by: Actor) -> None:
    image.save(force_insert=True)
    record_beside(Action.UPLOAD, title=image.title, by=by, image=str(image.pk))


def may_change(image: Image, by: Actor, permission: str = CHANGE) -> bool:
    """Whether `by` has the `permission` for this image: it is their own upload, or they may edit any image."""
    may: bool = by.has_perm(permission) and (  # type: ignore[union-attr]
        image.uploaded_by_id == by.pk or by.has_perm(EDIT_ANY)  # type: ignore[union-attr]
    )
    return may


@contextmanager
def _decoding(pixels: int, by: Actor) -> Iterator[None]:
    """A slot for a block that decodes so many pixels for a user. Raises `DecodingBusy` and `PixelsUsedUp`."""
    with decoding_slot():
        count: Callable[[Any, int], timedelta] = import_string(settings.COUNT_MEGAPIXELS)
        if wait := count(by.pk, ceil(min(pixels, IMAGE_PIXELS) / 1_000_000)):
            raise PixelsUsedUp(wait)
        yield


def _read(file: File[bytes]) -> bytes:
    if file.size > IMAGE_BYTES:
        raise resize.too_many_bytes()
    file.seek(0)  # the transaction may be retried
    data: bytes = file.read()
    return data


def _reuse(known: Image, texts: Mapping[str, str], by: Actor) -> Uploaded:
    """The existing image of the same file, with its empty texts filled in."""
    new = {name: text for name, text in texts.items() if text and not getattr(known, name)}
    if new and may_change(known, by) and _may_change_texts(known, by):
        change_image(known, by=by, changes=new)
    remark = _("The file is in the image library already, as “%(title)s”.")
    return Uploaded(known, is_new=False, remark=remark % {"title": known.title})


def _set_values(image: Image, values: Mapping[str, Any]) -> None:
    """Set and validate fields. Raises `InvalidImage`."""
    for name, value in values.items():
        setattr(image, name, " ".join(value.split()) if isinstance(value, str) else value)
    try:
        image.clean_fields(exclude={"file", "digest"})
    except ValidationError as error:
        raise InvalidImage(" ".join(_message(name, errors) for name, errors in error.message_dict.items())) from error


def _message(name: str, errors: Iterable[str]) -> str:
    label = Image._meta.get_field(name).verbose_name  # type: ignore[union-attr]
    return f"{label}: {' '.join(errors)}"


@contextmanager
def _stored(image: Image, files: Mapping[str, bytes]) -> Iterator[None]:
    """Store files for a block that writes their row; if anything fails, the files are removed."""
    written: list[str] = []
    try:
        _write(image, files, written)
        yield
    except BaseException:
        _remove([*written, str(image.pk)])
        raise


def _write(image: Image, files: Mapping[str, bytes], written: list[str]) -> None:
    for name, content in files.items():
        written.append(image.path(name))
        try:
            default_storage.save(image.path(name), ContentFile(content))
        except Exception as error:  # each storage has its own exceptions
            logger.exception("storing an image file failed: %s", image.path(name))
            raise NotStored from error


def _remove(paths: Iterable[str]) -> None:
    for path in paths:
        try:
            default_storage.delete(path)
        except Exception:
            logger.exception("removing an image file failed: %s", path)


def _replace_crop(image: Image, old: str, by: Actor) -> None:
    """Write the crop around the new focal point; the `old` one is removed after the commit."""
    original = _original(image)
    with _decoding(image.width * image.height, by):
        content = resize.crop(original, x=image.focus_x, y=image.focus_y)
    _remove([image.path(image.shared)])  # a failed change may have left one
    _write(image, {image.shared: content}, [])
    transaction.on_commit(partial(_remove, [image.path(old)]), robust=True)


def _original(image: Image) -> bytes:
    try:
        return image.read()
    except Exception as error:  # each storage has its own exceptions
        logger.exception("reading an image file failed: %s", image.path(image.original))
        raise NotStored from error


def _lock(image: Image) -> None:
    try:
        image.refresh_from_db(from_queryset=lock_by_ids(Image, [image.pk]))
    except Image.DoesNotExist as error:
        raise ImageGone from error


def _require_own(permission: str, image: Image, by: Actor) -> None:
    require(permission, by)
    if not may_change(image, by, permission):
        raise NotAllowed(_("Another user uploaded this image; you may change and delete only your own."))


def _require_approval(image: Image, by: Actor) -> None:
    """Texts and focal point of an image of approved articles may be changed only by users who may approve."""
    if not _may_change_texts(image, by):
        raise NotAllowed(
            _("Approved articles show this image; only users who may approve can change its texts and focal point.")
        )


def _may_change_texts(image: Image, by: Actor) -> bool:
    may: bool = by.has_perm(REVIEW) or not _past_review(image).exists()  # type: ignore[union-attr]
    return may


def _is_read(image: Image, names: Collection[str]) -> bool:
    """Whether these fields need a second person: an approval also covers the focal point, but does not compare it."""
    in_review = image.uses.filter(article__status__in=Article.Status.in_review())
    return _past_review(image).exists() or (not FOCUS.isdisjoint(names) and in_review.exists())


def _past_review(image: Image) -> QuerySet[ImageUse]:
    return image.uses.exclude(article__status__in=Article.Status.unapproved())


def _check_words(image: Image) -> None:
    """Review the texts of an image of approved articles, which are not reviewed again. Raises `InvalidImage`."""
    texts = ReviewSubject({}, captions=[getattr(image, name) for name in sorted(READER_FIELDS)])
    findings = review_words(texts).findings
    if findings and _past_review(image).exists():
        words = _(", ").join(f"“{finding.word}”" for finding in findings)
        message = _("Approved articles show this image, so its texts may not contain %(words)s.")
        raise InvalidImage(message % {"words": words})
