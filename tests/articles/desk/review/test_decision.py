"""The review page: the diff, the findings and the decision, one text after another."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect

from articles import publishing
from articles.models import Article, SensitiveWord, SoftLock, Update
from articles.publishing.rescan import review_again
from articles.publishing.revisions import last_approved
from articles.review import StageChoice, choose_stages
from articles.roles import Role
from tests.articles.factories import (
    approve,
    make_article,
    make_channel,
    make_editor,
    make_member,
    make_user,
    soon,
)
from tests.harness import eventually

pytestmark = pytest.mark.django_db

Status = Article.Status
QUEUE = "/admin/articles/queuedarticle/"


@pytest.fixture
def nadia() -> User:
    return make_member(Role.REVIEWER, "nadia")


@pytest.fixture
def desk(client: Client, nadia: User) -> Client:
    client.force_login(nadia)
    return client


def screen(article: Article) -> str:
    return f"{QUEUE}{article.pk}/change/"


def waiting(title: str = "Bridge closes", **values: Any) -> Article:
    return make_article(title, status=Status.MANUAL_REVIEW, **values)


def decide(desk: Client, article: Article, button: str, **more: Any) -> Any:
    values = {"revision": article.revisions.latest("number").number, button: "1", **more}
    return desk.post(screen(article), values, follow=True)


def published(body: str = "<p>It stands.</p>") -> Article:
    return make_article("Bridge opens", body=body, status=Status.PUBLISHED, publish_at=soon(hours=-1))


def test_a_text_that_is_new_is_shown_whole_with_the_words_that_were_found(desk: Client) -> None:
    """R5.1 R5.3"""
    SensitiveWord.objects.create(text="casino", level=SensitiveWord.Level.REVIEW)
    article = make_article(body="<p>Not <b>a</b> c-a-s-i-n-o.</p><script>alert(1)</script>")
    publishing.submit(article, by=make_editor())
    page = desk.get(screen(article)).text
    assert '<strong class="text-important">casino</strong> · text, paragraph 1' in page
    assert "<p>Not <b>a</b> <mark>c-a-s-i-n-o</mark>.</p>" in page
    assert "alert(1)" not in page


@pytest.mark.parametrize(("hours", "sentence"), [(-1, "Goes live as soon as it is approved"), (1, "Goes live on")])
def test_the_page_says_when_an_approved_text_would_go_live(desk: Client, hours: float, sentence: str) -> None:
    moment = soon(hours=hours)
    page = desk.get(screen(waiting(publish_at=moment))).text
    assert sentence in page and f"{moment:%H:%M:%S} UTC" in page


@pytest.mark.parametrize("is_update", [False, True])
def test_approving_a_text_whose_time_has_passed_asks_first(desk: Client, is_update: bool) -> None:  # noqa: FBT001
    """Whether it passed before the page was shown or since."""
    if is_update:
        article, editor = published(), make_editor()
        publishing.edit(article, by=editor, changes={"title": "Bridge closes"})
        publishing.schedule_update(article, publish_at=soon(minutes=-2), by=editor)
        publishing.submit(article, by=editor)
    else:
        article = waiting(publish_at=soon(minutes=-2))
    asked = decide(desk, article, "approve")
    assert "is past" in asked.text and "immediately" in asked.text
    assert (Update.objects.get().status if is_update else Article.objects.get().status) == Status.MANUAL_REVIEW
    sent = dict(asked.context["sent"])
    before = soon()
    answer = desk.post(screen(article), {**sent, asked.context["button"]: asked.context["confirmed"]}, follow=True)
    if is_update:
        assert Update.objects.get().approved is not None
    else:
        stored = Article.objects.get()
        assert stored.goes_live_at is not None and before <= stored.goes_live_at <= soon()
        assert f"Went live on {stored.goes_live_at:%-d %b %Y, %H:%M:%S}" in answer.text


def test_a_text_whose_time_is_to_come_is_approved_unasked(desk: Client) -> None:
    article = waiting(publish_at=soon(hours=1))
    decide(desk, article, "approve")
    assert Article.objects.get().status == Status.MANUALLY_APPROVED


def test_a_newer_text_is_shown_beside_the_one_that_was_approved(desk: Client) -> None:
    """R5.3"""
    editor, article = make_editor(), published()
    publishing.edit(article, by=editor, changes={"body": "<p>It <i>falls</i>.</p>"}, correction="It does not stand.")
    publishing.submit(article, by=editor)
    page = desk.get(screen(article)).text
    assert "revision 1 → 2" in page
    assert "It <del>stands</del>.</div>" in page.replace("\n", "")
    assert "It <ins><em>falls</em></ins>.</div>" in page
    assert "<ins>It does not stand.</ins>" in page
    assert "It <del>stands</del><ins><em>falls</em></ins>." in page, "and in one, for narrow screens"


def test_the_last_approval_is_found_wherever_the_text_is(desk: Client) -> None:
    editor, article = make_editor(), waiting()
    assert last_approved(article) is None
    publishing.edit(article, by=editor, changes={"title": "2"})
    assert last_approved(article) is None
    approve(article)
    publishing.edit(article, by=editor, changes={"title": "3"})
    publishing.submit(article, by=editor)
    assert numbers(article) == (2, 3)
    publishing.reject(article, by=make_editor("bob"), reason="No.")
    assert numbers(article) == (2, 3)
    publishing.schedule_update(article, publish_at=soon(hours=1), by=editor)
    publishing.submit(article, by=editor)
    approve(article)
    publishing.edit(article, by=editor, changes={"title": "4"})
    assert numbers(article) == (4, 5), "with another time the text is another revision"


def numbers(article: Article) -> tuple[int, int]:
    """Of the text approved last, and of the newest."""
    article.refresh_from_db()
    approved = last_approved(article)
    assert approved is not None
    return approved.number, article.revisions.latest("number").number


def test_what_new_words_pull_back_is_compared_with_what_was_approved(desk: Client) -> None:
    editor, article = make_editor(), waiting("Casino opens")
    approve(article)
    SensitiveWord.objects.create(text="casino", level=SensitiveWord.Level.REVIEW)
    review_again()
    assert "the sensitive words have changed" in desk.get(screen(article)).text
    publishing.edit(article, by=editor, changes={"title": "Casino closes"})
    page = desk.get(screen(article)).text
    assert "<mark>Casino</mark> <del>opens</del><ins>closes</ins>" in page


def test_after_a_decision_comes_the_next_that_is_free_and_not_ones_own(desk: Client, nadia: User) -> None:
    """R5.3"""
    own, taken = waiting("Own", author=nadia), waiting("Taken")
    publishing.soft_lock(taken, by=make_editor())
    first, second, third = (waiting(title) for title in ("First", "Second", "Third"))
    page = decide(desk, second, "approve")
    assert page.redirect_chain == [(screen(third), 302)]
    assert "Second: Approved and not scheduled." in page.text
    page = decide(desk, third, "reject", reason="No second source")
    assert page.redirect_chain == [(screen(first), 302)]
    page = decide(desk, first, "approve")
    assert page.redirect_chain == [(QUEUE, 302)]
    assert "No more articles to review." in page.text
    found = [Article.objects.get(pk=article.pk) for article in (first, second, third, own, taken)]
    assert [article.status for article in found] == [4, 4, 2, 3, 3]
    assert found[2].status_reason == "No second source"


def held() -> list[tuple[int, str, bool]]:
    """The claimed articles, by whom, and whether until the page is left."""
    return list(SoftLock.objects.values_list("article", "user__username", "until_left"))


def leave(desk: Client, article: Article, opened: str) -> None:
    """What the page's script sends when it is left."""
    assert desk.post(screen(article), {"leave": opened}).status_code == 204


def opened(page: Any) -> str:
    """When the page claimed its article, as its script reads it."""
    return str(re.findall(r'data-opened="([^"]+)"', page.text)[0])


def test_opening_a_text_claims_it_until_the_page_is_left(desk: Client, nadia: User) -> None:
    first, second = waiting("First"), waiting("Second")
    desk.get(screen(first), headers={"Sec-Purpose": "prefetch"})
    assert held() == []
    page = desk.get(screen(first))
    assert "Claimed by you until you leave this page." in page.text
    assert held() == [(first.pk, "nadia", True)]
    again = desk.get(screen(first))
    leave(desk, first, opened(page))
    assert held() == [(first.pk, "nadia", True)], "it is still open in another window"
    other = Client()
    other.force_login(make_editor("alice"))
    assert "nadia has been reviewing this article" in other.get(screen(first)).text
    leave(other, first, opened(again))
    leave(desk, first, "whenever")
    assert held() == [(first.pk, "nadia", True)]
    leave(desk, first, opened(again))
    assert held() == []
    desk.get(screen(first))
    page = decide(desk, first, "skip")
    assert page.redirect_chain == [(screen(second), 302)]
    assert held() == [(second.pk, "nadia", True)]


def test_a_decision_without_its_button_is_refused_and_keeps_the_feedback(desk: Client) -> None:
    article = waiting()
    sent = {"revision": article.revisions.latest("number").number, "reason": "Name the source"}
    page = desk.post(screen(article), sent)
    assert "This form is incomplete." in page.text
    assert "Name the source" in page.text


def test_a_claim_of_its_own_outlasts_the_page(desk: Client) -> None:
    article = waiting()
    page = desk.get(screen(article))
    assert "Claimed by you since" in decide(desk, article, "claim").text
    leave(desk, article, opened(page))
    assert held() == [(article.pk, "nadia", False)]
    desk.get(screen(article))
    assert held() == [(article.pk, "nadia", False)]
    assert decide(desk, article, "release").redirect_chain == [(QUEUE, 302)]
    assert held() == []


def test_the_page_approves_at_the_stage_that_it_showed_and_says_where_the_text_waits(desk: Client) -> None:
    choose_stages([StageChoice("first"), StageChoice("second")], by=make_user("root", is_superuser=True))
    article, other = waiting(), waiting("Another")
    page = desk.get(screen(article))
    assert "First review · 1 of 2" in page.text
    assert "1 of 2" in page.text
    done = decide(desk, article, "approve", stage="first")
    assert done.redirect_chain == [(screen(other), 302)]
    assert "Bridge closes: It waits at “Second review”, stage 2 of 2." in done.text
    page = desk.get(screen(article))
    assert "a different person decides at “Second review”" in page.text
    assert "First review: approved by nadia" in page.text
    assert 'name="approve"' not in page.text
    root = Client()
    root.force_login(User.objects.get(username="root"))
    page = decide(root, article, "approve", stage="first")
    assert "it waits at “Second review” now" in page.text
    assert Article.objects.get(pk=article.pk).status == Status.MANUAL_REVIEW
    decide(root, article, "approve", stage="second")
    assert Article.objects.get(pk=article.pk).status == Status.MANUALLY_APPROVED


def test_what_another_reviewer_has_is_read_but_not_decided(desk: Client) -> None:
    article = waiting()
    publishing.soft_lock(article, by=make_editor("alice"))
    page = desk.get(screen(article)).text
    assert "alice has been reviewing this article" in page
    assert 'name="approve"' not in page
    assert "alice is reviewing this article." in decide(desk, article, "approve").text
    assert 'name="approve"' in decide(desk, article, "release").text


def test_no_one_decides_about_his_own_text_here(desk: Client, nadia: User) -> None:
    article = waiting(author=nadia)
    page = desk.get(screen(article)).text
    assert "another user must review it" in page
    assert not any(f'name="{button}"' in page for button in ("approve", "reject", "claim"))
    assert "another user must review it" in decide(desk, article, "approve").text


@pytest.mark.parametrize("button", ["approve", "reject"])
def test_a_text_that_changed_a_second_ago_is_read_again_and_the_reason_stays(desk: Client, button: str) -> None:
    article = waiting()
    read = article.revisions.latest("number").number
    publishing.edit(article, by=make_editor(), changes={"title": "Bridge falls"})
    page = decide(desk, article, button, revision=read, reason="Too late").text
    assert "This has been changed since you read it: headline. Read revision 2 before you decide." in page
    assert "Bridge falls" in page
    assert "Too late</textarea>" in page
    assert Article.objects.get().status == Status.MANUAL_REVIEW


def test_a_refusal_without_a_reason_asks_for_it(desk: Client) -> None:
    page = decide(desk, waiting(), "reject", reason=" ")
    assert "Enter feedback to the author: why the article is rejected." in page.text
    assert "Feedback to author, if you reject it" in page.text


def test_what_user_else_has_decided_is_gone_from_here(desk: Client) -> None:
    article = waiting()
    approve(article)
    for page in (desk.get(screen(article), follow=True), decide(desk, article, "reject", reason="No.")):
        assert page.redirect_chain == [(QUEUE, 302)]
        assert "no longer needs review" in page.text
    assert desk.get(f"{QUEUE}99999999999999999999/change/").status_code == 302
    assert Article.objects.get().status == Status.MANUALLY_APPROVED


def test_text_written_behind_our_back_can_be_sent_back_but_not_approved(desk: Client) -> None:
    article = waiting()
    Article.objects.update(body="<p>Written by a program.</p>")
    page = desk.get(screen(article))
    assert "Written by a program." in page.text
    number = page.context["shown"].number
    assert "The writer of this text is unknown" in decide(desk, article, "approve", revision=number).text
    assert Article.objects.get().status == Status.MANUAL_REVIEW
    decide(desk, article, "reject", revision=number, reason="Who wrote that?")
    assert Article.objects.get().status == Status.REJECTED


def test_only_reviewers_read_here(client: Client) -> None:
    article = waiting()
    client.force_login(make_user("carol", "view_article", "change_article"))
    assert client.get(screen(article)).status_code == 403
    assert client.post(screen(article), {"revision": 1, "approve": "1"}).status_code == 403


def test_the_longest_waiting_comes_first_whichever_text_of_an_article_it_is(desk: Client) -> None:
    editor, old = make_editor(), published()
    new = waiting("New")
    publishing.edit(old, by=editor, changes={"title": "Bridge falls"})
    publishing.submit(old, by=editor)
    Article.objects.filter(pk=new.pk).update(updated_at=soon() - timedelta(hours=1))
    assert [row.pk for row in desk.get(QUEUE).context["cl"].queryset] == [new.pk, old.pk]
    Article.objects.filter(pk=new.pk).update(updated_at=soon() + timedelta(hours=1))
    assert [row.pk for row in desk.get(QUEUE).context["cl"].queryset] == [old.pk, new.pk]


def test_a_newer_text_waits_under_its_own_headline_and_is_found_by_it_and_by_the_old_one(desk: Client) -> None:
    editor, article = make_editor(), published()
    waiting("Another")
    publishing.edit(article, by=editor, changes={"title": "Bridge falls"})
    publishing.submit(article, by=editor)
    for word in ("falls", "opens"):
        page = desk.get(QUEUE, {"q": word})
        assert [row.pk for row in page.context["cl"].result_list] == [article.pk]
        assert "Bridge falls" in page.text


@pytest.mark.django_db(transaction=True)
def test_a_reviewer_on_a_phone_claims_reads_and_decides_by_keyboard(page: Page) -> None:
    """R5.3"""
    editor = make_editor()
    article = make_article("Bridge opens", status=Status.PUBLISHED, publish_at=soon(hours=-1), channel=make_channel())
    publishing.edit(article, by=editor, changes={"title": "Bridge closes"})
    publishing.submit(article, by=editor)
    make_member(Role.REVIEWER, "nadia")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"/admin/login/?next={screen(article)}")
    page.get_by_label("Username").fill("nadia")
    page.get_by_label("Password").fill("secret")
    page.keyboard.press("Enter")
    expect(page.locator(".diff-inline ins")).to_have_text("closes")
    expect(page.locator(".diff-sides ins")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert held() == [(article.pk, "nadia", True)]
    page.goto(QUEUE)
    eventually(lambda: held() == [])
    page.goto(screen(article))
    page.mouse.wheel(0, 2000)
    expect(page.get_by_role("button", name="Approve")).to_be_in_viewport()
    page.get_by_role("button", name="Keep claimed").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Claimed by you since")).to_be_visible()
    page.get_by_label("Feedback to author, if you reject it").focus()
    page.keyboard.type("The bridge is open.")
    for _button in range(2):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No more articles to review.")).to_be_visible()
    article.refresh_from_db()
    assert article.update.status_reason == "The bridge is open."
