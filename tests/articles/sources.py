"""The sources of changes (admin, API, command, Python), each with the rows that it needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from articles import publishing, releases
from articles.desk.calendar import reschedule
from articles.desk.calendar.reschedule import Moment
from articles.models import Article, Release, SensitiveWord, Tag, Update
from articles.publishing import bulk
from articles.publishing.bulk import gather_articles, start_bulk_action
from articles.publishing.previews import make_preview_link
from articles.review.wordlist import add_words
from articles.workflow import Transition
from scheduling.services import refresh, run_due
from tests.articles.factories import APPROVED, make_article, make_release, make_user, soon

Status = Article.Status


@dataclass
class Stage:
    """Articles in each status, and a user with all permissions."""

    user: User
    client: Client

    def article(self, status: int, **values: Any) -> Article:
        """A new one."""
        return make_article("Harbour bridge reopens", status=status, author=None, **values)

    def waiting(self) -> Article:
        return self.article(APPROVED, publish_at=soon(hours=1))

    def out(self) -> Article:
        return self.article(Status.PUBLISHED, publish_at=soon(hours=-1), published_at=soon(hours=-1))

    def updated(self) -> Article:
        """A live article with an approved update."""
        article = self.out()
        publishing.edit(article, by=self.user, changes={"title": "Harbour bridge closes again"})
        update = Update.objects.get(article=article)
        update.approved, update.draft = update.draft, None
        update.save()
        return Article.objects.get(pk=article.pk)

    def release(self, *, scheduled: bool = False) -> Release:
        release = make_release(self.article(APPROVED), self.article(APPROVED), by=self.user)
        if scheduled:
            releases.schedule_release(release, publish_at=soon(hours=1), by=self.user)
        return release


def found_stage() -> Stage:
    """Three hundred drafts, so that no index is too small to be of use, and a user with a password."""
    if not User.objects.filter(username="root").exists():
        Article.objects.bulk_create(Article(title=f"Draft {number}") for number in range(300))
        make_user("root", is_superuser=True)
    user, client = User.objects.get(username="root"), Client()
    client.force_login(user)
    return Stage(user, client)


Act = Callable[[], Any]
Source = Callable[[Stage], Act]


def _transition(service: Callable[..., Any], status: int | None = None, **values: Any) -> Source:
    """A service that takes an article of a status (None: one that waits)."""

    def source(stage: Stage) -> Act:
        article = stage.waiting() if status is None else stage.article(status)
        return lambda: service(article, by=stage.user, **values)

    return source


def _with_out(service: Callable[..., Any], **values: Any) -> Source:
    return lambda stage: _act(service, stage.out(), stage, values)


def _with_update(service: Callable[..., Any], **values: Any) -> Source:
    return lambda stage: _act(service, stage.updated(), stage, values)


def _with_release(service: Callable[..., Any], *, scheduled: bool = False, **values: Any) -> Source:
    return lambda stage: _act(service, stage.release(scheduled=scheduled), stage, values)


def _act(service: Callable[..., Any], subject: Any, stage: Stage, values: Mapping[str, Any]) -> Act:
    known = {name: value() if callable(value) else value for name, value in values.items()}
    return lambda: service(subject, by=stage.user, **known)


def _later() -> Any:
    return soon(hours=2)


def _schedule_many(stage: Stage) -> Act:
    articles = [stage.waiting() for _ in range(3)]
    return lambda: publishing.schedule_many(reversed(articles), publish_at=soon(hours=2), by=stage.user)


def _reschedule_many(stage: Stage) -> Act:
    articles = [stage.waiting() for _ in range(3)]
    return lambda: publishing.reschedule_many(articles, shift=timedelta(hours=1), by=stage.user)


def _schedule(stage: Stage) -> Act:
    article = stage.article(APPROVED)
    return lambda: publishing.schedule(article, publish_at=soon(hours=2), by=stage.user)


def _create(stage: Stage) -> Act:
    return lambda: publishing.create(Article(title="New"), by=stage.user)


def _edit(stage: Stage) -> Act:
    article, tags = stage.out(), [Tag.objects.get_or_create(name="Bridges", slug="bridges")[0]]
    return lambda: publishing.edit(article, by=stage.user, changes={"title": "Better", "tags": tags})


def _move(stage: Stage) -> Act:
    article = stage.waiting()
    seen = article.publish_at
    assert seen is not None
    return lambda: reschedule.reschedule_article(article, Moment.PUBLISH, to=soon(hours=3), seen=seen, by=stage.user)


def _roll_back(stage: Stage) -> Act:
    release = stage.release()
    releases.publish_release_now(release, by=stage.user)
    return lambda: releases.roll_back_release(release, by=stage.user)


def _join(stage: Stage) -> Act:
    release, article = stage.release(), stage.waiting()
    return lambda: releases.add_member(release, article=article, by=stage.user)


def _leave(stage: Stage) -> Act:
    release = stage.release()
    member = release.members.all()[0]
    return lambda: releases.remove_member(release, member=member, by=stage.user)


def _bulk(stage: Stage) -> Act:
    bulk_action = gather_articles(
        Transition.SCHEDULE, [(stage.article(APPROVED).pk, "") for _ in range(3)], by=stage.user
    )
    start_bulk_action(bulk_action, publish_at=soon(hours=2))
    return lambda: bulk.advance_bulk_action(bulk_action.pk)


def _undo(stage: Stage) -> Act:
    bulk_action = gather_articles(Transition.UNPUBLISH, [(stage.out().pk, "")], by=stage.user)
    start_bulk_action(bulk_action)
    bulk.advance_bulk_action(bulk_action.pk)
    undoing = bulk.undo_bulk_action(bulk_action, by=stage.user)
    return lambda: bulk.advance_bulk_action(undoing.pk)


def _bring_in(stage: Stage) -> Act:
    """An import, repeated with another text."""
    number = Article.objects.count()

    def bring_in(title: str) -> None:
        with TemporaryDirectory() as directory:
            path = Path(directory) / "news.jsonl"
            records = ({"external_id": f"{number}:{line}", "title": title, "body": "<p>x</p>"} for line in range(3))
            path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
            call_command("import_articles", str(path), verbosity=0)

    bring_in("First")
    return lambda: bring_in("Second")


def _api(stage: Stage) -> Act:
    address = f"/api/v1/desk/articles/{stage.article(APPROVED).pk}/schedule/"
    return lambda: _sent(stage, address, {"publish_at": soon(hours=2).isoformat()})


def _api_once(stage: Stage) -> Act:
    number = Article.objects.count()
    return lambda: _sent(stage, "/api/v1/desk/articles/", {"title": "New"}, {"idempotency-key": f"key-{number}"})


def _sent(stage: Stage, address: str, values: Any, headers: Any = None) -> None:
    response = stage.client.post(address, json.dumps(values), content_type="application/json", headers=headers)
    assert response.status_code < 300, response.content


def _form(stage: Stage) -> Act:
    """The form of a new article in the admin, submitted."""
    values = {"title": "New", "author": stage.user.pk, "cover_mode": "auto", "_step_submit": "1", "seen": ""}

    def save() -> None:
        response = stage.client.post("/admin/articles/article/add/", values)
        assert response.status_code == 302, response.content

    return save


def _deletion(stage: Stage) -> Act:
    address = f"/admin/articles/article/{stage.out().pk}/delete/"

    def delete() -> None:
        assert stage.client.post(address, {"post": "yes"}).status_code == 302

    return delete


def _command(stage: Stage) -> Act:
    article = stage.out()
    return lambda: call_command("article", "unpublish", str(article.pk), "--by", "root", verbosity=0)


def _save(stage: Stage) -> Act:
    article = stage.waiting()
    article.title = "Better"
    return article.save


def _save_time(stage: Stage) -> Act:
    article = stage.waiting()
    article.publish_at = soon(hours=3)

    def save() -> None:
        article.save()
        assert Article.objects.get(pk=article.pk).publish_at == article.publish_at

    return save


def _store(stage: Stage) -> Act:
    return lambda: stage.article(APPROVED, publish_at=soon(hours=1))


def _words(stage: Stage) -> Act:
    number = SensitiveWord.objects.count()
    return lambda: add_words([f"forbidden{number}"], level=SensitiveWord.Level.REVIEW)


def _reconcile(stage: Stage) -> Act:
    """Changes that bypass services and receivers."""
    ids = [stage.waiting().pk, stage.out().pk]
    Article.objects.filter(pk__in=ids).update(publish_at=soon(minutes=1), title="Behind our back", updated_at=soon())
    return refresh


def _reindex(stage: Stage) -> Act:
    Article.objects.filter(pk=stage.out().pk).update(title="Behind our back")
    return lambda: call_command("reindex", verbosity=0)


def _work(stage: Stage) -> Act:
    """Everything that is due."""
    due = soon(seconds=-0.1)
    stage.article(APPROVED, publish_at=due)
    stage.article(Status.PUBLISHED, publish_at=soon(hours=-1), published_at=soon(hours=-1), unpublish_at=due)
    publishing.schedule_update(stage.updated(), publish_at=due, by=stage.user)
    releases.schedule_release(stage.release(), publish_at=due, by=stage.user)
    return lambda: run_due(100)


SOURCES: Mapping[str, Source] = {
    "create": _create,
    "edit": _edit,
    "submit": _transition(publishing.submit, Status.DRAFT),
    "claim": _transition(publishing.soft_lock, Status.MANUAL_REVIEW),
    "reject": _transition(publishing.reject, Status.MANUAL_REVIEW, reason="Too short"),
    "schedule": _schedule,
    "schedule_many": _schedule_many,
    "move_many": _reschedule_many,
    "reschedule": _move,
    "unschedule": _transition(publishing.unschedule),
    "publish_now": _transition(publishing.publish_now),
    "unpublish": _with_out(publishing.unpublish),
    "republish": _transition(publishing.republish, Status.UNPUBLISHED),
    "retract": _with_out(publishing.retract, notice="It was wrong"),
    "undo_retraction": _transition(publishing.undo_retraction, Status.RETRACTED),
    "set_embargo": _transition(publishing.set_embargo, Status.DRAFT, until=None),
    "schedule_update": _with_update(publishing.schedule_update, publish_at=_later),
    "publish_update": _with_update(publishing.publish_update),
    "discard_update": _with_update(publishing.discard_update),
    "preview": _with_out(make_preview_link, lasts=timedelta(hours=1)),
    "join": _join,
    "leave": _leave,
    "schedule_release": _with_release(releases.schedule_release, publish_at=_later),
    "dry_run": _with_release(releases.dry_run_release),
    "publish_release": _with_release(releases.publish_release_now),
    "cancel_release": _with_release(releases.cancel_release, scheduled=True),
    "delete_release": _with_release(releases.delete_release),
    "roll_back": _roll_back,
    "bulk": _bulk,
    "undo": _undo,
    "import": _bring_in,
    "words": _words,
    "api": _api,
    "api with key": _api_once,
    "form": _form,
    "deletion": _deletion,
    "command": _command,
    "save": _save,
    "save of a time": _save_time,
    "store": _store,
    "reconcile": _reconcile,
    "reindex": _reindex,
    "worker": _work,
}
