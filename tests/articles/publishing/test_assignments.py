"""The owner and due time of an article: no text, no approval, no conflict with other editors."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from articles import publishing
from articles.exceptions import InvalidSchedule, NotAllowed, TimePast, WithoutAccess
from articles.models import Article, AuditEntry, Notification, PendingChange, Preferences
from articles.roles import Role
from tests.articles.factories import APPROVED, make_article, make_editor, make_member, make_user, soon

pytestmark = pytest.mark.django_db

Status = Article.Status


@pytest.fixture
def owner() -> User:
    return make_member(Role.AUTHOR, "wen")


def test_the_owner_is_notified_in_the_own_zone_and_it_is_recorded(owner: User) -> None:
    Preferences.objects.create(user=owner, language="en", time_zone="Asia/Shanghai")
    article, editor = make_article(), make_editor()
    due = soon(days=1).replace(hour=8, minute=0, second=0, microsecond=0)
    publishing.edit(article, by=editor, changes={"owner": owner, "due_at": due})
    stored = Article.objects.get()
    assert (stored.owner, stored.due_at, article.owner) == (owner, due, owner)
    notification = Notification.objects.get()
    assert (notification.user, notification.kind) == (owner, Notification.Kind.ASSIGNED)
    assert "16:00" in notification.reason
    entry = AuditEntry.objects.latest("id")
    assert (entry.action, entry.user_id, entry.old_status) == ("assign", editor.pk, None)
    assert entry.details == {"assigned": [None, owner.pk], "due_at": [None, due.isoformat()]}

    publishing.edit(article, by=editor, changes={"owner": owner, "due_at": due})
    assert (Notification.objects.count(), AuditEntry.objects.latest("id").pk) == (1, entry.pk)
    publishing.edit(article, by=editor, changes={"owner": None})
    assert Article.objects.get().owner is None


def test_an_assignment_changes_no_version_text_task_or_change_feed(owner: User) -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    other = Article.objects.get(pk=article.pk)
    before = Article.objects.values("updated_at", "text_changed_at", "revision", "status").get()
    PendingChange.objects.all().delete()
    editor = make_editor()
    publishing.edit(article, by=editor, changes={"owner": owner})
    assert Article.objects.values(*before).get() == before
    assert not PendingChange.objects.exists()
    assert article.revisions.count() == 1
    publishing.edit(other, by=editor, changes={"title": "New"}, seen=other.changed_at)
    assert Article.objects.get().owner == owner


@pytest.mark.parametrize("by", ["wen", "mei"])
def test_who_may_not_edit_may_not_assign(owner: User, by: str) -> None:
    mei = make_member(Role.PUBLISHER, "mei")
    article = make_article(author=mei)
    with pytest.raises(NotAllowed):
        publishing.edit(article, by={"wen": owner, "mei": mei}[by], changes={"owner": owner})
    assert Article.objects.get().owner is None


def test_an_unusable_assignment_is_refused_and_nothing_is_saved(owner: User) -> None:
    article, editor = make_article("Old"), make_editor()
    tagger = make_user("tagger", "change_tag")
    with pytest.raises(WithoutAccess, match="tagger"):
        publishing.edit(article, by=editor, changes={"title": "New", "owner": tagger})
    with pytest.raises(TimePast, match="for the owner"):
        publishing.edit(article, by=editor, changes={"title": "New", "due_at": soon(hours=-1)})
    with pytest.raises(InvalidSchedule):
        publishing.edit(article, by=editor, changes={"due_at": soon(hours=1).replace(tzinfo=None)})
    with pytest.raises(WithoutAccess):
        publishing.create(Article(title="New", owner=tagger), by=editor)
    assert Article.objects.filter(title="Old", owner=None, due_at=None).count() == Article.objects.count() == 1


def test_a_new_article_can_have_an_owner(owner: User) -> None:
    publishing.create(Article(title="New", owner=owner, due_at=soon(hours=1)), by=make_editor())
    assert Article.objects.get().owner == owner
    assert list(AuditEntry.objects.order_by("id").values_list("action", flat=True)) == ["create", "assign"]
    assert Notification.objects.get().user == owner


def test_the_article_stays_when_its_owner_leaves(owner: User) -> None:
    article = make_article(owner=owner)
    owner.delete()
    article.refresh_from_db()
    assert article.owner is None


def test_it_is_late_after_its_due_time_until_it_is_approved(owner: User) -> None:
    late = Article(due_at=soon(minutes=-1))
    assert [status for status in Status if Article(due_at=late.due_at, status=status).is_late_at(soon())] == list(
        Status.unapproved()
    )
    assert not Article().is_late_at(soon())
    assert not late.is_late_at(soon(hours=-1))


def test_articles_of_a_user_are_those_written_or_owned(owner: User) -> None:
    for title, values in (("own", {"author": owner}), ("owned", {"owner": owner}), ("both", None), ("other", {})):
        make_article(title, **({"author": owner, "owner": owner} if values is None else values))
    assert set(Article.objects.of_user(owner.pk).values_list("title", flat=True)) == {"own", "owned", "both"}
