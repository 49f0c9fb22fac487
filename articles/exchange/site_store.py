"""Store what a file of a whole site has besides articles. What is here already stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.files.storage import default_storage
from django.db import models, transaction
from django.http import QueryDict
from django.utils.text import slugify
from django.utils.translation import gettext as _

from articles.audit import (
    Action,
    record_release,
)
from articles.exchange import fields as read, inner
from articles.exchange.digest import NEW_CHANNEL
from articles.exchange.external_id import articles_by_id
from articles.exchange.front_records import store_front, store_front_version
from articles.exchange.numbers import given_numbers
from articles.exchange.records import Record, Refused, Stored
from articles.exchange.validate import (
    CHANNEL,
    CHANNEL_DESCRIPTION,
    CHANNEL_SLUG,
    LONGEST_BODY,
    MOST_NUMBER,
    MOST_POSITIONS,
    SUMMARY,
    TAG,
    TITLE,
    USER,
    Checker,
)
from articles.limits import MOST_MEMBERS, VIEW_NAME_LENGTH, VIEW_QUERY_LENGTH
from articles.models import (
    Article,
    ArticleTemplate,
    Channel,
    Image,
    Release,
    ReleaseMember,
    SavedView,
    SensitiveWord,
    Tag,
    as_id,
)
from articles.publishing import channels_named, tag_named, tags_named
from articles.review import add_words
from scheduling.database import retried

_FORMATS = ("jpeg", "webp", "png")
_MOST_PIXELS = 100_000


_KNOWN = Stored()
_NEW = Stored(is_new=True)


@retried
def store_rows(records: Sequence[Record], checker: Checker, *, highest: int, dry_run: bool) -> list[Stored]:
    """Store these records of one kind in one transaction. `highest` is the highest number of this kind in the file.

    `dry_run` rolls everything back, also for the articles that follow, which then miss what they refer to.
    """
    store = _Store(checker, highest=highest, dry_run=dry_run)
    results = [store.stored(record) for record in records]
    transaction.set_rollback(dry_run)
    return results


class _Store:
    """Stores single records, each by the method that has the name of its kind."""

    def __init__(self, checker: Checker, *, highest: int, dry_run: bool) -> None:
        self._checker = checker
        self._highest = highest
        self._dry_run = dry_run

    def stored(self, record: Record) -> Stored:
        """Store one record, or nothing of it."""
        store: Callable[[read.Fields], Stored] = getattr(self, record.kind)
        try:
            with transaction.atomic():
                return store(record.fields)
        except Refused as error:
            return Stored(problem=str(error))
        except ValidationError as error:
            return Stored(problem="; ".join(error.messages))

    def site(self, given: read.Fields) -> Stored:
        """The address of the site that the file comes from."""
        url = read.line(given, "url", 2_000).rstrip("/")
        if not url.startswith(("http://", "https://")):
            raise Refused("url", _("is not the address of a site"))
        self._checker.former_site = url
        return _KNOWN

    def user(self, given: read.Fields) -> Stored:
        """An account without password and rights, as the author, owner or writer of what follows."""
        users = get_user_model()._default_manager
        name = read.needed(given, "username", 150)
        if users.filter(username__iexact=name).exists():
            return _KNOWN
        wanted = read.number(given, "number", MOST_NUMBER) or None
        (number,) = given_numbers(get_user_model(), [wanted], highest=self._highest)
        email = read.line(given, "email", USER)
        is_shared = bool(email) and users.filter(email__iexact=email).exists()
        user: Any = get_user_model()(
            pk=number,
            username=name,
            first_name=read.line(given, "first_name", 150),
            last_name=read.line(given, "last_name", 150),
            email="" if is_shared else email,
            is_active=read.flag(given, "is_active"),
        )
        user.set_unusable_password()
        user.clean_fields()
        user.save(force_insert=True)
        notes = [
            _("the account has another number here, since its own is taken") if number != wanted else "",
            _("the account has no e-mail address, since another account has it") if is_shared else "",
        ]
        return Stored(is_new=True, note="; ".join(filter(None, notes)))

    def image(self, given: read.Fields) -> Stored:
        """An image, whose files are copied with the media folder."""
        pk = as_id(given.get("id"))
        if pk is None:
            raise Refused("id", _("is not the id of an image"))
        if self._dry_run:
            self._checker.images.add(str(pk))
        if Image.objects.filter(pk=pk).exists():
            return _KNOWN
        image = Image(id=pk, **_image_values(given))
        image.uploaded_by = inner.user_in(given, "uploaded_by")
        if Image.objects.filter(digest=image.digest).exists():  # the same file was uploaded here, too
            image.digest = f"{pk.hex}{image.digest}"[:64]
        image.file.name = image.path(image.original)
        image.clean_fields(exclude=["uploaded_by", "widths"])
        image.save(force_insert=True)
        _date(image, inner.moment(given, "created_at"))
        if default_storage.exists(image.path(image.original)):
            return _NEW
        return Stored(is_new=True, note=_("the files of the image are missing; copy the media folder"))

    def channel(self, given: read.Fields) -> Stored:
        """A channel."""
        name = read.needed(given, "name", CHANNEL)
        slug = read.valid_slug(given, "slug", CHANNEL_SLUG)
        before = Channel.objects.count()
        values = {
            "slug": slug,
            "description": read.line(given, "description", CHANNEL_DESCRIPTION),
            "position": read.number(given, "position", MOST_POSITIONS),
            "enabled": read.flag(given, "enabled"),
        }
        found = channels_named({name: values})[name]
        return _with_slug(found, slug) if Channel.objects.count() > before else _KNOWN

    def tag(self, given: read.Fields) -> Stored:
        """A tag."""
        name = read.needed(given, "name", TAG)
        if tag_named(name):
            return _KNOWN
        slug = read.valid_slug(given, "slug", TAG)
        return _with_slug(tags_named({name: slug})[name], slug)

    def sensitive_word(self, given: read.Fields) -> Stored:
        """A sensitive word, or an allowed phrase."""
        text, level = read.needed(given, "text", 1_000), read.one_of(given, "level", SensitiveWord.Level.values)
        if SensitiveWord.objects.filter(text=text, level=level).exists():
            return _KNOWN
        report = add_words([text], level=SensitiveWord.Level(level))
        problem = "; ".join(str(one.message) for one in report.problems)
        return Stored(problem=problem) if report.failed else Stored(is_new=bool(report.created), note=problem)

    def template(self, given: read.Fields) -> Stored:
        """An article template."""
        name, named = read.needed(given, "name", 80), read.line(given, "channel", CHANNEL)
        channel = channels_named({named: NEW_CHANNEL})[named] if named else None
        if ArticleTemplate.objects.filter(channel=channel, name=name).exists():
            return _KNOWN
        notes: list[str] = []
        body = self._checker.body({**given, "body_format": "html"}, notes)
        template = ArticleTemplate.objects.create(
            name=name,
            channel=channel,
            title=read.line(given, "title", TITLE),
            summary=read.line(given, "summary", SUMMARY),
            body=body,
        )
        template.tags.set(tags_named(read.tags(given, notes)).values())
        return Stored(is_new=True, note="; ".join(notes))

    def release(self, given: read.Fields) -> Stored:
        """A release with its members, which is never published for a time that is past, unless that is asked for."""
        name, created_at = read.needed(given, "name", 120), inner.moment(given, "created_at")
        if created_at is None:
            raise Refused("created_at", _("is missing"))
        if Release.objects.filter(name=name, created_at=created_at).exists():
            return _KNOWN
        release, notes = self._new_release(given, name)
        release.save()
        _date(release, created_at)
        if not self._dry_run:  # which has rolled back the articles
            notes += _add_members(release, inner.objects(given, "members"))
        release.save()  # with its members
        record_release(Action.IMPORT, release)
        return Stored(is_new=True, note="; ".join(filter(None, notes)))

    def _new_release(self, given: read.Fields, name: str) -> tuple[Release, list[str]]:
        status = read.one_of(given, "status", Release.Status.values)
        publish_at, published_at = inner.moment(given, "publish_at"), inner.moment(given, "published_at")
        note = ""
        if status == Release.Status.SCHEDULED:
            publish_at, note = self._checker.timetable.decide_alone(publish_at)
            status = status if publish_at else Release.Status.DRAFT
        release = Release(
            name=name,
            status=status,
            reason=read.text(given, "reason", LONGEST_BODY),
            publish_at=publish_at,
            published_at=published_at and min(published_at, self._checker.timetable.now),
            created_by=inner.user_in(given, "created_by"),
        )
        return release, [note]

    def front(self, given: read.Fields) -> Stored:
        """A front of the site or of a channel."""
        return store_front(given, self._checker)

    def front_version(self, given: read.Fields) -> Stored:
        """A version of a front, with its blocks and cards."""
        return store_front_version(given, self._checker, highest=self._highest, dry_run=self._dry_run)

    def saved_view(self, given: read.Fields) -> Stored:
        """A saved view that its owner shares."""
        name, owner = read.needed(given, "name", VIEW_NAME_LENGTH), inner.user_in(given, "owner")
        if owner is None and self._dry_run:
            return _NEW
        if owner is None:
            raise Refused("owner", _("is no user here"))
        if SavedView.objects.filter(owner=owner.pk, name=name).exists():
            return _KNOWN
        last = SavedView.objects.of(owner).aggregate(last=models.Max("position"))["last"]
        view = SavedView(owner_id=owner.pk, name=name, query=_query(given), shared=True, position=(last or 0) + 1)
        view.clean_fields()
        view.save()
        return _NEW


def _query(given: read.Fields) -> str:
    """The query of a view, with the ids that its channel and author have here."""
    query = QueryDict(read.line(given, "query", VIEW_QUERY_LENGTH), mutable=True)
    if named := read.line(given, "channel", CHANNEL):
        query["channel"] = str(channels_named({named: NEW_CHANNEL})[named].pk)
    if author := inner.user_in(given, "author"):
        query["author"] = str(author.pk)
    return query.urlencode()


def _add_members(release: Release, given: Iterable[read.Fields]) -> list[str]:
    """Add the members in the order of the file; returns notes on those that cannot have their article.

    Such a member stays without one, so that the release is not published without it.
    """
    rows = list(given)
    if len(rows) > MOST_MEMBERS:
        raise Refused("members", _("A release has %(most)d articles at most.") % {"most": MOST_MEMBERS})
    articles = articles_by_id(read.line(one, "article", LONGEST_BODY) for one in rows)
    holds = release.is_pending or None
    taken = set(ReleaseMember.objects.holding(articles.values()).values_list("article", flat=True)) if holds else set()
    members, notes = [], []
    for one in rows:
        title = read.line(one, "title", TITLE)
        article = articles.get(read.line(one, "article", LONGEST_BODY))
        if article is None or article in taken:
            reason = _("is not here") if article is None else _("is in another release")
            notes.append(f"“{title}” {reason}")
            article = None
        taken |= {article} if article else set()
        values = {"action": read.one_of(one, "action", ReleaseMember.Action.values), "holds": holds}
        old_status = read.number(one, "old_status", max(Article.Status.values))
        members.append(ReleaseMember(release=release, article_id=article, title=title, old_status=old_status, **values))
    ReleaseMember.objects.bulk_create(members)
    return notes


def _image_values(given: read.Fields) -> dict[str, Any]:
    """The columns of an image but for its id and origin."""
    sizes = {name: read.number(given, name, _MOST_PIXELS) or 1 for name in ("width", "height")}
    widths: Any = given.get("widths")
    is_list = isinstance(widths, list) and all(type(one) is int and 0 < one <= _MOST_PIXELS for one in widths)
    if not is_list or min(widths, default=_MOST_PIXELS) > Image.PREVIEW_WIDTH:
        raise Refused("widths", _("is not a list of widths in pixels"))
    focus = {name: read.number(given, name, 100) for name in ("focus_x", "focus_y")}
    return {
        **sizes,
        **{name: 50 if value is None else value for name, value in focus.items()},
        "widths": widths,
        "digest": read.needed(given, "digest", 64),
        "format": read.one_of(given, "format", _FORMATS),
        "size": read.number(given, "size", 2**31 - 1) or 0,
        "title": read.needed(given, "title", 200),
        "alt": read.line(given, "alt", 500),
        "caption": read.line(given, "caption", 1000),
        "credit": read.line(given, "credit", 200),
    }


def _with_slug(row: Channel | Tag, wanted: str) -> Stored:
    if wanted and row.slug != slugify(wanted, allow_unicode=True) and row.slug != wanted:
        return Stored(
            is_new=True, note=_("its address is “%(slug)s” here, since its own is taken") % {"slug": row.slug}
        )
    return _NEW


def _date(row: Image | Release, created_at: datetime | None) -> None:
    """Give a new row the time of the file; Django writes the present one."""
    if created_at is not None:
        row.created_at = created_at
        type(row)._default_manager.filter(pk=row.pk).update(created_at=created_at)
