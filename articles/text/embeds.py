"""Embeds: a URL alone in its paragraph is shown as a player if the setting `EMBEDS` allows its site.

Texts contain only the URL, so stored HTML is safe and follows later changes of the setting.
"""

from __future__ import annotations

import html
import re

from django.conf import settings
from django.utils.html import format_html

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
    # Players do not start without "allow-same-origin", which gives them their own origin, not ours.
    return format_html(
        '<figure class="embed"><iframe src="{}" title="{}" loading="lazy" allow="fullscreen; picture-in-picture"'
        ' sandbox="allow-scripts allow-same-origin allow-popups allow-presentation"'
        ' referrerpolicy="strict-origin-when-cross-origin"></iframe>'
        '<figcaption><a href="{}">{}</a></figcaption></figure>',
        source,
        name,
        address,
        name,
    )
