"""Images of the newsroom, and their uses."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any, ClassVar, Self
from uuid import UUID, uuid4

from django.apps import apps
from django.conf import settings
from django.core.files.storage import default_storage
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from articles.exceptions import MOST_LISTED
from articles.limits import ALT_LENGTH, CAPTION_LENGTH, CREDIT_LENGTH, IMAGE_TITLE_LENGTH, MOST_WORDS
from articles.models.base.timestamps import CreatedAtField
from articles.text import MEDIA_PATH
from scheduling.database import database_now

MODERN = ("avif", "webp")
"""The formats of renditions, best first; every browser shows the last."""


class ImageQuerySet(models.QuerySet["Image"]):
    """Queries for images."""

    def named(self, ids: Iterable[str]) -> list[Image]:
        """The images with these ids, in this order; invalid and unknown ids are left out."""
        wanted = [pk for pk in map(as_id, ids) if pk is not None]
        found = self.in_bulk(wanted) if wanted else {}
        return [found[pk] for pk in wanted if pk in found]

    def unused(self) -> Self:
        """Images that no article and no front uses."""
        return self.filter(~Exists(_cards_in_use().filter(image=OuterRef("pk"))), uses__isnull=True)

    def about(self, words: str) -> Self:
        """Images whose texts contain the first `MOST_WORDS` of these words."""
        found = self
        for word in words.split()[:MOST_WORDS]:
            said = (Q((f"{name}__icontains", word)) for name in ("title", "alt", "caption", "credit"))
            found = found.filter(reduce(or_, said))
        return found

    def newest_first(self) -> Self:
        """In the order of the image library."""
        return self.order_by("-created_at", "-pk")


def _cards_in_use() -> Any:
    """The cards of fronts, whose module imports this one."""
    return apps.get_model("articles", "Card")._default_manager.in_use(database_now())


class Image(models.Model):
    """An image. Its id is random and part of every address, so that an address cannot be guessed."""

    SHOWN: ClassVar = ("alt", "caption", "credit")
    """The fields that readers see."""

    SHARED: ClassVar = (1200, 630)
    """Pixels of the crop that other sites show for a shared article."""

    PREVIEW_WIDTH: ClassVar = 1280
    """The widest rendition for previews, in pixels."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False, help_text=_("Hash of the uploaded file."))
    file = models.FileField(_("file"), editable=False, help_text=_("The full image, without its metadata."))
    format = models.CharField(_("format"), max_length=5, editable=False)
    width = models.PositiveIntegerField(_("width"), editable=False)
    height = models.PositiveIntegerField(_("height"), editable=False)
    size = models.PositiveIntegerField(_("size"), editable=False, help_text=_("Bytes."))
    widths = models.JSONField(default=list, editable=False, help_text=_("Widths of the renditions, in pixels."))
    title = models.CharField(
        _("title"), max_length=IMAGE_TITLE_LENGTH, help_text=_("For the newsroom, to find it again.")
    )
    alt = models.CharField(
        _("alt text"),
        max_length=ALT_LENGTH,
        blank=True,
        help_text=_("Describes the image for readers who cannot see it. Needed before the image can be used."),
    )
    caption = models.CharField(
        _("caption"), max_length=CAPTION_LENGTH, blank=True, help_text=_("Shown to readers below the image.")
    )
    credit = models.CharField(
        _("credit"), max_length=CREDIT_LENGTH, blank=True, help_text=_("Photographer and copyright holder.")
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
    created_at = CreatedAtField(_("uploaded"))
    favoured_by = models.ManyToManyField(
        settings.AUTH_USER_MODEL, related_name="favourite_images", blank=True, editable=False
    )

    objects = ImageQuerySet.as_manager()

    class Meta:
        verbose_name = _("image")
        verbose_name_plural = _("images")
        permissions = [("edit_any_image", _("Can change and delete the images of others"))]
        indexes = [models.Index(fields=["created_at", "id"], name="image_newest")]

    def __str__(self) -> str:
        return self.title

    def address(self, name: str) -> str:
        """The URL of one of its files."""
        return f"{settings.MEDIA_URL}{self.pk}/{name}"

    def path(self, name: str) -> str:
        """The path of one of its files in the storage."""
        return f"{self.pk}/{name}"

    def read(self, name: str = "") -> bytes:
        """The content of one of its files, by default the full image. Raises `OSError` if it is missing."""
        with default_storage.open(self.path(name or self.original)) as file:
            content: bytes = file.read()
        return content

    def used_in(self) -> list[str]:
        """The names of the first articles and fronts that use it, as many as an error message names."""
        titles = list(self.uses.values_list("article__title", flat=True)[: MOST_LISTED + 1])
        return [*titles, *self.fronts()][: MOST_LISTED + 1]

    def fronts(self) -> list[str]:
        """The names of the fronts that use it on a card, now or later."""
        cards = _cards_in_use().filter(image=self.pk).select_related("block__version__front__channel")
        return sorted({str(card.block.version.front) for card in cards})

    @property
    def names(self) -> list[str]:
        """All its files."""
        versions = [f"{width}.{kind}" for width in self.widths for kind in MODERN]
        return [self.original, self.shared, *versions]

    @property
    def original(self) -> str:
        """The file of the full image."""
        return f"original.{self.format}"

    @property
    def shared(self) -> str:
        """The file of the crop around the focal point, which has another name when that is moved."""
        return f"shared-{self.focus_x}-{self.focus_y}.jpeg"

    @property
    def address_in_full(self) -> str:
        """The address of the full image."""
        return self.address(self.original)

    @property
    def thumbnail(self) -> str:
        """The address of the smallest rendition."""
        return self.address(f"{self.widths[0]}.webp")

    @property
    def preview(self) -> str:
        """The address of the rendition for previews."""
        return self.address(f"{self.middle}.webp")

    @property
    def in_texts(self) -> str:
        """The address by which texts refer to it, independent of where it is served."""
        return f"{MEDIA_PATH}{self.pk}/{self.middle}.webp"

    @property
    def middle(self) -> int:
        """The width of the rendition for previews."""
        width: int = max(width for width in self.widths if width <= self.PREVIEW_WIDTH)
        return width

    @property
    def focus(self) -> str:
        """The focal point as a CSS value for cropping."""
        return f"{self.focus_x}% {self.focus_y}%"

    @property
    def focus_classes(self) -> str:
        """The focal point, in steps of 5 %, as classes of the site's style sheet."""
        return f"focus-x-{5 * round(self.focus_x / 5)} focus-y-{5 * round(self.focus_y / 5)}"


class ImageUse(models.Model):
    """The use of an image by an article, in its columns or its update."""

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
    """`text` as an id; None if it is not one."""
    try:
        return UUID(str(text))
    except ValueError:
        return None
