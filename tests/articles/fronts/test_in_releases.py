"""Versions of fronts in releases: live with its articles by the clock, and gone again with its roll-back."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import caches
from django.test import Client

from articles import fronts, publishing, releases
from articles.exceptions import BelongsToRelease, FrontLive
from articles.models import Article, AuditEntry, Card, Front, FrontVersion, ProposedChange, Release
from articles.review import approve_change, comparisons, version_of_change
from tests.articles.factories import APPROVED, approve, make_article, make_editor, make_front, make_release, soon
from tests.articles.fronts.composing import client_of
from tests.articles.fronts.test_composing import live, shown

pytestmark = pytest.mark.django_db(transaction=True)

State, Status = FrontVersion.State, FrontVersion.Status


class Evening:
    """A front that readers see, and a release with an article and a draft that leads with it."""

    def __init__(self, name: str = "alice") -> None:
        self.editor: User = make_editor(name)
        self.old = make_front(Card(article=live("Old"), headline="Before"), size=1)
        self.news = make_article("News", status=APPROVED)
        self.release = make_release(self.news, by=self.editor)
        self.draft = draft_of(self.old.front, Card(article=self.news, headline="Election night"))
        self.client = client_of(self.editor)
        self.address = f"/api/v1/desk/releases/{self.release.pk}/"

    def add(self) -> None:
        answer = self.client.post(f"{self.address}fronts/", {"version": self.draft.pk})
        assert answer.status_code == 200, answer.content

    def begin(self, **ago: float) -> None:
        """Let the instant of the release be past, without a worker."""
        Release.objects.update(publish_at=soon(**ago), updated_at=soon(**ago))
        caches["responses"].clear()

    @property
    def state(self) -> str:
        address = f"/api/v1/desk/fronts/{self.draft.front_id}/versions/{self.draft.pk}/"
        return str(self.client.get(address).json()["state"])


def draft_of(front: Front, *cards: Card) -> FrontVersion:
    draft = make_front(*cards, size=1, language=front.language)
    FrontVersion.objects.filter(pk=draft.pk).update(status=Status.DRAFT, live_from=None)
    draft.refresh_from_db()
    return draft


def test_a_front_goes_live_with_its_release_by_the_clock_and_is_gone_with_its_roll_back() -> None:
    evening = Evening()
    evening.add()
    assert evening.state == State.IN_RELEASE
    evening.client.post(f"{evening.address}schedule/", {"publish_at": soon(hours=1).isoformat()})
    assert shown() == ["Before"]
    evening.begin(seconds=-1)
    # No worker has stored anything yet.
    assert evening.draft.front.versions.filter(status=Status.IN_RELEASE).exists()
    assert shown() == ["Election night"]
    found = Client().get("/api/v1/fronts/en/").json()
    assert found["blocks"][0]["cards"][0]["headline"] == "Election night"
    assert evening.state == State.LIVE
    with pytest.raises(FrontLive):
        fronts.edit_draft(evening.draft, [], base=0, by=evening.editor)
    evening.client.post(f"{evening.address}rollback/")
    evening.draft.refresh_from_db()
    evening.release.refresh_from_db()
    assert evening.release.status == Release.Status.ROLLED_BACK
    assert evening.draft.status == Status.SCHEDULED and evening.draft.live_until is not None
    assert evening.draft.live_from == evening.release.published_at
    assert shown() == ["Before"] and evening.state == State.PAST
    actions = AuditEntry.objects.of_release(evening.release).filter(action__contains="front").order_by("pk")
    assert [entry.action for entry in actions] == ["add_front", "publish_front", "roll_back_front"]


def test_the_newsroom_sees_a_front_with_what_the_release_and_updates_bring_by_then() -> None:
    evening = Evening()
    evening.add()
    evening.client.post(f"{evening.address}schedule/", {"publish_at": soon(hours=1).isoformat()})
    story = live("Before the update")
    Card.objects.filter(block__version=evening.draft).update(sublinks=[{"article": story.pk, "headline": ""}])
    publishing.edit(story, by=evening.editor, changes={"title": "After the update"})
    publishing.submit(story, by=evening.editor)
    approve(story)
    publishing.schedule_update(story, publish_at=soon(minutes=50), by=evening.editor)
    desk = Client()
    desk.force_login(evening.editor)
    preview = desk.get(f"/admin/articles/front/version/{evening.draft.pk}/preview/").text
    assert "Election night" in preview and "After the update" in preview
    editor = desk.get(f"/admin/articles/front/{evening.draft.front_id}/change/?version={evening.draft.number}").text
    assert "Election night" in editor and "front-unseen" not in editor


def test_what_came_later_stays_when_a_release_is_rolled_back() -> None:
    evening = Evening()
    evening.add()
    releases.publish_release_now(evening.release, by=evening.editor)
    assert shown() == ["Election night"]
    make_front(Card(article=evening.news, headline="Later"), Card(article=live("Other")), size=1, live_from=soon())
    releases.roll_back_release(evening.release, by=evening.editor)
    assert shown() == ["Other"], "the later version without the article that is gone"


def test_a_reopened_release_has_a_copy_of_what_was_live() -> None:
    evening = Evening()
    evening.add()
    releases.publish_release_now(evening.release, by=evening.editor)
    releases.roll_back_release(evening.release, by=evening.editor)
    releases.reopen_release(evening.release, by=evening.editor)
    copy = evening.release.front_versions.get()
    assert (copy.pk == evening.draft.pk, copy.status, copy.number) == (
        False,
        Status.IN_RELEASE,
        evening.draft.number + 1,
    )
    releases.publish_release_now(evening.release, by=evening.editor)
    assert shown() == ["Election night"]


def test_a_cancelled_or_deleted_release_lets_its_fronts_go() -> None:
    evening = Evening()
    evening.add()
    releases.cancel_release(evening.release, by=evening.editor)
    assert evening.state == State.DRAFT
    releases.reopen_release(evening.release, by=evening.editor)
    assert evening.state == State.IN_RELEASE
    releases.delete_release(evening.release, by=evening.editor)
    assert evening.state == State.DRAFT


def test_the_release_gives_its_fronts_their_time() -> None:
    evening = Evening()
    evening.add()
    evening.draft.refresh_from_db()
    by = evening.editor
    with pytest.raises(BelongsToRelease):
        fronts.publish_version(evening.draft, by=by)
    with pytest.raises(BelongsToRelease):
        fronts.schedule_version(evening.draft, live_from=soon(hours=1), by=by)
    with pytest.raises(BelongsToRelease):
        fronts.unschedule_version(evening.draft, by=by)
    other = draft_of(evening.old.front, Card(article=evening.news))
    answer = evening.client.post(f"{evening.address}fronts/", {"version": other.pk})
    assert answer.status_code == 409 and f"Version {evening.draft.number}" in answer.json()["detail"]
    moment = soon(hours=2)
    fronts.schedule_version(other, live_from=moment, by=evening.editor)
    releases.schedule_release(evening.release, publish_at=moment, by=evening.editor)
    problems = evening.client.get(f"{evening.address}preflight/").json()
    assert [(one["code"], one["front"]["id"]) for one in problems] == [("front_instant_taken", evening.draft.pk)]
    evening.begin(hours=2)
    assert evening.client.delete(f"{evening.address}fronts/{evening.draft.pk}/").status_code == 204
    assert evening.state == State.DRAFT


def test_a_release_of_a_front_alone() -> None:
    evening = Evening()
    releases.remove_member(evening.release, member=evening.release.members.get(), by=evening.editor)
    Article.objects.filter(pk=evening.news.pk).update(
        status=Article.Status.PUBLISHED, publish_at=soon(hours=-1), goes_live_at=soon(hours=-1)
    )
    evening.add()
    dry_run = evening.client.post(f"{evening.address}dry-run/").json()
    assert [effect["front"]["id"] for effect in dry_run["effects"]] == [evening.draft.pk]
    assert evening.state == State.IN_RELEASE, "all changes of the dry run were undone"
    evening.client.post(f"{evening.address}schedule/", {"publish_at": soon(hours=1).isoformat()})
    evening.begin(seconds=-1)
    assert shown() == ["Election night"]


def test_another_person_approves_a_front_before_it_is_in_a_release(settings: Any) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = True
    evening, bob = Evening(), make_editor("bob")
    answer = evening.client.post(f"{evening.address}fronts/", {"version": evening.draft.pk})
    assert answer.status_code == 202 and evening.state == State.DRAFT
    change = ProposedChange.objects.get()
    seen = comparisons(change)
    assert "Budget day" in seen[0].new
    approve_change(change.pk, version=version_of_change(seen), by=bob)
    assert evening.state == State.IN_RELEASE


@pytest.mark.thorough
def test_the_screens_add_and_remove_a_front() -> None:
    evening, browser = Evening(), Client()
    browser.force_login(evening.editor)
    editor = f"/admin/articles/front/{evening.draft.front_id}/change/?version={evening.draft.number}"
    assert "Add to release" in browser.get(editor).text
    join = f"/admin/articles/front/version/{evening.draft.pk}/release/"
    assert browser.post(join, {"release": evening.release.pk}).status_code == 302
    page = browser.get(editor).text
    assert "Remove from the release" in page and "Budget day" in page
    release = f"/admin/articles/release/{evening.release.pk}/"
    assert str(evening.draft) in browser.get(f"{release}change/").text
    assert str(evening.draft) in browser.get(f"{release}publish_release/ask/").text
    browser.post(f"{release}fronts/{evening.draft.pk}/remove/")
    assert evening.state == State.DRAFT
    browser.post(f"{release}fronts/", {"version": evening.draft.pk})
    assert evening.state == State.IN_RELEASE
    browser.post(f"/admin/articles/front/version/{evening.draft.pk}/unschedule/")
    assert evening.state == State.DRAFT
