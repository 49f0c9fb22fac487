"""Fronts and their versions in a file of a whole site: the lines of an export, and how an import stores them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import Prefetch
from django.utils.translation import gettext as _

from articles import fronts
from articles.audit import Action, record_beside
from articles.exceptions import ArticleError, FrontInstantTaken, NotEditable, SensitiveText
from articles.exchange import fields as read, inner
from articles.exchange.digest import NEW_CHANNEL
from articles.exchange.external_id import articles_by_id
from articles.exchange.front_rules import rule_in
from articles.exchange.newsroom import name_of
from articles.exchange.parts import external_id_of, moment, pages
from articles.exchange.records import Refused, Stored
from articles.exchange.statuses import went_by
from articles.exchange.validate import CHANNEL, LONGEST_BODY, MOST_NUMBER, TAG, Checker
from articles.limits import (
    LABEL_LENGTH,
    MOST_BLOCKS,
    MOST_CARDS,
    MOST_DRAFTS,
    MOST_SHOWN,
    MOST_SUBLINKS,
    RELEASE_NAME_LENGTH,
    SUMMARY_LENGTH,
    TITLE_LENGTH,
)
from articles.models import MICROSECOND, Article, Block, Card, Front, FrontVersion, Image, Release, as_id
from articles.notifications import zone_named
from articles.publishing import channels_named, tags_named
from articles.review import refuse_sensitive

PAGE = 20
"""Versions read in one statement, each with up to `MOST_CARDS` cards."""

LIVE = "live"
"""In files, the status of a version that readers got, now or before: its instant is not to come."""

Line = dict[str, Any]
Status = FrontVersion.Status
_Row = TypeVar("_Row")


def lines_of_fronts(now: datetime) -> Iterator[Line]:
    """Each front, and each of its versions as of `now`."""
    for front in Front.objects.select_related("channel").order_by("pk"):
        yield {"kind": "front", "slug": front.slug, "language": front.language, "channel": _named(front.channel)}
    cards = Card.objects.select_related("article").defer("article__body").order_by("position", "pk")
    blocks = Block.objects.select_related("channel", "tag").prefetch_related(Prefetch("cards", cards))
    versions = FrontVersion.objects.select_related("front", "release", "based_on", "author")
    for page in pages(versions.prefetch_related(Prefetch("blocks", blocks.order_by("position", "pk"))), PAGE):
        users, articles = _writers_of(page), _linked_in(page)
        for version in page:
            yield {"kind": "front_version", **_version(version, now, users), "blocks": _blocks(version, articles)}


def _version(version: FrontVersion, now: datetime, users: Mapping[int, str]) -> Line:
    release = version.release
    return {
        "front": version.front.slug,
        "number": version.number,
        "status": LIVE if version.is_live_at(now) else version.status,
        "live_from": moment(version.live_from),
        "live_until": moment(version.live_until),
        "repeats": version.repeats,
        "release": {"name": release.name, "created_at": moment(release.created_at)} if release else None,
        "based_on": version.based_on.number if version.based_on else None,
        "author": name_of(version.author),
        "edited_by": [users[pk] for pk in version.edited_by if pk in users],
        "created_at": moment(version.created_at),
    }


def _blocks(version: FrontVersion, articles: Mapping[int, str]) -> list[Line]:
    plain = ("kind", "title", "backfill", "size")
    return [
        {
            "uuid": str(block.uuid),
            **{name: getattr(block, name) for name in plain},
            "channel": _named(block.channel),
            "tag": _named(block.tag),
            "cards": [_card(card, articles) for card in block.cards.all()],
        }
        for block in version.blocks.all()
    ]


def _card(card: Card, articles: Mapping[int, str]) -> Line:
    plain = ("url", "headline", "kicker", "summary", "no_image", "size", "title")
    return {
        "uuid": str(card.uuid),
        "article": external_id_of(card.article) if card.article else "",
        **{name: getattr(card, name) for name in plain},
        "image": str(card.image_id) if card.image_id else "",
        "shows_from": moment(card.shows_from),
        "shows_until": moment(card.shows_until),
        "sublinks": [link for one in card.sublinks if (link := _sublink(one, articles))],
    }


def _sublink(link: Mapping[str, Any], articles: Mapping[int, str]) -> Line | None:
    """None for a line to an article that is deleted, which no one sees."""
    if link.get("article"):
        found = articles.get(link["article"])
        return {"article": found, "headline": link.get("headline", "")} if found else None
    return {"url": link.get("url", ""), "headline": link.get("headline", "")}


def _named(row: Any) -> str:
    return row.name if row else ""


def _writers_of(page: Iterable[FrontVersion]) -> dict[int, str]:
    ids = {pk for version in page for pk in version.edited_by}
    return {user.pk: user.get_username() for user in get_user_model()._default_manager.filter(pk__in=ids)}


def _linked_in(page: Iterable[FrontVersion]) -> dict[int, str]:
    """The ids in files of the articles in lines below cards."""
    cards = (card for version in page for block in version.blocks.all() for card in block.cards.all())
    ids = {link["article"] for card in cards for link in card.linked}
    found = Article.objects.filter(pk__in=ids).only("external_id", "created_at")
    return {article.pk: external_id_of(article) for article in found}


def store_front(given: read.Fields, checker: Checker) -> Stored:
    """A front; one that is here already stays as it is."""
    slug = read.needed(given, "slug", LABEL_LENGTH)
    language = read.one_of(given, "language", [code for code, _name in settings.LANGUAGES])
    checker.fronts[slug] = language, read.line(given, "channel", CHANNEL)
    before = Front.objects.count()
    found = _front(slug, checker)
    return Stored(is_new=Front.objects.count() > before, note="" if found.slug == slug else _other_slug(found))


def _other_slug(front: Front) -> str:
    return _("its address is “%(slug)s” here, since its own is taken") % {"slug": front.slug}


def _front(slug: str, checker: Checker) -> Front:
    """The front here for one of the file. Raises `Refused`."""
    if slug not in checker.fronts:
        raise Refused("front", _("is not in the file before this version"))
    language, name = checker.fronts[slug]
    channel = channels_named({name: NEW_CHANNEL})[name] if name else None
    wanted = read.valid_slug({"slug": slug}, "slug", LABEL_LENGTH)
    return fronts.find_or_create_front(language=language, channel=channel, slug=wanted)


def store_front_version(given: read.Fields, checker: Checker, *, highest: int, dry_run: bool) -> Stored:
    """A version of a front, by its front and time of creation; one that is here already stays as it is.

    It never reaches readers at an instant that another version here has, nor one that has passed on the way; what they
    had elsewhere recurs as it did there.
    """
    front = _front(read.needed(given, "front", LABEL_LENGTH), checker)
    fronts.lock_front(front)
    created_at, number = inner.moment(given, "created_at"), read.number(given, "number", MOST_NUMBER)
    if created_at is None or not number:
        raise Refused("created_at" if number else "number", _("is missing"))
    known = front.versions.filter(created_at=created_at).first()
    if known is None:
        return _ImportedVersion(given, checker, front, dry_run).store(number, created_at, highest)
    checker.front_versions[front.pk, number] = known.pk
    return Stored()


@dataclass
class _ImportedVersion:
    """A version of a file that is not here yet; its front is locked."""

    given: read.Fields
    checker: Checker
    front: Front
    dry_run: bool  #: which has rolled back articles and releases
    notes: list[str] = field(default_factory=list)
    occurrences: list[datetime] = field(default_factory=list)  #: of one that recurs

    def store(self, number: int, created_at: datetime, highest: int) -> Stored:
        version = self._version()
        blocks = list(self._blocks())
        if not blocks and version.status != Status.DRAFT:
            self._hold(version, _("has no blocks"))
        if self._is_too_many(version):
            text = _("left out: a front has %(most)d drafts at most") % {"most": MOST_DRAFTS}
            return Stored(note=text)
        free = fronts.free_number(self.front, number, highest=highest)
        if free != number:
            self.notes.append(_("it is version %(number)d here, since its own number is taken") % {"number": free})
        version.number = free
        version.save(force_insert=True)
        version.created_at = created_at  # Django has written the present one
        version.save(update_fields=["created_at"])
        fronts.store_blocks(version, blocks)
        self._review(version)
        if self.occurrences:
            fronts.store_occurrences(version, self.occurrences)
        self.checker.front_versions[self.front.pk, number] = version.pk
        if not self.dry_run:
            record_beside(Action.IMPORT, title=str(version), front_version=version.pk)
            fronts.purge(self.front)
        return Stored(is_new=True, note="; ".join(self.notes))

    def _version(self) -> FrontVersion:
        given = self.given
        status = read.one_of(given, "status", [LIVE, *Status.values])
        base = self.checker.front_versions.get((self.front.pk, read.number(given, "based_on", MOST_NUMBER) or 0))
        writers = inner.users_in(given, "edited_by").values()
        version = FrontVersion(
            front=self.front,
            author=inner.user_in(given, "author"),
            based_on_id=None if self.dry_run else base,
            edited_by=sorted(user.pk for user in writers) if status == Status.DRAFT else [],
            release=self._release(),
            live_from=inner.moment(given, "live_from"),
        )
        if status in (LIVE, Status.SCHEDULED):
            self._time(version, is_live=status == LIVE)
        elif status == Status.IN_RELEASE:
            self._join(version)
        else:
            version.live_from = None
        return version

    def _release(self) -> Release | None:
        named = self.given.get("release")
        if not isinstance(named, dict):
            return None
        called = Release.objects.filter(name=read.line(named, "name", RELEASE_NAME_LENGTH))
        found = next((one for one in called if one.created_at == inner.moment(named, "created_at")), None)
        return None if found and self.front.versions.filter(release=found).exists() else found

    def _time(self, version: FrontVersion, *, is_live: bool) -> None:
        now, wanted = self.checker.timetable.now, version.live_from
        if wanted is None:
            return self._hold(version, _("has no time"))
        version.status = Status.SCHEDULED
        if rule := rule_in(self.given):
            return self._repeat(version, rule, wanted, has_begun=is_live and wanted <= now)
        if is_live and wanted <= now:
            version.live_until = inner.moment(self.given, "live_until")
        else:
            decided, note = self.checker.timetable.decide_alone(wanted)
            if decided is None:
                return self._hold(version, note)
            self.notes += [note] if note else []
            version.live_from = max(decided, now)  # readers got nothing of it before
        if version.live_from and fronts.taken_by(version, version.live_from) is not None:
            return self._hold(version, _("another version of the front goes live at its time"))
        return None

    def _repeat(self, version: FrontVersion, rule: fronts.Recurrence, first: datetime, *, has_begun: bool) -> None:
        """Have it recur from its first time on, or from the next one if readers got nothing of it before."""
        if zone_named(rule.zone) is None:
            return self._hold(version, _("the time zone %(zone)s is not known here") % {"zone": rule.zone})
        now = self.checker.timetable.now
        since = first if has_begun else max(first, now + MICROSECOND)
        try:
            self.occurrences = fronts.occurrences_of(version, rule, now, since=since)
        except FrontInstantTaken:
            return self._hold(version, _("another version of the front goes live at its time"))
        except ArticleError as error:
            return self._hold(version, str(error))
        version.repeats, version.live_from, version.release = rule.as_json(), self.occurrences[0], None
        if first <= now < self.occurrences[0]:
            self.notes.append(went_by(first, self.occurrences[0]))
        return None

    def _join(self, version: FrontVersion) -> None:
        version.live_from = None
        version.status = Status.IN_RELEASE
        if not self.dry_run and not (version.release and version.release.is_pending):
            self._hold(version, _("its release is not here, or is over"))

    def _hold(self, version: FrontVersion, reason: str) -> None:
        """Leave what cannot go live as planned to the editors."""
        version.status, version.live_from, version.live_until, version.release = Status.DRAFT, None, None, None
        version.repeats, self.occurrences = None, []
        self.notes.append(_("%(reason)s; imported as a draft") % {"reason": reason})

    def _is_too_many(self, version: FrontVersion) -> bool:
        drafts = self.front.versions.filter(status=Status.DRAFT)
        return version.status == Status.DRAFT and drafts.count() >= MOST_DRAFTS

    def _review(self, version: FrontVersion) -> None:
        """Hold a version that is to come if its own texts have sensitive words; what readers got stays."""
        is_to_come = version.live_from is None or version.live_from >= self.checker.timetable.now
        if version.status == Status.DRAFT or not is_to_come:
            return
        try:
            refuse_sensitive(*fronts.texts_of(version))
        except SensitiveText as error:
            self._hold(version, str(error))
            version.save()

    def _blocks(self) -> Iterator[tuple[Block, list[Card]]]:
        rows = self._most(inner.objects(self.given, "blocks"), MOST_BLOCKS, _("blocks"))
        cards = {id(row): inner.objects(row, "cards") for row in rows}
        kept = self._most([card for row in rows for card in cards[id(row)]], MOST_CARDS, _("cards"))
        links = {id(card): self._most(inner.objects(card, "sublinks"), MOST_SUBLINKS, _("sublinks")) for card in kept}
        every = [*kept, *(link for card in kept for link in links[id(card)])]
        articles = articles_by_id(read.line(one, "article", LONGEST_BODY) for one in every)
        images = self._images(kept)
        seen: set[object] = set()
        for row in rows:
            mine = [card for card in cards[id(row)] if id(card) in links]
            build = partial(self._card, articles=articles, images=images, seen=seen)
            yield self._block(row, seen), [build(card, links[id(card)]) for card in mine]

    def _most(self, rows: list[_Row], most: int, name: str) -> list[_Row]:
        if len(rows) > most:
            numbers = {"count": len(rows), "name": name, "most": most}
            self.notes.append(_("%(count)d %(name)s: the first %(most)d are kept") % numbers)
        return rows[:most]

    def _images(self, cards: Iterable[read.Fields]) -> set[str]:
        """The ids of those images of cards that are here."""
        named = [str(pk) for card in cards if (pk := as_id(card.get("image")))]
        return {str(image.pk) for image in Image.objects.named(named)} | self.checker.images

    def _block(self, given: read.Fields, seen: set[object]) -> Block:
        channel, tag = read.line(given, "channel", CHANNEL), read.line(given, "tag", TAG)
        size = read.number(given, "size", MOST_SHOWN)
        if not size:
            raise Refused("size", _("is missing"))
        return Block(
            uuid=_uuid(given, seen),
            kind=read.one_of(given, "kind", Block.Kind.values),
            title=read.line(given, "title", LABEL_LENGTH, self.notes),
            backfill=read.one_of(given, "backfill", Block.Backfill.values),
            channel=channels_named({channel: NEW_CHANNEL})[channel] if channel else None,
            tag=tags_named([tag])[tag] if tag else None,
            size=size,
        )

    def _card(
        self,
        given: read.Fields,
        links: Iterable[read.Fields],
        *,
        articles: Mapping[str, int],
        images: set[str],
        seen: set[object],
    ) -> Card:
        title, url = read.line(given, "title", TITLE_LENGTH, self.notes), read.line(given, "url", LONGEST_BODY)
        article = self._article(given, articles, title)
        image = as_id(given.get("image")) if given.get("image") else None
        if given.get("image") and str(image) not in images:
            self.notes.append(_("the image of “%(title)s” is not here") % {"title": title or url})
            image = None
        if article and url:
            raise Refused("url", _("stands beside an article"))
        card = Card(
            uuid=_uuid(given, seen),
            article_id=article,
            url=self._address(url) if url else "",
            headline=read.line(given, "headline", TITLE_LENGTH, self.notes),
            kicker=read.line(given, "kicker", LABEL_LENGTH, self.notes),
            summary=read.line(given, "summary", SUMMARY_LENGTH, self.notes),
            image_id=None if self.dry_run else image,
            no_image=given.get("no_image") is not None and read.flag(given, "no_image"),
            size=read.one_of(given, "size", Card.Size.values),
            shows_from=inner.moment(given, "shows_from"),
            shows_until=inner.moment(given, "shows_until"),
            sublinks=list(filter(None, (self._link(link, articles) for link in links))),
            title=title,
        )
        if card.shows_from and card.shows_until and card.shows_until <= card.shows_from:
            raise Refused("shows_until", _("is not after shows_from"))
        return card

    def _article(self, given: read.Fields, articles: Mapping[str, int], title: str) -> int | None:
        """The number here of the article; a card without one stays, and readers do not see it."""
        name = read.line(given, "article", LONGEST_BODY)
        found = articles.get(name)
        if name and found is None and not self.dry_run:
            self.notes.append(_("the article “%(title)s” is not here") % {"title": title or name})
        return found

    def _link(self, given: read.Fields, articles: Mapping[str, int]) -> Line | None:
        headline, url = read.line(given, "headline", TITLE_LENGTH, self.notes), read.line(given, "url", LONGEST_BODY)
        if url and headline:
            return {"url": self._address(url), "headline": headline}
        article = self._article(given, articles, headline)
        return {"article": article, "headline": headline} if article else None

    def _address(self, url: str) -> str:
        """Where a card leads; a page of the site that moves is one of this site."""
        former = self.checker.former_site
        if former and former != settings.SITE_URL.rstrip("/") and url.startswith(f"{former}/"):
            url = url.removeprefix(former)
        try:
            return fronts.checked_address(url)
        except NotEditable as error:
            raise Refused("url", str(error)) from error


def _uuid(given: read.Fields, seen: set[object]) -> Any:
    """The id of a block or card, which is unique in its version."""
    found = as_id(given.get("uuid"))
    if found is None or found in seen:
        raise Refused("uuid", _("is no id, or is in this version already"))
    seen.add(found)
    return found
