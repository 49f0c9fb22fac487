"""Approving in a real browser on a phone: an override, the review policy, and a bulk action."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from articles import publishing
from articles.models import Article, AuditEntry, ReviewPolicy
from articles.roles import Role
from tests.articles.factories import make_article, make_member, make_user, soon
from tests.screens.test_accessibility import let_in

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status

CUT_TEXTS = """
    [...document.querySelectorAll("form *")]
        .filter(e => e.clientWidth > 1)  // not those for screen readers alone
        .filter(e => e.scrollWidth > e.clientWidth && getComputedStyle(e).overflow == "hidden")
        .map(e => e.textContent.trim())
"""


@pytest.fixture
def phone(page: Page) -> Page:
    page.set_viewport_size({"width": 390, "height": 844})
    return page


def open_as(page: Page, user: User, address: str) -> None:
    let_in(page.context, user)
    page.goto(address)


def nothing_is_cut(page: Page) -> bool:
    fits = page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    return bool(fits) and page.evaluate(CUT_TEXTS) == []


def handed_in(title: str, by: User, **values: Any) -> Article:
    article = make_article(title, author=by, **values)
    publishing.submit(article, by=by)
    return article


@pytest.mark.thorough
def test_an_administrator_overrides_on_purpose_only_and_says_why(phone: Page) -> None:
    root = make_user("root", is_superuser=True)
    article = handed_in("Bridge closes", root)
    open_as(phone, root, reverse("admin:articles_queuedarticle_change", args=[article.pk]))
    override = phone.get_by_role("button", name="Approve as administrator")
    expect(phone.get_by_text("another user must review it")).to_be_visible()
    expect(phone.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
    expect(override).to_be_hidden()

    phone.get_by_text("Override as administrator").click()
    override.click()
    expect(phone.get_by_text("Say why it is approved although the rule forbids it.")).to_be_visible()
    expect(phone.get_by_text("Confirm the override.")).to_be_visible()
    assert nothing_is_cut(phone)
    assert Article.objects.get().status == Status.MANUAL_REVIEW

    phone.get_by_label("Reason for the override").fill("Alone at night.")
    phone.get_by_label("I know that no other user has approved this text.").check()
    override.click()
    expect(phone.get_by_text("Bridge closes: Approved and not scheduled")).to_be_visible()
    assert Article.objects.get().status == Status.MANUALLY_APPROVED
    assert AuditEntry.objects.of(article).latest("id").details["override"] == "Alone at night."
    phone.goto(reverse("admin:articles_auditentry_changelist"))
    expect(phone.get_by_text("Alone at night.").first).to_be_visible()


@pytest.mark.thorough
def test_the_chief_reads_whole_choices_and_the_words_say_what_was_chosen(phone: Page) -> None:
    chief = make_member(Role.CHIEF)
    open_as(phone, chief, reverse("admin:articles_reviewpolicy_changelist"))
    expect(phone.get_by_label("A reviewer approves every text")).to_be_checked()
    assert nothing_is_cut(phone)

    chosen = str(ReviewPolicy.Machine.TEXTS.label)
    phone.get_by_label(chosen).check()
    phone.get_by_role("button", name="Save", exact=True).click()
    expect(phone.get_by_text(f"Active from now on: {chosen}.")).to_be_visible()
    expect(phone.get_by_label(chosen)).to_be_checked()
    assert ReviewPolicy.chosen() == ReviewPolicy.Machine.TEXTS
    phone.goto(reverse("admin:articles_sensitiveword_changelist"))
    expect(phone.get_by_text(f"No automatic findings: {chosen}.")).to_be_visible()
    phone.get_by_role("link", name="Review policy").last.click()
    expect(phone.get_by_label(chosen)).to_be_checked()


def test_many_are_approved_by_the_revisions_that_were_on_the_screen(page: Page) -> None:
    author, reviewer = make_member(Role.AUTHOR), make_member(Role.REVIEWER)
    stays, changes = handed_in("Bridge closes", author), handed_in("Tram stops", author, publish_at=soon(hours=3))
    open_as(page, reviewer, reverse("admin:articles_article_changelist"))
    page.locator("#action-toggle").check()
    page.locator("select[name=action]").select_option("approve")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_text("2 articles selected:")).to_be_visible()
    shown = page.get_by_role("listitem").filter(has=page.get_by_role("link", name="Tram stops"))
    expect(shown).to_contain_text("goes live on")
    expect(shown).to_contain_text(f"revision {changes.revisions.latest('number').number}")
    page.set_viewport_size({"width": 390, "height": 844})
    assert nothing_is_cut(page)

    publishing.edit(changes, by=author, changes={"title": "Tram falls"})
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("1 article updated · 1 skipped").first).to_be_visible()
    expect(page.get_by_text("This has been changed since you read it: headline.")).to_be_visible()
    found = {article.pk: article.status for article in Article.objects.all()}
    assert found == {stays.pk: Status.MANUALLY_APPROVED, changes.pk: Status.MANUAL_REVIEW}
