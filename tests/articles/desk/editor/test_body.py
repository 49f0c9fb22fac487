"""The rich-text editor in a browser: the typed text is stored and shown to readers."""

from __future__ import annotations

import pytest
from django.test import Client
from playwright.sync_api import Locator, Page, expect

from articles.models import Article
from tests.articles.browsers import press_in_body, sign_in
from tests.articles.desk.articles.test_admin import form_address, logged_in, press
from tests.articles.factories import make_article, make_editor, soon

pytestmark = pytest.mark.django_db(transaction=True)

IMPORTED = (
    '<h1>Old</h1>\n\n<p lang="de">Ein <abbr title="Zweites">ZDF</abbr></p>\n\n<dl><dt>Tide</dt><dd>5.07 m</dd></dl>'
    '<video src="/m/a.mp4" controls></video>'
    "<figure><blockquote>Said</blockquote><figcaption>Who</figcaption></figure><p>End</p>"
)


def open_form(page: Page, article: Article | None = None) -> Locator:
    """The editor of the body, ready to be typed in."""
    make_editor()
    sign_in(page)
    page.goto(form_address(article) if article else "/admin/articles/article/add/")
    expect(page.get_by_role("toolbar", name="Formatting")).to_be_visible()
    return page.get_by_role("textbox", name="Body")


def paste(body: Locator, kind: str, text: str) -> None:
    body.evaluate(
        """(element, [kind, text]) => {
            const data = new DataTransfer();
            data.setData(kind, text);
            const options = { clipboardData: data, bubbles: true, cancelable: true };
            element.dispatchEvent(new ClipboardEvent("paste", options));
        }""",
        [kind, text],
    )


def save(page: Page) -> Article:
    with page.expect_navigation():
        page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.").first).to_be_visible()
    return Article.objects.get()


def test_an_article_is_written_by_keyboard_alone(page: Page) -> None:
    body = open_form(page)
    page.get_by_label("Headline").fill("Bridge")
    body.press("Control+b")
    page.keyboard.type("Bold")
    page.keyboard.press("Control+b")
    page.keyboard.type(" beginning")
    page.keyboard.press("Enter")
    page.keyboard.type("A chapter")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Paragraph", exact=True)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="Heading", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Heading", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(body).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Table", exact=True).press("Enter")
    for cell in ("Tide", "Time", "Place", "5.07 m"):
        page.keyboard.type(cell)
        page.keyboard.press("Tab")
    stored = save(page).body
    assert stored.startswith("<p><strong>Bold</strong> beginning</p><h2>A chapter</h2><table>")
    assert "<p>Place</p></th></tr><tr><td" in stored
    assert "<p>5.07 m</p></td>" in stored


def test_what_is_pasted_is_cleaned_and_a_player_becomes_its_address(page: Page) -> None:
    body = open_form(page)
    page.get_by_label("Headline").fill("Bridge")
    odd = '<b>Fat<p onclick="x()">Text<script>window.ran = 1</script><img src=x onerror="window.ran = 1"></b><ul>Loose'
    paste(body, "text/html", f'{odd}<video src="x" onerror="window.ran = 1"></video>')
    expect(body).to_contain_text("Loose")
    press_in_body(page, "Control+End")
    page.keyboard.press("Enter")
    paste(
        body,
        "text/plain",
        '<iframe width="5" src="https://www.youtube.com/embed/aqz-KE-bpKQ" allowfullscreen></iframe>',
    )
    expect(body.locator(".player")).to_have_attribute("data-player", "Readers see a player: YouTube")
    article = save(page)
    assert page.evaluate("window.ran") is None
    assert "Fat" in article.body
    assert "Loose" in article.body
    assert not [bad for bad in ("<script", "onclick", "onerror", "<iframe") if bad in article.body]
    Article.objects.update(status=Article.Status.PUBLISHED, publish_at=soon(hours=-1))
    page.route("https://www.youtube-nocookie.com/**", lambda route: route.abort())
    page.goto(article.get_absolute_url())
    page.get_by_role("button", name="Load the video from YouTube").click()
    expect(page.locator("iframe")).to_have_attribute("src", "https://www.youtube-nocookie.com/embed/aqz-KE-bpKQ")


def test_what_the_editor_has_no_button_for_survives_it(page: Page) -> None:
    body = open_form(page, make_article(body=IMPORTED))
    body.get_by_text("End").click()
    page.keyboard.press("End")
    page.keyboard.type("ing")
    assert save(page).body == (
        '<h2>Old</h2><p lang="de">Ein <abbr title="Zweites">ZDF</abbr></p><dl><dt>Tide</dt><dd>5.07 m</dd></dl>'
        '<video src="/m/a.mp4" controls=""></video>'
        "<figure><blockquote>Said</blockquote><figcaption>Who</figcaption></figure><p>Ending</p>"
    )


@pytest.mark.cases(1)
@pytest.mark.parametrize("stored", ["Plain\n\ntext & more", "<p>One</p>\n\n<p>Two</p>", IMPORTED])
def test_opening_and_saving_changes_no_text(stored: str) -> None:
    client, article = logged_in(make_editor()), make_article(body=stored)
    press(client, article, "_save")
    assert Article.objects.values_list("body", "revision").get() == (stored, 1)


def test_what_cannot_stay_is_taken_out_and_named(client: Client) -> None:
    client.force_login(make_editor())
    page = press(client, make_article(), "_save", body="<p>Kept<object data=x></object></p>")
    assert "Removed from the text" in page.text
    assert "&lt;object&gt;" in page.text
    assert Article.objects.get().body == "<p>Kept</p>"


def test_a_difference_shows_words_not_mark_up(client: Client) -> None:
    client.force_login(make_editor())
    article = make_article(body="One\n\nTwo old words")
    press(client, article, "_save", body="<p>One</p><p>Two new words</p>")
    page = client.get(f"/admin/articles/article/{article.pk}/revisions/2/")
    pieces = [(str(piece.change), piece.text) for piece in page.context["fields"][0].pieces]
    assert pieces == [("kept", "One\n\nTwo "), ("removed", "old"), ("added", "new"), ("kept", " words")]


@pytest.mark.thorough
def test_words_are_counted_and_lengths_hinted_at_while_writing(page: Page) -> None:
    body = open_form(page)
    counted = page.locator("#id_body_words")
    body.press_sequentially("Tide at 5.07 m, 港口")
    expect(counted).to_have_text("Words: 6 · reading time: about 1 min")
    headline, hint = page.get_by_label("Headline"), page.locator("#id_title_length")
    expect(hint).to_be_hidden()
    headline.fill("Harbour bridge reopens")
    expect(hint).to_have_text("22 of about 70 characters")
    headline.fill("港" * 31)
    expect(hint).to_have_text("31 of about 30 characters: long: lists and search engines may cut it")
    expect(page.get_by_role("status").filter(has_text="long: lists")).to_have_count(1)
    headline.fill("x" * 200)
    expect(hint).to_contain_text("maximum length reached")


@pytest.mark.thorough
def test_the_video_button_puts_in_an_address_that_readers_see_as_a_player(page: Page) -> None:
    body = open_form(page)
    page.get_by_label("Headline").fill("Bridge")
    body.press_sequentially("Before")
    for address in ("https://www.youtube.com/watch?v=aqz-KE-bpKQ", "vimeo.com/76979871"):
        page.get_by_role("button", name="Embed video").click()
        page.get_by_label("URL of the video page").fill(address)
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.type("After")
    stored = save(page).body
    assert stored == (
        '<p>Before</p><p><a href="https://www.youtube.com/watch?v=aqz-KE-bpKQ" rel="noopener noreferrer">'
        "https://www.youtube.com/watch?v=aqz-KE-bpKQ</a></p>"
        '<p><a href="https://vimeo.com/76979871" rel="noopener noreferrer">https://vimeo.com/76979871</a></p>'
        "<p>After</p>"
    )
    page.get_by_role("button", name="Preview", exact=True).click()
    players = page.frame_locator("#preview iframe").locator("figure.embed button")
    expect(players.first).to_have_attribute("data-player", "https://www.youtube-nocookie.com/embed/aqz-KE-bpKQ")
    expect(players.last).to_have_attribute("data-player", "https://player.vimeo.com/video/76979871")
    expect(players.first).to_be_hidden()


@pytest.mark.thorough
def test_a_dialog_of_the_editor_opens_in_the_middle_and_cancelling_it_changes_nothing(page: Page) -> None:
    body = open_form(page)
    body.press_sequentially("Before")
    page.get_by_role("button", name="Embed video").click()
    dialog = page.get_by_role("dialog")
    box, view = dialog.bounding_box(), page.viewport_size
    assert box is not None and view is not None
    assert abs(box["x"] + box["width"] / 2 - view["width"] / 2) < 20
    assert abs(box["y"] + box["height"] / 2 - view["height"] / 2) < 20
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    expect(body).to_be_focused()
    assert page.locator("#id_body").input_value() == "<p>Before</p>"


@pytest.mark.thorough
def test_below_a_table_at_the_end_there_is_a_paragraph_that_is_stored_only_when_used(page: Page) -> None:
    body = open_form(page)
    page.get_by_label("Headline").fill("Bridge")
    body.press_sequentially("Before")
    page.get_by_role("button", name="Table", exact=True).click()
    page.keyboard.type("Cell")
    assert save(page).body.endswith("</table>")
    press_in_body(page, "Control+End")
    page.keyboard.type("After")
    assert save(page).body.endswith("</table><p>After</p>")


@pytest.mark.thorough
def test_looking_around_in_a_text_that_ends_with_a_table_changes_nothing(page: Page) -> None:
    stored = "<p>Before</p><table><tbody><tr><td><p>Cell</p></td></tr></tbody></table>"
    body = open_form(page, make_article(body=stored))
    body.get_by_text("Cell").click()
    press_in_body(page, "Control+End")
    expect(body.locator("p").last).to_have_text("")
    assert save(page).body == stored
    assert Article.objects.get().revision == 1
