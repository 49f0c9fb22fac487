"""What the HTML of other systems loses when it is sanitised, for the report."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy

from articles.text import lost_tags

_CODE = gettext_lazy("programs do not run here")
_FORM = gettext_lazy("forms have no effect here")
_DRAWING = gettext_lazy("drawings are not supported; upload them as an image")
_PLAYER = gettext_lazy("it has no address to link to")
_REASONS: dict[str, Promise] = {
    **dict.fromkeys(("script", "applet", "template"), _CODE),
    "style": gettext_lazy("the site has its own styles"),
    **dict.fromkeys(("form", "input", "button", "select", "option", "optgroup", "textarea", "datalist"), _FORM),
    **dict.fromkeys(("svg", "math", "canvas", "map", "area"), _DRAWING),
    **dict.fromkeys(("object", "embed", "iframe", "param"), _PLAYER),
}


def losses(html: str) -> list[str]:
    """A note for each kind of element that is removed, with the reason."""
    return [_note(tag) for tag in lost_tags(html)]


def _note(tag: str) -> str:
    reason = _REASONS.get(tag) or _("it is not known; its text stays")
    return _("<%(tag)s> is removed from the text: %(reason)s") % {"tag": tag, "reason": reason}
