"""Pictures: taking them in, describing them, and deleting what nobody uses."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Any

from django.core.exceptions import ValidationError
from django.core.files import File
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from articles.audit import REVIEW, Actor, reads_articles, record_beside, require
from articles.exceptions import (
    AltMissing,
    ImageGone,
    ImageInUse,
    InvalidImage,
    NotAllowed,
    NotEditable,
    NotStored,
)
from articles.images import resize
from articles.models import Article, Image, ImageUse
from articles.review import MOST_BYTES, Subject, review_words
from scheduling.services import lock_by_ids, retried

logger = logging.getLogger(__name__)

ADD, CHANGE, DELETE = "articles.add_image", "articles.change_image", "articles.delete_image"
VIEW, EDIT_ANY = "articles.view_image", "articles.edit_any_image"

UPLOAD, CHANGE_IMAGE, DELETE_IMAGE = "upload", "change_image", "delete_image"
"""What the audit record calls these."""

SHOWN = frozenset(Image.SHOWN)
"""What readers are told of a picture."""

EDITABLE = SHOWN | {"title", "focus_x", "focus_y"}


@dataclass(frozen=True)
class Uploaded:
    """What became of a file: its picture, whether that is new, and what the sender should know."""

    image: Image
    is_new: bool
    remark: str = ""


def upload(file: File[bytes], *, by: Actor, **said: str) -> Uploaded:
    """Store a file as a picture, with what is `said` of it: title, alt, caption, credit.

    A file that is there already is not stored again; its picture is given what is said and was not said before. Either
    all of the picture is stored or nothing. Raises `NotAllowed`, `NoPicture`, `NotStored` and `WrongMaterial`.
    """
    require(ADD, by)
    data = _read(file)
    digest = hashlib.sha256(data).hexdigest()
    if (known := Image.objects.filter(digest=digest).first()) is not None:
        return _again(known, said, by)
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
    image.title = PurePath(file.name or "").stem[:200] or _("Picture")
    _say(image, {name: text for name, text in said.items() if text})
    image.file.name = image.path(image.original)
    try:
        with _stored(image, prepared.files):
            _insert(image, by)
    except IntegrityError:  # somebody sent the same file at the same time
        return _again(Image.objects.get(digest=digest), said, by)
    return Uploaded(image, is_new=True, remark=prepared.remark)


@retried
def change_image(image: Image, *, by: Actor, changes: Mapping[str, Any]) -> None:
    """Say something else of a picture (field name to value), or move its focal point.

    Raises `NotAllowed`, `NotEditable`, `MaterialGone`, `AltMissing` if its description is taken away, and
    `WrongMaterial` for values that do not fit, and for sensitive words in what articles past their review show.
    """
    if unknown := changes.keys() - EDITABLE:
        raise NotEditable(_("Not editable: %(names)s") % {"names": _(", ").join(sorted(unknown))})
    _lock(image)
    _require_own(CHANGE, image, by)
    before = image.alt, image.shared
    _say(image, changes)
    if before[0] and not image.alt:
        raise AltMissing([image.title])
    if SHOWN & changes.keys():
        _require_approval(image, by)
        _refuse_words(image)
    if image.shared != before[1]:
        _cut_again(image, before[1])
    image.save()
    record_beside(CHANGE_IMAGE, title=image.title, by=by, image=str(image.pk), changed=sorted(changes))


@retried
def favour(image: Image, *, by: Actor, is_favourite: bool) -> None:
    """Mark a picture as one of the person's favourites, or no longer."""
    require(VIEW, by)
    change = image.favoured_by.add if is_favourite else image.favoured_by.remove
    change(by)  # type: ignore[arg-type]


@retried
def delete_image(image: Image, *, by: Actor) -> None:
    """Delete a picture that no article shows or may yet show. Raises `NotAllowed`, `MaterialUsed`, `MaterialGone`."""
    _lock(image)
    _require_own(DELETE, image, by)
    if titles := image.used_in():
        raise ImageInUse(titles if reads_articles(by) else [])
    paths = [*map(image.path, image.names), str(image.pk)]
    record_beside(DELETE_IMAGE, title=image.title, by=by, image=str(image.pk))
    image.delete()
    transaction.on_commit(partial(_remove, paths), robust=True)


@retried
def _insert(image: Image, by: Actor) -> None:
    image.save(force_insert=True)
    record_beside(UPLOAD, title=image.title, by=by, image=str(image.pk))


def may_change(image: Image, by: Actor, permission: str = CHANGE) -> bool:
    """Whether `by` may change it (or do what takes the `permission`): it is his own, or he may change everybody's."""
    may: bool = by.has_perm(permission) and (  # type: ignore[union-attr]
        image.uploaded_by_id == by.pk or by.has_perm(EDIT_ANY)  # type: ignore[union-attr]
    )
    return may


def _read(file: File[bytes]) -> bytes:
    if file.size > MOST_BYTES:
        raise resize.too_many_bytes()
    file.seek(0)  # a transaction around this may be run again
    data: bytes = file.read()
    return data


def _again(known: Image, said: Mapping[str, str], by: Actor) -> Uploaded:
    """The same file once more: what was not said the first time is said now."""
    new = {name: text for name, text in said.items() if text and not getattr(known, name)}
    if new and may_change(known, by) and _may_say(known, by):
        change_image(known, by=by, changes=new)
    return Uploaded(known, is_new=False, remark=_("It was there already, as “%(title)s”.") % {"title": known.title})


def _say(image: Image, said: Mapping[str, Any]) -> None:
    """Set what is said of a picture. Raises `WrongMaterial`."""
    for name, value in said.items():
        setattr(image, name, " ".join(value.split()) if isinstance(value, str) else value)
    try:
        image.clean_fields(exclude={"file", "digest"})
    except ValidationError as error:
        raise InvalidImage(" ".join(_told(name, texts) for name, texts in error.message_dict.items())) from error


def _told(name: str, texts: Iterable[str]) -> str:
    label = Image._meta.get_field(name).verbose_name  # type: ignore[union-attr]
    return f"{label}: {' '.join(texts)}"


@contextmanager
def _stored(image: Image, files: Mapping[str, bytes]) -> Iterator[None]:
    """Store files for a block that tells the database of them; if either fails, none of them stays."""
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
        except Exception as error:  # a full disk, an unreachable server: each storage has its own errors
            logger.exception("picture not stored: %s", image.path(name))
            raise NotStored from error


def _remove(paths: Iterable[str]) -> None:
    for path in paths:
        try:
            default_storage.delete(path)
        except Exception:
            logger.exception("left behind in the storage: %s", path)


def _cut_again(image: Image, old: str) -> None:
    """The crop around the new focal point takes the place of the `old` one once the change is committed."""
    content = resize.crop(image.read(), x=image.focus_x, y=image.focus_y)
    _remove([image.path(image.shared)])  # one that a failed change left behind
    _write(image, {image.shared: content}, [])
    transaction.on_commit(partial(_remove, [image.path(old)]), robust=True)


def _lock(image: Image) -> None:
    try:
        image.refresh_from_db(from_queryset=lock_by_ids(Image, [image.pk]))
    except Image.DoesNotExist as error:
        raise ImageGone from error


def _require_own(permission: str, image: Image, by: Actor) -> None:
    require(permission, by)
    if not may_change(image, by, permission):
        raise NotAllowed(_("This is somebody else's picture; you may change and delete your own."))


def _require_approval(image: Image, by: Actor) -> None:
    """What readers are told with an approved text changes only by somebody who may approve."""
    if not _may_say(image, by):
        raise NotAllowed(_("Approved articles show this picture; only who may approve articles can change its texts."))


def _may_say(image: Image, by: Actor) -> bool:
    may: bool = by.has_perm(REVIEW) or not _past_review(image).exists()  # type: ignore[union-attr]
    return may


def _past_review(image: Image) -> QuerySet[ImageUse]:
    return image.uses.exclude(article__status__in=Article.Status.unapproved())


def _refuse_words(image: Image) -> None:
    """What readers are told may change without a review of the article only if a review would let it pass."""
    said = Subject("", captions=[getattr(image, name) for name in sorted(SHOWN)])
    findings = review_words(said).findings
    if findings and _past_review(image).exists():
        words = _(", ").join(f"“{finding.word}”" for finding in findings)
        raise InvalidImage(_("Approved articles show this picture, and it may not say %(words)s.") % {"words": words})
