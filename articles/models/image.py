"""Pictures of the newsroom, and where they are used."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import ClassVar, Self
from uuid import UUID, uuid4

from django.conf import settings
from django.core.files.storage import default_storage
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from articles.exceptions import MOST_LISTED
from articles.text import MEDIA_PATH

WIDTHS = (320, 640, 1280, 2048)
"""Pixels: the resized versions of a picture that is wide enough; a narrower one has its own width as the largest."""

MODERN = ("avif", "webp")
"""The formats of the versions, the best first; the last is what every browser of today shows."""


class ImageQuerySet(models.QuerySet["Image"]):
    """The words in which the house asks for pictures."""

    def named(self, ids: Iterable[str]) -> list[Image]:
        """The pictures with these ids, in this order; whatever is no id, or nobody's, is left out."""
        wanted = [pk for pk in map(as_id, ids) if pk is not None]
        found = self.in_bulk(wanted) if wanted else {}
        return [found[pk] for pk in wanted if pk in found]

    def unused(self) -> Self:
        """Those that no article shows or may yet show."""
        return self.filter(uses__isnull=True)

    def about(self, words: str) -> Self:
        """Those of which all these words are said."""
        found = self
        for word in words.split():
            said = (Q((f"{name}__icontains", word)) for name in ("title", "alt", "caption", "credit"))
            found = found.filter(reduce(or_, said))
        return found

    def newest_first(self) -> Self:
        """As on the shelf."""
        return self.order_by("-created_at", "-pk")


class Image(models.Model):
    """A picture. Its id is random and part of every address, so that nobody guesses one before it is published."""

    SHOWN: ClassVar = ("alt", "caption", "credit")
    """What readers are told of it."""

    SHARED: ClassVar = (1200, 630)
    """Pixels of the crop that other sites show when somebody shares an article."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False, help_text=_("Hash of the uploaded file."))
    file = models.FileField(_("file"), editable=False, help_text=_("The full image, without metadata."))
    format = models.CharField(_("format"), max_length=5, editable=False)
    width = models.PositiveIntegerField(_("width"), editable=False)
    height = models.PositiveIntegerField(_("height"), editable=False)
    size = models.PositiveIntegerField(_("size"), editable=False, help_text=_("Bytes."))
    widths = models.JSONField(default=list, editable=False, help_text=_("Widths of the renditions, in pixels."))
    title = models.CharField(_("title"), max_length=200, help_text=_("For the newsroom, to find it again."))
    alt = models.CharField(
        _("alt text"),
        max_length=500,
        blank=True,
        help_text=_("Describes the image for readers who cannot see it. Required before the image can be used."),
    )
    caption = models.CharField(
        _("caption"), max_length=1000, blank=True, help_text=_("Shown to readers below the image.")
    )
    credit = models.CharField(
        _("credit"), max_length=200, blank=True, help_text=_("Photographer and copyright holder.")
    )
    focus_x = models.PositiveSmallIntegerField(
        _("focal point from left"), default=50, validators=[MaxValueValidator(100)], help_text=_("Percent.")
    )
    focus_y = models.PositiveSmallIntegerField(
        _("focal point from top"), default=50, validators=[MaxValueValidator(100)], help_text=_("Percent.")
    )
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        editable=False,
        related_name="images",
        verbose_name=_("uploaded by"),
    )
    created_at = models.DateTimeField(_("uploaded"), auto_now_add=True)
    favoured_by = models.ManyToManyField(
        settings.AUTH_USER_MODEL, related_name="favourite_images", blank=True, editable=False
    )

    objects = ImageQuerySet.as_manager()

    class Meta:
        verbose_name = _("image")
        verbose_name_plural = _("images")
        permissions = [("edit_any_image", _("Can change and delete images of others"))]
        indexes = [models.Index(fields=["created_at", "id"], name="image_newest")]

    def __str__(self) -> str:
        return self.title

    def address(self, name: str) -> str:
        """Where one of its files is served."""
        return f"{settings.MEDIA_URL}{self.pk}/{name}"

    def path(self, name: str) -> str:
        """Where one of its files lies in the storage."""
        return f"{self.pk}/{name}"

    def read(self, name: str = "") -> bytes:
        """One of its files, or the picture in full. Raises `OSError` if the storage does not have it."""
        with default_storage.open(self.path(name or self.original)) as file:
            content: bytes = file.read()
        return content

    def used_in(self) -> list[str]:
        """The titles of articles that show it; of very many those that a sentence about them names."""
        return list(self.uses.values_list("article__title", flat=True)[: MOST_LISTED + 1])

    @property
    def names(self) -> list[str]:
        """All its files."""
        versions = [f"{width}.{kind}" for width in self.widths for kind in MODERN]
        return [self.original, self.shared, *versions]

    @property
    def original(self) -> str:
        """The file of the picture in full."""
        return f"original.{self.format}"

    @property
    def shared(self) -> str:
        """The file of the crop around the focal point, which has another name when that is moved."""
        return f"shared-{self.focus_x}-{self.focus_y}.jpeg"

    @property
    def address_in_full(self) -> str:
        """The address of the picture in full."""
        return self.address(self.original)

    @property
    def thumbnail(self) -> str:
        """The address of the smallest version."""
        return self.address(f"{self.widths[0]}.webp")

    @property
    def preview(self) -> str:
        """The address of a version for the middle of a page."""
        return self.address(f"{self.middle}.webp")

    @property
    def in_texts(self) -> str:
        """The address by which texts refer to it, wherever browsers find it at the time."""
        return f"{MEDIA_PATH}{self.pk}/{self.middle}.webp"

    @property
    def middle(self) -> int:
        """The width of a version for the middle of a page."""
        width: int = max(width for width in self.widths if width <= 1280)
        return width

    @property
    def focus(self) -> str:
        """The focal point as a style: where it stays when the picture is cropped."""
        return f"{self.focus_x}% {self.focus_y}%"

    @property
    def focus_classes(self) -> str:
        """The same to a twentieth of its sides as classes of the site's style sheet: readers' pages hold no styles."""
        return f"focus-x-{5 * round(self.focus_x / 5)} focus-y-{5 * round(self.focus_y / 5)}"


class ImageUse(models.Model):
    """An article that shows a picture, or may yet show it: in its columns, or in its newer text."""

    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="uses")
    article = models.ForeignKey("articles.Article", on_delete=models.CASCADE, related_name="image_uses")

    class Meta:
        verbose_name = _("image use")
        verbose_name_plural = _("image uses")
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["image", "article"], name="image_use")]

    def __str__(self) -> str:
        return f"{self.image_id}: {self.article_id}"


def as_id(text: object) -> UUID | None:
    """The id that `text` is, in whatever spelling; None if it is none."""
    try:
        return UUID(str(text))
    except ValueError:
        return None
