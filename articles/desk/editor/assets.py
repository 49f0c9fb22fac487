"""Scripts, styles and script configuration of the article form."""

from __future__ import annotations

from typing import Any, cast

from django.forms import Media as PlainMedia
from django.forms.widgets import Script
from django.http import HttpRequest
from django.templatetags.static import static
from js_asset import ImportMap, Media

from articles.desk.editor.autosave import AUTOSAVE_INTERVAL, last_number, script_urls, window_shown
from articles.desk.editor.editor_texts import SCREEN_TEXTS
from articles.desk.editor.time_hints import quick_times
from articles.models import Article
from scheduling.database import read_database_clock

MODULES = (
    *("config", "storage", "caret", "windows", "autosave", "workspace", "floating", "article_choices"),
    *("toolbar", "bubble", "slash", "links", "preserved", "embeds", "images", "notes", "paste", "office", "references"),
)
"""Modules that others import, by file name."""

ENTRY_POINTS = (
    *("main", "counts", "presence", "preview", "time_hints"),
    *("workspace", "choose", "checks", "sheet", "palette", "shared_previews"),
)
"""Scripts loaded by the page."""


STYLES = ("django_prose_editor/editor", "articles/editor/editor", "articles/editor/shared_previews")

PALETTE = ("alpine/alpine.persist", "app", "htmx/htmx", "alpine/alpine")
"""Scripts of unfold that the command palette needs, in their order."""


def writing_media() -> PlainMedia:
    """Files of the rich-text editor without its icon font, our own files, and the import map."""
    modules = {f"articles/editor/{name}": f"articles/editor/{name}.js" for name in MODULES}
    media = Media(
        importmap=ImportMap({"django-prose-editor/editor": "django_prose_editor/editor.js", **modules}),
        css={"all": [f"{name}.css" for name in STYLES]},
        js=[
            Script("articles/editor/gettext.js"),
            *(Script(f"articles/editor/{name}.js", type="module") for name in ENTRY_POINTS),
        ],
    )
    return cast(PlainMedia, media)


def with_nonce(media: PlainMedia, request: HttpRequest) -> PlainMedia:
    """The same, with the CSP nonce that allows the inline import map."""
    return cast(PlainMedia, Media.from_media(media, nonce=request.csp_nonce()))  # type: ignore[attr-defined]


def script_config(request: HttpRequest, article: Article | None) -> dict[str, Any]:
    """Data for `articles/editor/config.js`: texts, URLs, user, article, window and the autosave interval in ms."""
    window = window_shown(request, article)
    return {
        "texts": SCREEN_TEXTS,
        "urls": script_urls(request, article, window),
        "user": request.user.pk,
        "article": article and article.pk,
        "window": window,
        "number": last_number(request, window),
        "palette": [static(f"unfold/js/{name}.js") for name in PALETTE],
        "autosaveInterval": AUTOSAVE_INTERVAL * 1000,
        "choices": [(name, label) for name, (label, _wall) in quick_times(read_database_clock()).items()],
    }
