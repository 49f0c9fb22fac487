"""Forms of the editor of a front: a card, a block, the instant of a version, the front of a channel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.utils.functional import cached_property
from django.utils.translation import gettext as _, gettext_lazy
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from articles.desk.articles.forms import LineFormField
from articles.desk.time_field import ZonedTimeField
from articles.limits import ADDRESS_LENGTH, LABEL_LENGTH, MOST_SHOWN, MOST_SUBLINKS, SUMMARY_LENGTH, TITLE_LENGTH
from articles.models import Block, Card, Channel, Release
from articles.publishing import tag_named

COVER, OWN, NONE = "cover", "own", "none"

_ARTICLE = re.compile(r"(?:\S*/article/)?([1-9]\d{0,17})(?:/\S*)?", re.ASCII)
"""The number of an article, or its address on the site."""


class FrontTimeForm(forms.Form):
    """From when readers get a version."""

    live_from = ZonedTimeField(label=gettext_lazy("Goes live at"))


class FrontReleaseForm(forms.Form):
    """The release with which readers get a version."""

    release = forms.ModelChoiceField(
        label=gettext_lazy("Release"), queryset=Release.objects.none(), widget=UnfoldAdminSelectWidget
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data)
        pending = Release.objects.pending().order_by("-updated_at")
        self.fields["release"].queryset = pending  # type: ignore[attr-defined]

    @property
    def has_choices(self) -> bool:
        """Whether there is a release to choose."""
        return Release.objects.pending().exists()


class ChannelFrontForm(forms.Form):
    """The front of a channel, in a language."""

    channel = forms.ModelChoiceField(
        label=gettext_lazy("Channel"), queryset=Channel.objects.enabled(), widget=UnfoldAdminSelectWidget
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language"), choices=settings.LANGUAGES, widget=UnfoldAdminSelectWidget
    )


class PartForm(forms.Form):
    """What a card or a block is like; `base` is the edit of the draft that the user saw."""

    base = forms.IntegerField(min_value=0, max_value=2**31 - 1, widget=forms.HiddenInput)

    def changes(self, row: Any) -> dict[str, Any]:
        """The values that differ from those of the stored row."""
        return {name: value for name, value in self.values().items() if value != _stored(row, name)}

    def values(self) -> Mapping[str, Any]:
        """The values as an operation takes them."""
        return {name: value for name, value in self.cleaned_data.items() if name != "base"}


class CardForm(PartForm):
    """A card: its own texts and image, its size, when it is shown, and the lines below it."""

    headline = LineFormField(
        label=gettext_lazy("Headline"),
        max_length=TITLE_LENGTH,
        required=False,
        widget=UnfoldAdminTextareaWidget({"rows": 2}),
    )
    kicker = LineFormField(
        label=gettext_lazy("Kicker"), max_length=LABEL_LENGTH, required=False, widget=UnfoldAdminTextInputWidget
    )
    summary = LineFormField(
        label=gettext_lazy("Summary"),
        max_length=SUMMARY_LENGTH,
        required=False,
        widget=UnfoldAdminTextareaWidget({"rows": 2}),
    )
    url = LineFormField(
        label=gettext_lazy("Address"), max_length=ADDRESS_LENGTH, required=False, widget=UnfoldAdminTextInputWidget
    )
    image_choice = forms.ChoiceField(
        label=gettext_lazy("Image"),
        choices=[
            (COVER, gettext_lazy("The cover of the article")),
            (OWN, gettext_lazy("Another image")),
            (NONE, gettext_lazy("No image")),
        ],
        widget=UnfoldAdminSelectWidget,
    )
    image = forms.UUIDField(required=False, widget=forms.HiddenInput)
    size = forms.ChoiceField(label=gettext_lazy("Size"), choices=Card.Size.choices, widget=UnfoldAdminSelectWidget)
    shows_from = ZonedTimeField(label=gettext_lazy("Shows from"), required=False)
    shows_until = ZonedTimeField(label=gettext_lazy("Shows until"), required=False)

    def __init__(self, card: Card, base: int, data: Any = None) -> None:
        super().__init__(data, initial=_initial(card, base))
        if card.article_id:
            del self.fields["url"]
        article = card.article
        if article is not None:
            self.fields["headline"].widget.attrs["placeholder"] = article.title
            self.fields["summary"].widget.attrs["placeholder"] = article.summary
            self.fields["kicker"].widget.attrs["placeholder"] = str(article.channel or "")
        for number in range(MOST_SUBLINKS):
            for name, label, most in (
                ("link", _("Article or address %(number)d"), ADDRESS_LENGTH),
                ("text", _("Headline %(number)d"), TITLE_LENGTH),
            ):
                self.fields[f"{name}_{number}"] = LineFormField(
                    label=label % {"number": number + 1},
                    max_length=most,
                    required=False,
                    widget=UnfoldAdminTextInputWidget,
                )

    @property
    def lines(self) -> list[tuple[Any, Any]]:
        """The fields of each line below the card."""
        return [(self[f"link_{number}"], self[f"text_{number}"]) for number in range(MOST_SUBLINKS)]

    @cached_property
    def used_lines(self) -> int:
        """Lines that are shown at once: those with content, and an empty one."""
        filled = [place for place, pair in enumerate(self.lines) if any(field.value() for field in pair)]
        return min((filled[-1] + 2) if filled else 1, MOST_SUBLINKS)

    def clean(self) -> dict[str, Any]:
        """Another image needs to be chosen."""
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("image_choice") == OWN and not cleaned.get("image"):
            self.add_error("image_choice", _("Choose an image, or another answer."))
        return cleaned

    def values(self) -> Mapping[str, Any]:
        """The values as an operation takes them."""
        cleaned = self.cleaned_data
        names = ("headline", "kicker", "summary", "url", "size", "shows_from", "shows_until")
        return {
            **{name: cleaned[name] for name in names if name in cleaned},
            "image": cleaned["image"] if cleaned["image_choice"] == OWN else None,
            "no_image": cleaned["image_choice"] == NONE,
            "sublinks": list(self._links()),
        }

    def _links(self) -> Iterator[dict[str, Any]]:
        for number in range(MOST_SUBLINKS):
            link, text = self.cleaned_data[f"link_{number}"], self.cleaned_data[f"text_{number}"]
            found = _ARTICLE.fullmatch(link)
            if found:
                yield {"article": int(found[1]), "headline": text}
            elif link or text:
                yield {"url": link, "headline": text}


class BlockForm(PartForm):
    """A block: what readers see above it, how many cards, and what fills it up."""

    kind = forms.ChoiceField(label=gettext_lazy("Kind"), choices=Block.Kind.choices, widget=UnfoldAdminSelectWidget)
    title = LineFormField(
        label=gettext_lazy("Title"), max_length=LABEL_LENGTH, required=False, widget=UnfoldAdminTextInputWidget
    )
    size = forms.IntegerField(
        label=gettext_lazy("Cards that readers see at most"),
        min_value=1,
        max_value=MOST_SHOWN,
        widget=UnfoldAdminIntegerFieldWidget,
    )
    backfill = forms.ChoiceField(
        label=gettext_lazy("Fills up with"), choices=Block.Backfill.choices, widget=UnfoldAdminSelectWidget
    )
    channel = forms.ModelChoiceField(
        label=gettext_lazy("Channel"), queryset=Channel.objects.all(), required=False, widget=UnfoldAdminSelectWidget
    )
    tag = LineFormField(
        label=gettext_lazy("Tag"), max_length=LABEL_LENGTH, required=False, widget=UnfoldAdminTextInputWidget
    )

    def __init__(self, block: Block, base: int, data: Any = None) -> None:
        names = ("kind", "title", "size", "backfill")
        chosen = {name: getattr(block, name) for name in names}
        super().__init__(data, initial={**chosen, "channel": block.channel_id, "tag": block.tag or "", "base": base})

    def clean(self) -> dict[str, Any]:
        """The channel or tag that the filling needs."""
        cleaned = super().clean() or self.cleaned_data
        name = cleaned.get("tag") or ""
        cleaned["tag"] = tag_named(name) if name else None
        if name and cleaned["tag"] is None:
            self.add_error("tag", _("There is no tag with this name: %(names)s.") % {"names": name})
        for needed in (Block.Backfill.CHANNEL, Block.Backfill.TAG):
            if cleaned.get("backfill") == needed and not cleaned.get(needed.value) and needed.value not in self.errors:
                self.add_error(needed.value, _("Choose one."))
        return cleaned

    def values(self) -> Mapping[str, Any]:
        """The values as an operation takes them."""
        chosen = {name: getattr(self.cleaned_data[name], "pk", None) for name in ("channel", "tag")}
        return {**super().values(), **chosen}


def _initial(card: Card, base: int) -> dict[str, Any]:
    names = ("headline", "kicker", "summary", "url", "size", "shows_from", "shows_until")
    image_choice = NONE if card.no_image else OWN if card.image_id else COVER
    links = {}
    for number, link in enumerate(card.sublinks):
        links[f"link_{number}"] = str(link.get("article") or link.get("url") or "")
        links[f"text_{number}"] = str(link.get("headline") or "")
    chosen = {name: getattr(card, name) for name in names}
    return {**chosen, **links, "image_choice": image_choice, "image": card.image_id, "base": base}


def _stored(row: Any, name: str) -> Any:
    return getattr(row, f"{name}_id" if name in ("image", "channel", "tag") else name)
