"""The images that articles use: validation of a text's images, and the stored `ImageUse` rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from django.db.models import F
from django.utils.translation import ngettext

from articles.exceptions import AltMissing, UnknownImage, WrongCover
from articles.models import (
    Article,
    CoverMode,
    Image,
    ImageUse,
    Release,
    ReleaseMember,
    Revision,
    Text,
    Update,
    as_id,
)
from articles.text import references
from scheduling.database import delete_by_ids, lock_by_ids


def check_images(text: Text, *, before: Text | None = None) -> None:
    """Raise `WrongCover`, `UnknownImage` or `AltMissing` if a text's cover or images are invalid.

    Images that it showed `before` are not checked, so that an old problem does not block other edits. The images stay
    locked until the caller's transaction ends, so that they cannot be deleted before that.
    """
    _check_cover(text)
    new = [pk for pk in text.shown if before is None or pk not in before.shown]
    list(lock_by_ids(Image, [pk for pk in map(as_id, new) if pk]).values_list("pk"))
    if unknown := unknown_images(new):
        raise UnknownImage(unknown)
    if titles := [image.title for image in Image.objects.named(new) if not image.alt]:
        raise AltMissing(titles)


def unknown_images(ids: Sequence[str]) -> list[str]:
    """The ids that no image has."""
    found = {str(image.pk) for image in Image.objects.named(ids)}
    return [pk for pk in ids if pk not in found]


def update_uses(article_ids: Collection[int]) -> None:
    """Update the `ImageUse` rows of these articles."""
    wanted = _used_by(article_ids)
    uses = ImageUse.objects.filter(article__in=article_ids)
    stored = {(use.image_id, use.article_id): use.pk for use in uses}
    delete_by_ids(ImageUse, [pk for pair, pk in stored.items() if pair not in wanted])
    new = sorted(wanted - stored.keys())
    ImageUse.objects.bulk_create([ImageUse(image_id=pk, article_id=article) for pk, article in new])


def _check_cover(text: Text) -> None:
    mode = CoverMode(text.cover_mode)
    if mode.takes is not None and len(set(text.cover)) != mode.takes:
        values = {"mode": mode.label, "takes": mode.takes, "given": len(set(text.cover))}
        message = ngettext(
            "A cover of “%(mode)s” takes %(takes)d image; it has %(given)d.",
            "A cover of “%(mode)s” takes %(takes)d images; it has %(given)d.",
            mode.takes,
        )
        raise WrongCover(message % values)


def _used_by(article_ids: Collection[int]) -> set[tuple[UUID, int]]:
    """Pairs of image and article: in the article's text, in pending updates and in texts that a rollback restores."""
    columns = Article.objects.filter(pk__in=article_ids).values_list("pk", "body", "cover")
    updates = Update.objects.filter(article__in=article_ids).values_list("draft", "approved")
    pending = Revision.objects.filter(pk__in=[pk for pair in updates for pk in pair if pk])
    released = ReleaseMember.objects.exclude(release__status=Release.Status.ROLLED_BACK).filter(
        article__in=article_ids, old_revision__isnull=False
    )
    before = Revision.objects.filter(article__memberships__in=released, number=F("article__memberships__old_revision"))
    revisions = [row for rows in (pending, before) for row in rows.values_list("article_id", "body", "cover")]
    texts = [*columns, *revisions]
    used = {(as_id(pk), article) for article, body, cover in texts for pk in [*cover, *references(body)]}
    existing = set(Image.objects.filter(pk__in={pk for pk, _article in used if pk}).values_list("pk", flat=True))
    return {(pk, article) for pk, article in used if pk is not None and pk in existing}
