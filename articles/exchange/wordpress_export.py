"""Export as WXR, WordPress's export format.

A WordPress post has one date with a precision of seconds: when it goes live. Values that WordPress does not have are in
custom fields, see `META`. Articles that are neither live nor approved for a time become drafts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from html import escape
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.utils.translation import gettext as _

from articles.exchange.export import Export, Item
from articles.exchange.wordpress import META, NO_DATE
from articles.models import Article, Channel, Tag
from articles.text import local_time, whole_second

_HEAD = """<?xml version="1.0" encoding="UTF-8" ?>
<rss version="2.0"
 xmlns:excerpt="http://wordpress.org/export/1.2/excerpt/"
 xmlns:content="http://purl.org/rss/1.0/modules/content/"
 xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:wp="http://wordpress.org/export/1.2/">
<channel>
"""
_FOOT = "</channel>\n</rss>\n"
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Status = Article.Status


def write(export: Export) -> Iterator[str]:
    """Yield the head, an item for each article, and the foot."""
    yield _HEAD + _site(export.now)
    for user in export.users().iterator():
        yield _user(user)
    for channel in export.channels():
        yield _channel(channel)
    for item in export.items():
        yield _item(item, export.now)
    yield _FOOT


def status_of(article: Article, now: datetime) -> str:
    """The WordPress status of an article at `now`."""
    goes_live_at, status = article.goes_live_at, Status(article.status)
    if article.is_out_at(now):
        return "publish"
    if status in Status.visible() and goes_live_at is not None and goes_live_at > now:
        return "future"
    is_pending = status in (Status.SUBMITTED, Status.MANUAL_REVIEW, *Status.waiting())
    return "pending" if is_pending and not article.is_over_at(now) else "draft"


def _site(now: datetime) -> str:
    return "".join(
        [
            _element("title", _("Headline")),
            _element("link", settings.SITE_URL),
            _element("pubDate", format_datetime(now.astimezone(UTC))),
            _element("language", settings.LANGUAGE_CODE),
            _element("wp:wxr_version", "1.2"),
            _element("wp:base_site_url", settings.SITE_URL),
            _element("wp:base_blog_url", settings.SITE_URL),
            _element("generator", "Headline"),
        ]
    )


def _user(user: Any) -> str:
    name = user.get_full_name() or user.get_username()
    return _group(
        "wp:author",
        {
            "wp:author_id": user.pk,
            "wp:author_login": user.get_username(),
            "wp:author_email": user.email,
            "wp:author_display_name": escape(name, quote=False),
            "wp:author_first_name": user.first_name,
            "wp:author_last_name": user.last_name,
        },
    )


def _channel(channel: Channel) -> str:
    name = escape(channel.name, quote=False)
    return _group("wp:category", {"wp:term_id": channel.pk, "wp:category_nicename": channel.slug, "wp:cat_name": name})


def _item(item: Item, now: datetime) -> str:
    """An item with WordPress's elements, terms and custom fields."""
    article, fields = item.article, item.fields()
    elements = {
        "title": escape(fields["title"], quote=False),
        "link": f"{settings.SITE_URL}{article.get_absolute_url()}",
        "dc:creator": fields["author"],
        "description": "",
        "content:encoded": fields["body"],
        "excerpt:encoded": escape(fields["summary"], quote=False),
        "wp:post_id": article.pk,
        **_dates(item),
        "wp:post_modified_gmt": _stamp(article.text_changed_at) if article.text_changed_at else NO_DATE,
        "wp:comment_status": "closed",
        "wp:ping_status": "closed",
        "wp:post_name": quote(fields["slug"]),
        "wp:status": status_of(article, now),
        "wp:post_parent": 0,
        "wp:menu_order": 0,
        "wp:post_type": "post",
        "wp:post_password": "",
        "wp:is_sticky": 0,
    }
    parts = [_element(name, value) for name, value in elements.items()]
    guid = f'<guid isPermaLink="false">{_text(fields["external_id"])}</guid>\n'
    return f"<item>\n{''.join(parts)}{guid}{_terms(item)}{_meta(fields)}</item>\n"


def _dates(item: Item) -> dict[str, str]:
    """Times are rounded up, so that nothing goes live early."""
    article = item.article
    planned = article.goes_live_at if article.status in Status.visible() else article.publish_at
    moment = item.seen_since or planned
    if moment is None:
        return {"wp:post_date": NO_DATE, "wp:post_date_gmt": NO_DATE}
    moment = whole_second(moment)
    return {
        "pubDate": format_datetime(moment.astimezone(UTC)),
        "wp:post_date": f"{local_time(moment):%Y-%m-%d %H:%M:%S}",
        "wp:post_date_gmt": _stamp(moment),
    }


def _stamp(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def _terms(item: Item) -> str:
    channel = item.article.channel
    tags = "".join(_term("post_tag", tag) for tag in item.tags)
    return tags if channel is None else _term("category", channel) + tags


def _term(domain: str, term: Channel | Tag) -> str:
    name = _text(escape(term.name, quote=False))
    return f'<category domain="{domain}" nicename="{escape(term.slug)}">{name}</category>\n'


def _meta(fields: Mapping[str, Any]) -> str:
    return "".join(
        _group("wp:postmeta", {"wp:meta_key": key, "wp:meta_value": fields[name]})
        for key, name in META.items()
        if fields[name]
    )


def _group(name: str, elements: Mapping[str, object]) -> str:
    return f"<{name}>{''.join(_element(*each) for each in elements.items())}</{name}>\n"


def _element(name: str, value: object) -> str:
    return f"<{name}>{_text(value)}</{name}>\n"


def _text(value: object) -> str:
    """CDATA without characters that XML does not allow; alphanumeric text needs no CDATA."""
    text = _NO_XML.sub("", str(value))
    return text if text.isalnum() else f"<![CDATA[{text.replace(']]>', ']]]]><![CDATA[>')}]]>"
