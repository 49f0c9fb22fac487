"""Embeds: a URL alone in its paragraph can be loaded as a player if the setting `EMBEDS` allows its site.

The other site hears nothing before the reader asks for the player (`articles/static/articles/embeds.js`).
Texts contain only the URL, so stored HTML is safe and follows later changes of the setting.
"""

from __future__ import annotations

import html
import re

from django.conf import settings
from django.utils.html import format_html
from django.utils.translation import gettext as _

_ALONE = re.compile(
    r"<p>\s*(?:<a href=\"(?P<target>[^\"]+)\"[^>]*>\s*(?P<shown>https?://[^<\s]+)\s*</a>|(?P<bare>https?://[^<\s]+))\s*</p>"
)


def with_players(body: str) -> str:
    """Sanitised HTML with embeds for URLs of allowed sites that are alone in a paragraph."""
    return _ALONE.sub(_player, body)


def player_of(address: str) -> tuple[str, str] | None:
    """The site's name and the player's URL; None if the site is not allowed."""
    for name, pattern, player in settings.EMBEDS:
        if found := re.match(pattern, address):
            return name, player.format(found[1])
    return None


def _player(found: re.Match[str]) -> str:
    address = html.unescape(found["target"] or found["bare"])
    player = player_of(address)
    if player is None:
        return found[0]
    name, source = player
    # The script shows the button, so previews and browsers without scripts have the link alone.
    return format_html(
        '<figure class="embed"><div class="embed-ask" hidden><p>{}</p>'
        '<button type="button" data-player="{}" data-site="{}">{}</button></div>'
        '<figcaption><a href="{}">{}</a></figcaption></figure>',
        _("The video is loaded from %(site)s, which then learns that you watch it.") % {"site": name},
        source,
        name,
        _("Load the video from %(site)s") % {"site": name},
        address,
        name,
    )
