"""Scripts, styles and script configuration of the article form."""

from __future__ import annotations

from typing import Any, cast

from django.forms import Media as PlainMedia
from django.forms.widgets import Script
from django.http import HttpRequest
from django_prose_editor.widgets import prose_editor_admin_media
from js_asset import ImportMap, Media

from articles.desk.editor.autosave import AUTOSAVE_INTERVAL, script_urls, window_of
from articles.desk.editor.editor_texts import SCREEN_TEXTS
from articles.desk.editor.time_hints import quick_times
from articles.models import Article
from headline.content_security import nonce_for
from scheduling.services import read_database_clock

MODULES = ("toolbar", "preserved", "embeds", "images", "notes", "config", "autosave")
"""Modules in the import map, by file name."""

ENTRY_POINTS = ("main", "counts", "presence", "preview", "time_hints")
"""Scripts loaded by the page."""


def writing_media() -> PlainMedia:
    """Files of the rich-text editor and our own, and the import map of our modules."""
    own = Media(
        importmap=ImportMap({f"articles/editor/{name}": f"articles/editor/{name}.js" for name in MODULES}),
        css={"all": ["articles/editor/editor.css"]},
        js=[
            Script("articles/editor/gettext.js"),
            *(Script(f"articles/editor/{name}.js", type="module") for name in ENTRY_POINTS),
        ],
    )
    return cast(PlainMedia, prose_editor_admin_media + own)


def with_nonce(media: PlainMedia, request: HttpRequest) -> PlainMedia:
    """The same, with the CSP nonce that allows the inline import map."""
    return cast(PlainMedia, Media.from_media(media, nonce=nonce_for(request)))


def script_config(request: HttpRequest, article: Article | None) -> dict[str, Any]:
    """Data for `articles/editor/config.js`: texts, URLs, user, article, window and the autosave interval in ms."""
    window = window_of(request)
    return {
        "texts": SCREEN_TEXTS,
        "urls": script_urls(request, article, window),
        "user": request.user.pk,
        "article": article and article.pk,
        "window": window,
        "autosaveInterval": AUTOSAVE_INTERVAL * 1000,
        "choices": [(name, label) for name, (label, _wall) in quick_times(read_database_clock()).items()],
    }
