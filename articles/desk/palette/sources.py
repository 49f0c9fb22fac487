"""What the palette finds in the database, limited by the user's rights; each source is one bounded query."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.contrib.auth import get_user_model
from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from unfold.dataclasses import SearchResult

from articles.desk.articles.search import SEARCHED, best_matching
from articles.images import VIEW as VIEW_IMAGE
from articles.models import Image, Release, named, state_at
from articles.permissions import reads_articles
from scheduling.database import in_any, read_database_clock

MOST_ARTICLES, MOST_OTHERS = 8, 4

Source = Callable[[HttpRequest, str], Iterator[SearchResult]]


def articles(request: HttpRequest, text: str) -> Iterator[SearchResult]:
    """Articles by headline and text, for users who may read articles."""
    if not reads_articles(request.user):
        return
    now = read_database_clock()
    for article in best_matching(text, limit=MOST_ARTICLES):
        about = " · ".join(filter(None, (state_at(article, now).label, str(article.channel or ""))))
        yield SearchResult(article.title, about, reverse("admin:articles_article_change", args=[article.pk]), "article")


def releases(request: HttpRequest, text: str) -> Iterator[SearchResult]:
    """Releases by name."""
    if not request.user.has_perm("articles.view_release"):
        return
    latest = Release.objects.order_by("-pk").values("pk")[:SEARCHED]
    for release in Release.objects.filter(_words("name", text), pk__in=in_any(latest)).order_by("-pk")[:MOST_OTHERS]:
        about = " · ".join([_("Release"), release.get_status_display()])
        address = reverse("admin:articles_release_change", args=[release.pk])
        yield SearchResult(release.name, about, address, "package_2")


def images(request: HttpRequest, text: str) -> Iterator[SearchResult]:
    """Images by title, alt text, caption or credit."""
    if not request.user.has_perm(VIEW_IMAGE):
        return
    latest = Image.objects.newest_first().values("pk")[:SEARCHED]
    for image in Image.objects.about(text).filter(pk__in=in_any(latest)).newest_first()[:MOST_OTHERS]:
        address = reverse("admin:articles_image_change", args=[image.pk])
        yield SearchResult(image.title, _("Image"), address, "image")


def people(request: HttpRequest, text: str) -> Iterator[SearchResult]:
    """Users by name: their account, or for users who may not see accounts the articles of an author."""
    sees_accounts = request.user.has_perm("auth.view_user")
    if not (sees_accounts or reads_articles(request.user)):
        return
    staff = get_user_model()._default_manager.filter(is_staff=True, is_active=True)
    for user in staff.filter(_words("username", text, "first_name", "last_name")).order_by("username")[:MOST_OTHERS]:
        if sees_accounts:
            address = reverse("admin:auth_user_change", args=[user.pk])
        else:
            address = f"{reverse('admin:articles_article_changelist')}?author={user.pk}"
        yield SearchResult(named(user), _("User") if sees_accounts else _("Articles of this author"), address, "person")


SOURCES: tuple[Source, ...] = (articles, releases, images, people)


def _words(column: str, text: str, *others: str) -> Q:
    """Rows with each word in one of the columns."""
    wanted = Q()
    for word in text.split():
        found = Q(**{f"{column}__icontains": word})
        for other in others:
            found |= Q(**{f"{other}__icontains": word})
        wanted &= found
    return wanted
