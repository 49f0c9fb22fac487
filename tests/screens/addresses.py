"""The list of all screens. Whoever adds a screen adds its address here: it is then checked and photographed."""

from __future__ import annotations

from django.contrib.auth.models import Group, User
from django.http import QueryDict
from django.urls import reverse

from articles.models import Article, AuditEntry, Batch, Channel, Release, Word
from articles.site.pages import page_of
from articles.site.scopes import everything
from articles.workflow import ReleaseStep
from scheduling.models import TaskInfo, TaskInfoLog

Status = Article.Status

LISTS = {
    "articles": "articles_article",
    "review-queue": "articles_queuedarticle",
    "pictures": "articles_material",
    "releases": "articles_release",
    "channels": "articles_channel",
    "tags": "articles_tag",
    "words": "articles_word",
    "notices": "articles_notice",
    "audit": "articles_auditentry",
    "tasks": "scheduling_taskinfo",
    "task-records": "scheduling_taskinfolog",
    "workers": "scheduling_workerheartbeat",
    "users": "auth_user",
    "groups": "auth_group",
    "tokens": "authtoken_tokenproxy",
    "my-settings": "articles_preferences",
}
"""Name to model, for the screens that the admin makes of a model."""


def desk() -> dict[str, str]:
    """Name to address of the desk's screens, in the newsroom that `fill` makes."""
    lists = {name: reverse(f"admin:{model}_changelist") for name, model in LISTS.items()}
    return {
        "start": reverse("admin:index"),
        **lists,
        **_forms(),
        **_of_an_article(),
        **_of_releases(),
        **_of_the_desk(),
    }


def readers() -> dict[str, str]:
    """Name to address of what readers see."""
    article = Article.objects.filter(status=Status.PUBLISHED).exclude(cover=[]).order_by("pk")[0]
    tag = article.tags.order_by("pk")[0]
    newest = page_of(everything(), QueryDict())
    return {
        "front-page": "/",
        "front-page-older": f"/{newest.older}",
        "channel": Channel.objects.order_by("pk")[0].get_absolute_url(),
        "tag": reverse("tag", args=[tag.slug]),
        "author": reverse("author", args=[article.author_id]),
        "article": article.get_absolute_url(),
        "search": f"{reverse('search')}?q={tag.name}",
        "killed": Article.objects.killed()[0].get_absolute_url(),
        "log-in": reverse("admin:login"),
    }


def _of_an_article() -> dict[str, str]:
    newer, waiting = (Article.objects.filter(**{name: value}).order_by("pk")[0] for name, value in _WANTED)
    number = newer.revisions.count()
    return {
        "article-new": reverse("admin:articles_article_add"),
        "article-published": _change("articles_article", newer.pk),
        "article-in-review": _change("articles_article", waiting.pk),
        "article-revisions": reverse("admin:articles_article_revisions", args=[newer.pk]),
        "article-revision": reverse("admin:articles_article_revision", args=[newer.pk, number]),
        "article-delete": reverse("admin:articles_article_delete", args=[waiting.pk]),
        "articles-none": f"{reverse('admin:articles_article_changelist')}?q=nothing-is-called-so",
    }


_WANTED = (("update__isnull", False), ("status", Status.MANUAL_REVIEW))


def _of_releases() -> dict[str, str]:
    _ready, waiting, out = Release.objects.order_by("pk")
    return {
        "release-new": reverse("admin:articles_release_add"),
        "release": f"{_change('articles_release', waiting.pk)}?q=harbour",
        "release-out": _change("articles_release", out.pk),
        "release-roll-back": reverse("admin:articles_release_ask", args=[out.pk, ReleaseStep.ROLL_BACK]),
    }


def _of_the_desk() -> dict[str, str]:
    question, done = Batch.objects.order_by("-pk")[:2]
    return {
        "my-views": reverse("desk_views"),
        "many": reverse("desk_batches"),
        "many-asked": reverse("desk_batch", args=[question.pk]),
        "many-done": reverse("desk_batch", args=[done.pk]),
        "words-add": reverse("admin:articles_word_changelist") + "add-many",
        "notices-choose": reverse("admin:articles_notice_changelist") + "choices",
        "calendar": reverse("calendar"),
        "calendar-feed": reverse("calendar-feed"),
        "password": reverse("admin:password_change"),
    }


def _forms() -> dict[str, str]:
    return {
        "channel-form": _change("articles_channel", Channel.objects.order_by("pk")[0].pk),
        "word": _change("articles_word", Word.objects.order_by("pk")[0].pk),
        "audit-entry": _change("articles_auditentry", AuditEntry.objects.order_by("-pk")[0].pk),
        "task": _change("scheduling_taskinfo", TaskInfo.objects.order_by("pk")[0].pk),
        "task-record": _change("scheduling_taskinfolog", TaskInfoLog.objects.order_by("-pk")[0].pk),
        "user": _change("auth_user", User.objects.order_by("pk")[0].pk),
        "user-new": reverse("admin:auth_user_add"),
        "group": _change("auth_group", Group.objects.order_by("pk")[0].pk),
        "token-new": reverse("admin:authtoken_tokenproxy_add"),
    }


def _change(model: str, pk: object) -> str:
    return reverse(f"admin:{model}_change", args=[pk])
