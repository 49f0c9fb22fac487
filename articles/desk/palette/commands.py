"""The commands of the palette, and the screens that it opens."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from unfold.dataclasses import SearchResult

from articles.desk.menu import account, screens
from articles.images import ADD as ADD_IMAGE
from articles.models import ArticleTemplate
from articles.permissions import ADD, allows
from articles.releases import RIGHT

TOGGLE_DARK_MODE = "#toggle-dark-mode"
"""An address that `desk.js` handles."""


def commands(request: HttpRequest) -> Iterator[SearchResult]:
    """What the user may do from anywhere."""
    kind = _("Command")
    add = reverse("admin:articles_article_add")
    if allows(ADD, request.user):
        yield SearchResult(_("New article"), kind, add, "add")
        for template in ArticleTemplate.objects.offered():
            title = _("New article: %(template)s") % {"template": template}
            yield SearchResult(title, str(template.channel or kind), f"{add}?template={template.pk}", "draft")
        mine = f"{reverse('admin:articles_article_changelist')}?whose=mine"
        yield SearchResult(_("My articles"), kind, mine, "person")
    if allows(RIGHT, request.user):
        yield SearchResult(_("New release"), kind, reverse("admin:articles_release_add"), "package_2")
    if allows(ADD_IMAGE, request.user):
        yield SearchResult(_("Upload images"), kind, reverse("admin:articles_image_changelist"), "upload")
    yield SearchResult(_("Toggle dark mode"), kind, TOGGLE_DARK_MODE, "dark_mode")


def places(request: HttpRequest) -> Iterator[SearchResult]:
    """The screens of the sidebar and of the account menu."""
    kind = _("Screen")
    for title, address, icon in screens(request):
        yield SearchResult(title, kind, address, icon)
    for link in account(request):
        yield SearchResult(str(link["title"]), kind, link["link"], "settings")
