"""Players of other sites: an address that stands alone in its paragraph becomes one, if its site is allowed.

Texts hold nothing but the address, so what is stored is harmless, reads well anywhere and follows the setting `EMBEDS`.
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
    """Cleaned HTML with a player for each address of an allowed site that stands alone; all others stay links."""
    return _ALONE.sub(_player, body)


def player_of(address: str) -> tuple[str, str] | None:
    """The site's name and the address of its player; None if the site is not allowed."""
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
    # Without "allow-same-origin" the players refuse to start; it gives them their own origin, not ours.
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
