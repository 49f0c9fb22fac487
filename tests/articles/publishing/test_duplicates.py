"""Duplicates: what a copy has of the original, and who may approve it."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from django.test import Client

from articles import publishing
from articles.exceptions import NotAllowed
from articles.limits import TITLE_LENGTH
from articles.models import Article, AuditEntry, Channel, Tag
from articles.roles import Role
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, make_member, some_user, soon

pytestmark = pytest.mark.django_db

Status = Article.Status


def test_a_copy_has_the_text_and_none_of_the_times_and_approvals() -> None:
    alice, politics = make_editor(), make_channel()
    original = make_article(
        "Derby",
        summary="Short",
        body="<p>Long</p>",
        byline="Ida Ek",
        channel=politics,
        cover_mode="none",
        slug="derby",
        status=APPROVED,
        publish_at=soon(hours=1),
        unpublish_at=soon(days=1),
        embargo_until=soon(minutes=5),
        external_id="x-1",
    )
    original.tags.add(Tag.objects.create(name="football"))
    publishing.edit(original, by=alice, changes={"summary": "Newest"})
    copy = Article.objects.get(pk=publishing.duplicate(original, by=alice).pk)
    assert (copy.title, copy.summary, copy.body) == ("Derby (copy)", "Newest", "<p>Long</p>")
    assert (copy.byline, copy.channel, copy.cover_mode, copy.slug) == ("Ida Ek", politics, "none", "derby-copy")
    assert [tag.name for tag in copy.tags.all()] == ["football"]
    assert (copy.author, copy.status, copy.revision, copy.pending_update) == (alice, Status.DRAFT, 1, None)
    assert (copy.publish_at, copy.unpublish_at, copy.embargo_until, copy.published_at) == (None, None, None, None)
    assert copy.external_id is None
    assert AuditEntry.objects.of(copy).get().details["copy_of"] == original.pk


def test_a_long_headline_leaves_room_for_the_mark_and_a_disabled_channel_is_left_out() -> None:
    politics = make_channel()
    article = make_article("x" * TITLE_LENGTH, channel=politics)
    Channel.objects.filter(pk=politics.pk).update(enabled=False)
    copy = publishing.duplicate(article, by=make_editor())
    assert len(copy.title) == TITLE_LENGTH
    assert copy.title.endswith("x (copy)")
    assert copy.channel is None


def test_who_wrote_the_original_may_not_approve_the_copy() -> None:
    """R4.9"""
    alice, writer = make_editor(), some_user("writer", "add_article", "change_article", "review_article")
    original = Article(title="Derby", body="<p>Long</p>")
    publishing.create(original, by=writer)
    copy = publishing.duplicate(original, by=alice)
    publishing.submit(copy, by=alice)
    with pytest.raises(NotAllowed, match="Two-person rule"):
        publishing.approve(copy, by=writer, revision=publishing.for_review(copy))


def test_a_copy_is_opened_from_the_list_and_needs_the_right_to_add() -> None:
    article = make_article("Derby")
    client = Client()
    client.force_login(make_editor())
    address = f"/admin/articles/article/{article.pk}/duplicate/"
    assert client.get(address).status_code == HTTPStatus.METHOD_NOT_ALLOWED
    for screen in ("/admin/articles/article/", f"/admin/articles/article/{article.pk}/change/"):
        assert f'formaction="{address}"' in client.get(screen).text
    page = client.post(address, follow=True)
    copy = Article.objects.get(title="Derby (copy)")
    assert page.redirect_chain[-1][0] == f"/admin/articles/article/{copy.pk}/change/"
    assert "This is a copy of “Derby”" in page.text
    client.force_login(make_member(Role.PUBLISHER))
    assert address not in client.get("/admin/articles/article/").text
    client.post(address)
    assert Article.objects.count() == 2
