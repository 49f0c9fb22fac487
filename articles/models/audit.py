"""The audit log, which is append-only.

Entries have no foreign keys, because they outlive users and articles: they store ids and names as they were. Database
triggers also protect the table against programs that bypass Django.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn, Self

from django.contrib.auth import get_user_model
from django.db import models
from django.db.models.functions import Concat, Trim
from django.utils.translation import gettext, gettext_lazy as _

from articles.limits import ACTION_LENGTH, REASON_LENGTH, RELEASE_NAME_LENGTH, TITLE_LENGTH, USERNAME_LENGTH
from articles.models.article import Article
from articles.models.release import Release
from articles.models.review import ReviewPolicy
from articles.models.review_stage import ReviewStage
from articles.models.sensitive_word import SensitiveWord
from articles.models.translatable import TranslatableField
from articles.text import format_time_briefly, format_time_exactly

SHOWN_WORDS = 5

LATEST = 5_000
"""Entries that may be committed before one with a lower id."""


class AppendOnly(Exception):
    """The audit log cannot be changed or deleted."""


class AuditQuerySet(models.QuerySet["AuditEntry"]):
    """Entries are added and read."""

    def of(self, article: Article) -> Self:
        """The entries about an article, latest first."""
        return self.filter(article_id=article.pk).latest_first()

    def of_release(self, release: Release) -> Self:
        """The entries about a release and its effects on articles, latest first."""
        return self.filter(release_id=release.pk).latest_first()

    def latest_first(self) -> Self:
        """Latest first."""
        return self.order_by("-id")

    def version(self) -> tuple[int, int]:
        """Differs after any other entry was committed, also one whose transaction began before that of the last one."""
        last = self.aggregate(last=models.Max("id"))["last"] or 0
        return last, self.filter(id__gt=last - LATEST).count()

    def with_names(self) -> Self:
        """With the users' present names; an entry stores the username of its time."""
        user = get_user_model()._default_manager.filter(pk=models.OuterRef("user_id"))
        name = Trim(Concat("first_name", models.Value(" "), "last_name"))
        return self.annotate(full_name=models.Subquery(user.values(name=name)[:1]))

    def update(self, **values: Any) -> NoReturn:
        """Refused. Raises `AppendOnly`."""
        raise AppendOnly

    def delete(self) -> NoReturn:
        """Refused. Raises `AppendOnly`."""
        raise AppendOnly

    def bulk_update(self, *args: Any, **options: Any) -> NoReturn:
        """Refused. Raises `AppendOnly`."""
        raise AppendOnly


class AuditEntry(models.Model):
    """One action of a user or the system."""

    class Source(models.TextChoices):
        """Where the action came in."""

        ADMIN = "admin", _("admin")
        API = "api", _("API")
        COMMAND = "command", _("command")
        PYTHON = "python", _("Python code")
        WORKER = "worker", _("System")

    at = models.DateTimeField(_("time"), help_text=_("Time of the database."))
    action = models.CharField(_("action"), max_length=ACTION_LENGTH)
    source = models.CharField(_("source"), max_length=10, choices=Source.choices)
    user_id = models.BigIntegerField(_("user’s id"), null=True, blank=True)
    user_name = models.CharField(
        _("user"), max_length=USERNAME_LENGTH, blank=True, help_text=_("Empty for the system.")
    )
    article_id = models.BigIntegerField(_("article ID"), null=True, blank=True)
    article_title = models.CharField(_("article"), max_length=TITLE_LENGTH, blank=True)
    release_id = models.BigIntegerField(_("release ID"), null=True, blank=True)
    release_name = models.CharField(_("release"), max_length=RELEASE_NAME_LENGTH, null=True, blank=True)  # noqa: DJ001 (added later)
    old_status = models.SmallIntegerField(_("previous status"), choices=Article.Status.choices, null=True, blank=True)
    new_status = models.SmallIntegerField(_("new status"), choices=Article.Status.choices, null=True, blank=True)
    old_time = models.DateTimeField(_("previous publish time"), null=True, blank=True)
    new_time = models.DateTimeField(_("new publish time"), null=True, blank=True)
    revision = models.PositiveIntegerField(_("revision"), null=True, blank=True)
    reason = TranslatableField(_("reason"), max_length=REASON_LENGTH, blank=True)
    details = models.JSONField(_("more"), default=dict, blank=True)

    objects = AuditQuerySet.as_manager()

    class Meta:
        default_permissions = ["view"]
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit log")
        indexes = [
            models.Index(fields=["article_id", "id"], name="audit_article"),
            models.Index(fields=["user_id", "id"], name="audit_user"),
            models.Index(fields=["release_id", "id"], name="audit_release"),
            models.Index(fields=["at"], name="audit_at"),
        ]

    def __str__(self) -> str:
        return (
            f"{format_time_exactly(self.at)} · {self.article_title or self.release_name or self.get_source_display()}"
        )

    def save(self, *args: Any, **options: Any) -> None:
        """Add the entry. Raises `AppendOnly` for one that is there already."""
        if not self._state.adding:
            raise AppendOnly
        super().save(*args, **{**options, "force_insert": True})

    def delete(self, *args: Any, **options: Any) -> NoReturn:
        """Refused. Raises `AppendOnly`."""
        raise AppendOnly

    @property
    def who(self) -> str:
        """The actor: a user, or else the source."""
        return getattr(self, "full_name", "") or self.user_name or self.get_source_display()

    def differences(self) -> list[str]:
        """The status, the time to go live, the words and so on, each as "before → after", where they differ.

        For a decision also its review stage, and whether it was automatic or an override.
        """
        statuses = self.get_old_status_display(), self.get_new_status_display()
        times = tuple(moment and format_time_briefly(moment) for moment in (self.old_time, self.new_time))
        policy = tuple(str(ReviewPolicy.Machine(value).label) for value in self.details.get("machine", ())) or ("", "")
        words = tuple(_words(self.details.get(name) or {}) for name in ("old", "new"))
        stages = tuple(_stages(chosen) for chosen in self.details.get("stages", ())) or ("", "")
        pairs = (statuses, times, words, policy, stages)
        changes = [f"{old or '—'} → {new or '—'}" for old, new in pairs if old != new]
        return [*changes, *self._approval()]

    def _approval(self) -> Iterator[str]:
        """The review stage of a decision, and whether an approval was automatic or an override."""
        if stage := self.details.get("stage"):
            yield self.details.get("stage_name") or stage_name(stage)
        if self.details.get("approved_by"):
            yield gettext("approved by automatic review")
        if reason := self.details.get("override"):
            yield gettext("override by an administrator: %(reason)s") % {"reason": reason}


def stage_name(kind: str) -> str:
    """The default name of a review stage, or what is stored."""
    return str(ReviewStage.Kind(kind).label) if kind in ReviewStage.Kind else kind


def _stages(chosen: list[list[str]]) -> str:
    """Review stages in their order, each with the group that decides there."""
    shown = (
        gettext("%(stage)s (%(group)s)") % {"stage": name or stage_name(kind), "group": group}
        if group
        else name or stage_name(kind)
        for kind, name, group in chosen
    )
    return gettext(", ").join(shown)


def _words(levels: dict[str, str]) -> str:
    """The first words with their levels, and the number of others."""
    shown = [
        gettext("%(word)s (%(level)s)") % {"word": word, "level": SensitiveWord.Level(level).label}
        for word, level in list(levels.items())[:SHOWN_WORDS]
    ]
    if (more := len(levels) - SHOWN_WORDS) > 0:
        shown.append(gettext("… and %d more.") % more)
    return gettext(", ").join(shown)
