"""Factories for users, articles and other rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, Permission, User
from django.db import connection
from django.db.models import QuerySet, Value
from django.urls import reverse

from articles import publishing, releases
from articles.models import Article, Block, Card, Channel, Front, FrontVersion, Release, ReviewPolicy, Revision
from articles.publishing.revisions import for_review
from articles.roles import Role
from articles.site.sitemaps import SECTION
from articles.task_types import PUBLISH, UNPUBLISH
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo

APPROVED = Article.Status.APPROVED

EARLY = datetime(2020, 1, 1, tzinfo=UTC)
"""`cleared_at` of articles that were approved long before their time."""


def make_user(name: str, *permissions: str, is_superuser: bool = False) -> User:
    """A member of staff with these permissions of the articles app."""
    user = User(username=name, password=make_password("secret"), is_staff=True, is_superuser=is_superuser)
    User.objects.bulk_create([user])  # the cast is there before the audit log begins
    user = user if user.pk else User.objects.get(username=name)  # MySQL returns no ids from a bulk insert
    if permissions:
        _give(user, permissions)
    return user


def _give(user: User, permissions: tuple[str, ...]) -> None:
    """By one statement, as thousands of tests begin with such a user."""
    given, table = Permission.objects.filter(codename__in=permissions), User.user_permissions.through._meta.db_table
    select, values = given.order_by().values_list(Value(user.pk), "pk").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} (user_id, permission_id) {select}", values)


def make_editor(name: str = "alice") -> User:
    """An editor who may do everything with articles."""
    return make_user(
        name,
        "add_article",
        "change_article",
        "edit_any_article",
        "view_article",
        "delete_article",
        "review_article",
        "schedule_article",
        "publish_article",
        "lift_embargo",
        "retract_article",
        "schedule_release",
        "view_release",
        "view_channel",
        "add_channel",
        "change_channel",
        "delete_channel",
        "view_image",
        "add_image",
        "change_image",
        "delete_image",
        "edit_any_image",
    )


def make_member(role: Role, name: str = "") -> User:
    """A member of staff in the group of the role, without other permissions."""
    user = make_user(name or role.name.lower())
    User.groups.through.objects.create(user=user, group=Group.objects.get(name=role.value))
    return user


def make_channel(name: str = "Politics", **values: Any) -> Channel:
    """A channel."""
    return Channel.objects.create(name=name, **values)


def make_article(title: str = "Harbour bridge reopens", **values: Any) -> Article:
    """An article, by default a draft. One in review has an author."""
    article = Article.objects.create(title=title, **values)
    if article.status in Article.Status.in_review() and article.author is None:
        QuerySet(Revision).filter(article=article).update(author=some_user("writer"))
    return article


def some_user(name: str, *permissions: str) -> User:
    """A member of staff, created if missing."""
    return User.objects.filter(username=name).first() or make_user(name, *permissions)


def approve(article: Article, *, by: User | None = None) -> None:
    """Approve the text under review, as a user who did not write it."""
    read = for_review(Article.objects.get(pk=article.pk))
    publishing.approve(article, by=by or some_user("reviewer", "review_article"), revision=read)


def allow_automatic_approval(machine: str = ReviewPolicy.Machine.ALL) -> None:
    """Set the policy that the automatic review approves."""
    ReviewPolicy.objects.update_or_create(pk=ReviewPolicy.ROW, defaults={"machine": machine})


def make_release(*articles: Article, by: User, name: str = "Budget day") -> Release:
    """A draft release of these articles, each with its default action."""
    release = releases.create_release(name=name, by=by)
    for article in articles:
        releases.add_member(release, article=article, by=by)
    return release


def make_front(*cards: Article | Card, live_from: datetime | None = None, **values: Any) -> FrontVersion:
    """A version of the English front with one block of these cards, live since an hour unless it is said."""
    language, channel = values.pop("language", "en"), values.pop("channel", None)
    slug = f"{language}-{channel.slug}" if channel else language
    front, _is_new = Front.objects.get_or_create(slug=slug, language=language, channel=channel)
    number = front.versions.count() + 1
    version = front.versions.create(
        number=number, status=FrontVersion.Status.SCHEDULED, live_from=live_from or soon(hours=-1)
    )
    add_block(version, *cards, **{"kind": Block.Kind.LEAD, **values})
    return version


def add_block(version: FrontVersion, *cards: Article | Card, **values: Any) -> Block:
    """A further block of these cards, which nothing fills up unless it is said."""
    values = {"backfill": Block.Backfill.NONE, "position": version.blocks.count(), **values}
    block = version.blocks.create(**values)
    for position, given in enumerate(cards):
        card = given if isinstance(given, Card) else Card(article=given, title=given.title)
        card.block, card.position = block, position
        card.save()
    return block


def soon(**distance: float) -> datetime:
    """A point in time this far from the database's now: `soon(minutes=5)`, `soon(hours=-1)`."""
    return read_database_clock() + timedelta(**distance)


def sitemap_of(article: Article) -> str:
    """The URL of the sitemap section with the article; ids go on from test to test."""
    return reverse("sitemap-section", kwargs={"number": article.pk // SECTION})


def publish_tasks(article: Article) -> list[datetime]:
    """The due times of the article's pending publish tasks."""
    return _due_times(PUBLISH, article)


def unpublish_tasks(article: Article) -> list[datetime]:
    """The due times of the article's pending tasks to unpublish it."""
    return _due_times(UNPUBLISH, article)


def _due_times(task_type: str, article: Article) -> list[datetime]:
    tasks = TaskInfo.objects.filter(task_type=task_type, key=str(article.pk))
    return [due.astimezone(UTC) for due in tasks.values_list("execute_time", flat=True)]
