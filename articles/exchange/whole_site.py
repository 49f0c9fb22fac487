"""What an export of a whole site has besides its articles, as lines before and after them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import models
from django.http import QueryDict

from articles.exchange.front_records import lines_of_fronts
from articles.exchange.newsroom import name_of
from articles.exchange.parts import external_id_of, moment, pages
from articles.models import (
    ArticleTemplate,
    Channel,
    Image,
    Release,
    ReleaseMember,
    SavedView,
    SensitiveWord,
    Tag,
)
from articles.text import clean_html

PAGE = 500
"""Rows read in one statement."""

_OF_MEMBERS = ("release", "title", "action", "old_status", "article__external_id", "article__created_at")

Line = dict[str, Any]


def lines_before() -> Iterator[Line]:
    """What articles refer to."""
    yield {"kind": "site", "url": settings.SITE_URL}
    yield from _lines("user", get_user_model()._default_manager.all(), _user)
    yield from _lines("image", Image.objects.select_related("uploaded_by"), _image)
    yield from _lines("channel", Channel.objects.all(), _channel)
    yield from _lines("tag", Tag.objects.all(), lambda tag: {"name": tag.name, "slug": tag.slug})
    yield from _lines("sensitive_word", SensitiveWord.objects.all(), lambda one: {"text": one.text, "level": one.level})


def lines_after(now: datetime) -> Iterator[Line]:
    """What refers to articles and to the rest, as of `now`."""
    templates = ArticleTemplate.objects.select_related("channel").prefetch_related("tags")
    yield from _lines("template", templates, _template)
    members = ReleaseMember.objects.select_related("article").only(*_OF_MEMBERS)  # without the articles' texts
    releases = Release.objects.select_related("created_by").prefetch_related(models.Prefetch("members", members))
    yield from _lines("release", releases, _release)
    yield from lines_of_fronts(now)
    yield from _lines("saved_view", SavedView.objects.filter(shared=True).select_related("owner"), _saved_view)


def _lines(kind: str, rows: models.QuerySet[Any], fields_of: Callable[[Any], Mapping[str, Any]]) -> Iterator[Line]:
    for page in pages(rows, PAGE):
        for row in page:
            yield {"kind": kind, **fields_of(row)}


def _user(user: Any) -> Line:
    """No password and no rights: those who can write the file could give themselves any."""
    names = {name: getattr(user, name) for name in ("first_name", "last_name", "email", "is_active")}
    return {"number": user.pk, "username": user.get_username(), **names}


def _image(image: Image) -> Line:
    names = ("digest", "format", "width", "height", "size", "widths", "title", *Image.SHOWN, "focus_x", "focus_y")
    origin = {"uploaded_by": name_of(image.uploaded_by), "created_at": moment(image.created_at)}
    return {"id": str(image.pk), **{name: getattr(image, name) for name in names}, **origin}


def _channel(channel: Channel) -> Line:
    return {name: getattr(channel, name) for name in ("name", "slug", "description", "position", "enabled")}


def _template(template: ArticleTemplate) -> Line:
    return {
        "name": template.name,
        "channel": template.channel.name if template.channel else "",
        "title": template.title,
        "summary": template.summary,
        "body": clean_html(template.body, base=f"{settings.SITE_URL}/"),
        "tags": [tag.name for tag in template.tags.all()],
    }


def _release(release: Release) -> Line:
    members = [
        {
            "article": external_id_of(member.article) if member.article else "",
            "title": member.title,
            "action": member.action,
            "old_status": member.old_status,
        }
        for member in release.members.all()
    ]
    return {
        "name": release.name,
        "status": release.status,
        "reason": release.reason,
        "publish_at": moment(release.publish_at),
        "published_at": moment(release.published_at),
        "created_by": name_of(release.created_by),
        "created_at": moment(release.created_at),
        "members": members,
    }


def _saved_view(view: SavedView) -> Line:
    """Channel and author by name: they have other ids elsewhere."""
    query = QueryDict(view.query, mutable=True)
    channel, author = (query.pop(name, [""])[-1] for name in ("channel", "author"))
    return {
        "name": view.name,
        "owner": name_of(view.owner),
        "query": query.urlencode(),
        "channel": _name_in(Channel.objects.all(), "name", channel),
        "author": _name_in(get_user_model()._default_manager.all(), "username", author),
    }


def _name_in(rows: models.QuerySet[Any], column: str, number: str) -> str:
    known = rows.filter(pk=int(number)) if number.isdecimal() and len(number) < 19 else rows.none()
    return str(known.values_list(column, flat=True).first() or "")
