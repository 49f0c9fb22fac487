"""Covers: the images shown with a headline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import models
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from articles.models.image import Image
from articles.text import references


class CoverMode(models.TextChoices):
    """How many images are shown with an article's headline."""

    NONE = "none", _("None")
    ONE = "one", _("One image")
    THREE = "three", _("Three images")
    AUTO = "auto", _("Automatic, from the images in the text")

    @property
    def takes(self) -> int | None:
        """The number of images to choose; None if the text decides."""
        return {self.NONE: 0, self.ONE: 1, self.THREE: 3}.get(self)

    def cover(self, chosen: Iterable[object], shown: Sequence[str]) -> list[str]:
        """The ids of the cover: those chosen or, if automatic, the first three, one or none of the text's images."""
        if self is not self.AUTO:
            return [str(pk) for pk in chosen] if self.takes else []
        return list(shown[: 3 if len(shown) >= 3 else 1])


class Covered(models.Model):
    """A text with a cover: an article, or a revision of one. The model has a `body`."""

    body: models.TextField[str, str]

    cover_mode = models.CharField(_("cover"), max_length=5, choices=CoverMode.choices, default=CoverMode.AUTO)
    cover = models.JSONField(
        _("images of the cover"), default=list, blank=True, help_text=_("IDs, including those taken from the text.")
    )

    class Meta:
        abstract = True

    @property
    def images(self) -> list[str]:
        """The ids of the images in the body."""
        return references(self.body)

    @cached_property
    def covers(self) -> list[Image]:
        """The images of the cover; `articles.images.html.gather_covers` looks those of many articles up at once."""
        return Image.objects.named(self.cover)

    @cached_property
    def renditions_of(self) -> dict[str, Image]:
        """The images in the body by their ids; `articles.images.html.gather_images` looks up those of many articles."""
        return {str(image.pk): image for image in Image.objects.named(self.images)}

    def choose_cover(self) -> None:
        """Set an automatic cover from the body."""
        self.cover = CoverMode(self.cover_mode).cover(self.cover, self.images)
