"""The URLs of all pages. Add each new page: it is then tested, and part of the screenshots."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib.auth.models import Group, User
from django.contrib.auth.tokens import default_token_generator
from django.http import QueryDict
from django.urls import reverse
from django.utils.http import urlsafe_base64_encode

from articles.audit import Action
from articles.models import (
    Alert,
    Article,
    ArticleTemplate,
    AuditEntry,
    Block,
    BulkAction,
    Card,
    Channel,
    Endpoint,
    FrontVersion,
    Image,
    Release,
    SensitiveWord,
    SharedPage,
    Tag,
)
from articles.site.pagination import page_of
from articles.site.streams import all_news
from articles.workflow import ReleaseTransition
from headline.api.models import ServiceAccount
from scheduling.models import TaskInfo, TaskInfoLog

Status = Article.Status

LISTS = {
    "articles": "articles_article",
    "templates": "articles_articletemplate",
    "review-queue": "articles_queuedarticle",
    "images": "articles_image",
    "releases": "articles_release",
    "fronts": "articles_front",
    "channels": "articles_channel",
    "tags": "articles_tag",
    "words": "articles_sensitiveword",
    "review-policy": "articles_reviewpolicy",
    "notices": "articles_notification",
    "alerts": "articles_alert",
    "webhooks": "articles_endpoint",
    "audit": "articles_auditentry",
    "tasks": "scheduling_taskinfo",
    "task-records": "scheduling_taskinfolog",
    "workers": "scheduling_workerheartbeat",
    "users": "auth_user",
    "groups": "auth_group",
    "tokens": "headline_api_apitoken",
    "programs": "headline_api_serviceaccount",
    "my-settings": "articles_preferences",
}
"""Name to model, for the screens that the admin makes of a model."""

ALIKE = frozenset(
    {
        *("templates", "channels", "words", "review-policy", "task-records", "workers", "groups", "tokens"),
        *("tag-new", "tag-form", "word-new", "word", "group-new", "channel-new", "user-invited", "task-record"),
        *("user-delete", "image-delete", "image-unused", "release-new", "release-ready", "release-roll-back"),
        *("monitoring-none", "calendar-day", "many-approved", "many-done", "notices-choose"),
    }
)
"""Screens of the desk with the template and widgets of another one, on which axe finds what it finds there."""


OF_EACH_KIND = frozenset(
    {
        *("dashboard", "articles", "images", "my-settings", "user", "article-published", "article-notes", "review"),
        *("release", "front-card", "image", "monitoring", "many-going-on", "calendar-week", "second-factor"),
        *("front-page", "article", "log-in"),
    }
)
"""One screen of the desk for each set of scripts, and those of readers and of the desk's own templates with most."""


def desk() -> dict[str, str]:
    """Name to address of the desk's screens, in the newsroom that `fill` makes."""
    lists = {name: reverse(f"admin:{model}_changelist") for name, model in LISTS.items()}
    return {
        "dashboard": reverse("admin:index"),
        **lists,
        **_forms(),
        **_of_an_article(),
        **_of_releases(),
        **_of_fronts(),
        **_of_images(),
        **_of_the_desk(),
        **_of_the_calendar(),
        **_of_the_outside(),
    }


def of_others() -> dict[str, dict[str, str]]:
    """Log-in name to the pages that differ for this user from the administrator's."""
    newer = Article.objects.filter(update__isnull=False).order_by("pk")[0]
    return {
        "author": {"dashboard-author": reverse("admin:index")},
        "publisher": {"article-read": _change("articles_article", newer.pk)},
    }


def readers() -> dict[str, str]:
    """Name to URL of readers' pages."""
    article = Article.objects.filter(status=Status.PUBLISHED).exclude(cover=[]).order_by("pk")[0]
    tag = article.tags.order_by("pk")[0]
    newest = page_of(all_news(), QueryDict())
    return {
        "front-page": "/",
        "front-page-older": f"/{newest.older}",
        "channel": Channel.objects.order_by("pk")[0].get_absolute_url(),
        "tag": reverse("tag", args=[tag.slug]),
        "author": reverse("author", args=[article.author_id]),
        "article": article.get_absolute_url(),
        "search": f"{reverse('search')}?q={tag.name}",
        "retracted": Article.objects.retracted()[0].get_absolute_url(),
        "log-in": reverse("admin:login"),
    }


def forgotten() -> dict[str, str]:
    """Name to address of the pages by which a forgotten password is reset."""
    user = User.objects.order_by("pk")[0]
    number, proof = urlsafe_base64_encode(str(user.pk).encode()), default_token_generator.make_token(user)
    return {
        "reset": reverse("admin_password_reset"),
        "reset-asked": reverse("password_reset_done"),
        "reset-link": reverse("password_reset_confirm", args=[number, proof]),
        "reset-ended": reverse("password_reset_confirm", args=[number, "ended"]),
        "reset-done": reverse("password_reset_complete"),
    }


def _of_an_article() -> dict[str, str]:
    newer = Article.objects.filter(update__isnull=False).order_by("pk")[0]
    in_review = Article.objects.filter(status=Status.MANUAL_REVIEW).order_by("pk")
    waiting, own = in_review[0], in_review.filter(author__is_superuser=True)[0]
    number = newer.revisions.count()
    return {
        "article-new": reverse("admin:articles_article_add"),
        "article-published": _change("articles_article", newer.pk),
        "article-in-review": _change("articles_article", waiting.pk),
        "article-revisions": reverse("admin:articles_article_revisions", args=[newer.pk]),
        "article-revision": reverse("admin:articles_article_revision", args=[newer.pk, number]),
        "article-history": reverse("admin:articles_article_history", args=[newer.pk]),
        "article-links": reverse("admin:articles_article_links", args=[newer.pk]),
        "article-notes": reverse("admin:articles_article_notes", args=[waiting.pk]),
        "article-preview": reverse("admin:articles_article_preview", args=[newer.pk]),
        "article-delete": reverse("admin:articles_article_delete", args=[waiting.pk]),
        "articles-none": f"{reverse('admin:articles_article_changelist')}?q=nothing-is-called-so",
        "review": _change("articles_queuedarticle", waiting.pk),
        "review-own": _change("articles_queuedarticle", own.pk),
    }


def _of_releases() -> dict[str, str]:
    ready, waiting, out = Release.objects.order_by("pk")
    return {
        "release-new": reverse("admin:articles_release_add"),
        "release-ready": _change("articles_release", ready.pk),
        "release": f"{_change('articles_release', waiting.pk)}?q=harbour",
        "release-out": _change("articles_release", out.pk),
        "release-publish": reverse("admin:articles_release_ask", args=[ready.pk, ReleaseTransition.PUBLISH]),
        "release-roll-back": reverse("admin:articles_release_ask", args=[out.pk, ReleaseTransition.ROLL_BACK]),
    }


def _of_fronts() -> dict[str, str]:
    *_demo, scheduled, draft = FrontVersion.objects.order_by("pk")
    block, card = (model.objects.latest("pk").uuid for model in (Block, Card))
    article = Article.objects.filter(status=Status.APPROVED).order_by("pk")[0]
    return {
        "front": _change("articles_front", draft.front_id),
        "front-scheduled": f"{_change('articles_front', draft.front_id)}?version={scheduled.number}&list=scheduled",
        "front-card": reverse("admin:articles_front_card", args=[draft.pk, card]),
        "front-block": reverse("admin:articles_front_block", args=[draft.pk, block]),
        "front-compare": reverse("admin:articles_front_compare", args=[draft.pk]),
        "front-put": f"{reverse('admin:articles_front_put')}?article={article.pk}",
        "front-new": reverse("admin:articles_front_add"),
        "front-preview": reverse("admin:articles_front_preview", args=[draft.pk]),
    }


def _of_images() -> dict[str, str]:
    used, unused = (Image.objects.filter(uses__isnull=is_unused).order_by("pk")[0].pk for is_unused in (False, True))
    return {
        "image": _change("articles_image", used),
        "image-unused": _change("articles_image", unused),
        "image-delete": reverse("admin:articles_image_delete", args=[unused]),
    }


def _of_the_desk() -> dict[str, str]:
    question, going, done, approving = BulkAction.objects.order_by("-pk")[:4]
    return {
        "monitoring": reverse("desk_monitoring"),
        "monitoring-none": f"{reverse('desk_monitoring')}?q=nothing-is-called-so",
        "proposed-changes": reverse("desk_proposed_changes"),
        "system": reverse("desk_system"),
        "my-views": reverse("desk_views"),
        "many": reverse("desk_bulk_actions"),
        "many-approved": reverse("desk_bulk_action", args=[approving.pk]),
        "many-asked": reverse("desk_bulk_action", args=[question.pk]),
        "many-going-on": reverse("desk_bulk_action", args=[going.pk]),
        "many-done": reverse("desk_bulk_action", args=[done.pk]),
        "words-add": reverse("admin:articles_sensitiveword_changelist") + "add-many",
        "notices-choose": reverse("admin:articles_notification_changelist") + "choices",
        "password": reverse("admin:password_change"),
    }


def _of_the_calendar() -> dict[str, str]:
    article = Article.objects.filter(status__in=Status.waiting(), publish_at__isnull=False).order_by("-publish_at")[0]
    return {
        "calendar": reverse("calendar"),
        "calendar-week": f"{reverse('calendar')}?view=week",
        "calendar-day": f"{reverse('calendar')}?view=day",
        "calendar-reschedule": f"{reverse('calendar-reschedule')}?key=publish_at:{article.pk}",
        "calendar-feed": reverse("calendar-feed"),
    }


def _of_the_outside() -> dict[str, str]:
    alert, endpoint = Alert.objects.order_by("pk")[0], Endpoint.objects.order_by("pk")[0]
    shared = SharedPage.objects.order_by("pk")[0]
    return {
        "alert-new": reverse("admin:articles_alert_add"),
        "alert": _change("articles_alert", alert.pk),
        "alert-delete": reverse("admin:articles_alert_delete", args=[alert.pk]),
        "webhook-new": reverse("admin:articles_endpoint_add"),
        "webhook": _change("articles_endpoint", endpoint.pk),
        "webhook-delete": reverse("admin:articles_endpoint_delete", args=[endpoint.pk]),
        "shared-pages": f"{reverse('desk_shared_pages')}?{urlencode({'page': '/en/', 'at': shared.at.isoformat()})}",
        "upcoming": reverse("desk_upcoming"),
        "second-factor": reverse("mfa_index"),
        "program-new": reverse("admin:headline_api_serviceaccount_add"),
        "program": _change("headline_api_serviceaccount", ServiceAccount.objects.order_by("pk")[0].pk),
    }


def _forms() -> dict[str, str]:
    user, group = User.objects.order_by("pk")[0].pk, Group.objects.order_by("pk")[0].pk
    new = {
        "channel": "articles_channel",
        "tag": "articles_tag",
        "template": "articles_articletemplate",
        "word": "articles_sensitiveword",
        "group": "auth_group",
    }
    return {
        **{f"{name}-new": reverse(f"admin:{model}_add") for name, model in new.items()},
        "channel-form": _change("articles_channel", Channel.objects.order_by("pk")[0].pk),
        "tag-form": _change("articles_tag", Tag.objects.order_by("pk")[0].pk),
        "template": _change("articles_articletemplate", ArticleTemplate.objects.order_by("pk")[0].pk),
        "word": _change("articles_sensitiveword", SensitiveWord.objects.order_by("pk")[0].pk),
        "audit-entry": _change("articles_auditentry", _entry().pk),
        "task": _change("scheduling_taskinfo", TaskInfo.objects.order_by("pk")[0].pk),
        "task-record": _change("scheduling_taskinfolog", TaskInfoLog.objects.order_by("-pk")[0].pk),
        "user": _change("auth_user", user),
        "user-invited": _change("auth_user", User.objects.get(username="wren@example.org").pk),
        "user-new": reverse("admin:auth_user_add"),
        "user-password": reverse("admin:auth_user_password_change", args=[user]),
        "user-delete": reverse("admin:auth_user_delete", args=[user]),
        "group": _change("auth_group", group),
        "token-new": reverse("admin:headline_api_apitoken_add"),
    }


def _entry() -> AuditEntry:
    """An audit entry with many details."""
    return AuditEntry.objects.filter(action=Action.EDIT).order_by("-pk")[0]


def _change(model: str, pk: object) -> str:
    return reverse(f"admin:{model}_change", args=[pk])
