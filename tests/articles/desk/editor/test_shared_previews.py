"""The previews of a search result and of a shared link, in the panel of the article form."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from articles.models import Article
from tests.articles.browsers import address_of, sign_in
from tests.articles.factories import make_article, make_editor
from tests.articles.image_files import make_image

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.thorough
def test_previews_follow_the_fields_and_fall_back_to_headline_and_summary(page: Page) -> None:
    alice = make_editor()
    article = make_article("Harbour bridge", summary="Ships wait.", author=alice)
    Article.objects.filter(pk=article.pk).update(cover_mode="one", cover=[str(make_image(alice).pk)])
    sign_in(page)
    page.goto(address_of(article))
    page.get_by_role("tab", name="Cover & search").click()
    search, social = (page.get_by_role("region", name=name) for name in ("In search results", "In shared links"))
    expect(search.locator("strong")).to_have_text("Harbour bridge")
    expect(social).to_contain_text("Ships wait.")
    expect(social.locator("img")).to_be_visible()
    page.get_by_label("Search title").fill("桥" * 31)
    page.get_by_label("Social title").fill("Shared")
    page.get_by_label("Social summary").fill("Short")
    expect(search.locator("strong")).to_have_text("桥" * 31)
    expect(search).to_contain_text("about 60 characters")
    expect(social.locator("strong")).to_have_text("Shared")
    expect(social).to_contain_text("Short")
