"""Which pictures an article shows: refused when they are not there, and kept as `MaterialUse` as long as they count."""

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
from scheduling.services import delete_by_ids, lock_by_ids


def refuse_images(text: Text, *, before: Text | None = None) -> None:
    """Raise `WrongCover`, `UnknownMaterial` or `AltMissing` if a text shows what it cannot.

    What it showed `before` is left alone, so that an old fault keeps nobody from correcting a comma. The pictures stay
    locked until the caller's transaction ends, so that nobody deletes one meanwhile.
    """
    _refuse_cover(text)
    new = [pk for pk in text.shown if before is None or pk not in before.shown]
    list(lock_by_ids(Image, [pk for pk in map(as_id, new) if pk]).values_list("pk"))
    if unknown := unknown_images(new):
        raise UnknownImage(unknown)
    if silent := [image.title for image in Image.objects.named(new) if not image.alt]:
        raise AltMissing(silent)


def unknown_images(ids: Sequence[str]) -> list[str]:
    """Those of these ids that are no picture's."""
    found = {str(image.pk) for image in Image.objects.named(ids)}
    return [pk for pk in ids if pk not in found]


def note_uses(article_ids: Collection[int]) -> None:
    """Set right what is known of the pictures of these articles, from what is stored of them."""
    wanted = _shown_by(article_ids)
    uses = ImageUse.objects.filter(article__in=article_ids)
    there = {(use.image_id, use.article_id): use.pk for use in uses}
    delete_by_ids(ImageUse, [pk for pair, pk in there.items() if pair not in wanted])
    new = sorted(wanted - there.keys())
    ImageUse.objects.bulk_create([ImageUse(image_id=pk, article_id=article) for pk, article in new])


def _refuse_cover(text: Text) -> None:
    mode = CoverMode(text.cover_mode)
    if mode.takes is not None and len(set(text.cover)) != mode.takes:
        given = {"mode": mode.label, "takes": mode.takes, "given": len(set(text.cover))}
        sentence = ngettext(
            "A cover of “%(mode)s” takes %(takes)d picture; it has %(given)d.",
            "A cover of “%(mode)s” takes %(takes)d pictures; it has %(given)d.",
            mode.takes,
        )
        raise WrongCover(sentence % given)


def _shown_by(article_ids: Collection[int]) -> set[tuple[UUID, int]]:
    """Pairs of picture and article, of all that the columns, the newer texts and those to roll back to show."""
    columns = Article.objects.filter(pk__in=article_ids).values_list("pk", "body", "cover")
    newer = Update.objects.filter(article__in=article_ids).values_list("draft", "approved")
    kept = Revision.objects.filter(pk__in=[pk for pair in newer for pk in pair if pk])
    released = ReleaseMember.objects.exclude(release__status=Release.Status.ROLLED_BACK).filter(
        article__in=article_ids, old_revision__isnull=False
    )
    before = Revision.objects.filter(article__memberships__in=released, number=F("article__memberships__old_revision"))
    old = [row for rows in (kept, before) for row in rows.values_list("article_id", "body", "cover")]
    texts = [*columns, *old]
    named = {(as_id(pk), article) for article, body, cover in texts for pk in [*cover, *references(body)]}
    there = set(Image.objects.filter(pk__in={pk for pk, _article in named if pk}).values_list("pk", flat=True))
    return {(pk, article) for pk, article in named if pk is not None and pk in there}
