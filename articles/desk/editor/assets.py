"""What the screen of an article loads, and what its scripts are told."""

from __future__ import annotations

from typing import Any, cast

from django.forms import Media as PlainMedia
from django.forms.widgets import Script
from django.http import HttpRequest
from django_prose_editor.widgets import prose_editor_admin_media
from js_asset import ImportMap, Media

from articles.desk.editor.autosave import addresses, window_of
from articles.desk.editor.editor_texts import SCREEN_WORDS
from articles.desk.editor.time_hints import quick_times
from articles.models import Article
from headline.content_security import nonce_for
from scheduling.services import read_database_clock

MODULES = ("toolbar", "kept", "embeds", "images", "told", "keeping")
"""What our scripts import from each other, by the names of the files."""

ENTRANCES = ("main", "counts", "presence", "preview", "schedule")
"""Scripts that run by themselves."""


def writing_media() -> PlainMedia:
    """The editor's own files and ours, and an import map with the addresses of our modules."""
    own = Media(
        importmap=ImportMap({f"articles/editor/{name}": f"articles/editor/{name}.js" for name in MODULES}),
        css={"all": ["articles/editor/editor.css"]},
        js=[
            Script("articles/editor/words.js"),
            *(Script(f"articles/editor/{name}.js", type="module") for name in ENTRANCES),
        ],
    )
    return cast(PlainMedia, prose_editor_admin_media + own)


def marked(media: PlainMedia, request: HttpRequest) -> PlainMedia:
    """The same, with the nonce by which the browser takes the import map, which stands in the page's text, for ours."""
    return cast(PlainMedia, Media.from_media(media, nonce=nonce_for(request)))


def told(request: HttpRequest, article: Article | None) -> dict[str, Any]:
    """For `articles/editor/told.js`: texts, and who writes what in which window."""
    window = window_of(request)
    return {
        "words": SCREEN_WORDS,
        "addresses": addresses(request, article, window),
        "user": request.user.pk,
        "article": article and article.pk,
        "window": window,
        "choices": [(name, label) for name, (label, _wall) in quick_times(read_database_clock()).items()],
    }
