"""What writers put into a text: by "/", beside a selection, by dropping and by pasting, in a real browser."""

from __future__ import annotations

import base64

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Locator, Page, Position, Request, expect

from articles import images
from articles.exceptions import DecodingBusy
from articles.models import Article, Autosave, Image
from tests.articles.desk.editor.test_body import open_form, paste, save
from tests.articles.image_files import image_bytes, sent
from tests.harness import eventually

pytestmark = pytest.mark.django_db(transaction=True)


def listed(level: int, text: str) -> str:
    """An item of a list as Word puts it on the clipboard."""
    mark = "<span style='mso-list:Ignore'>·<span>&nbsp;</span></span>"
    return f"<p class=MsoListParagraph style='mso-list:l0 level{level} lfo1'>{mark}{text}</p>\n"


WORD = (
    '<html xmlns:o="urn:schemas-microsoft-com:office:office"><head><style>p.MsoNormal {color: red}</style></head><body>'
    "<!--StartFragment--><p class=MsoTitle>Budget</p><h2 style='mso-x:1'>Part <b>one</b></h2>"
    f"{listed(1, 'First')}{listed(2, 'Deeper')}{listed(1, 'Second')}"
    "<p class=MsoNormal><span lang=EN-GB style='font-size:11.0pt'>Text with <i>stress</i><o:p></o:p></span></p>"
    '<p class=MsoNormal><o:p>&nbsp;</o:p></p><p class=MsoNormal><img src="file:///C:/a.png">End</p>'
    "<!--EndFragment--></body></html>"
)

GIVE_FILE = """(element, [kind, name, data, type]) => {
    const bytes = Uint8Array.from(atob(data), letter => letter.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], name, { type }));
    const box = element.getBoundingClientRect();
    const options = { bubbles: true, cancelable: true, clientX: box.left + 5, clientY: box.top + 5 };
    const event = kind === "paste" ? new ClipboardEvent(kind, { ...options, clipboardData: transfer })
        : new DragEvent(kind, { ...options, dataTransfer: transfer });
    return element.dispatchEvent(event);
}"""


WORD_AT: Position = {"x": 20, "y": 12}
"""Where the first word of a paragraph is."""


def describe(page: Page, alt: str) -> None:
    """Answer the question for the alt text of an uploaded image."""
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Alt text").fill(alt)
    dialog.get_by_role("button", name="Insert").click()
    expect(dialog).to_have_count(0)


def give(body: Locator, kind: str, name: str = "ship.jpg", mime_type: str = "image/jpeg") -> bool:
    """Paste or drop an image file; returns whether the browser would open it."""
    return bool(body.evaluate(GIVE_FILE, [kind, name, base64.b64encode(image_bytes()).decode(), mime_type]))


@pytest.mark.thorough
def test_a_slash_inserts_by_keyboard_and_only_in_an_empty_paragraph(page: Page) -> None:
    body = open_form(page)
    page.get_by_label("Headline").fill("Bridge")
    body.press_sequentially("and/or")
    menu = page.get_by_role("listbox", name="Insert")
    expect(menu).to_be_hidden()
    page.keyboard.press("Enter")
    page.keyboard.type("/")
    expect(menu.get_by_role("option")).to_have_count(9)
    page.keyboard.press("ArrowDown")
    expect(menu.get_by_role("option", name="Table")).to_have_attribute("aria-selected", "true")
    page.keyboard.type("quo")
    expect(menu.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    page.keyboard.type("Said")
    expect(menu).to_be_hidden()
    assert save(page).body == "<p>and/or</p><blockquote><p>Said</p></blockquote>"


@pytest.mark.thorough
def test_escape_leaves_the_slash_as_text(page: Page) -> None:
    body = open_form(page)
    page.get_by_label("Headline").fill("Bridge")
    body.press_sequentially("/")
    expect(page.get_by_role("listbox", name="Insert")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.type("tmp")
    expect(page.get_by_role("listbox", name="Insert")).to_be_hidden()
    expect(body).to_be_focused()
    assert save(page).body == "<p>/tmp</p>"


@pytest.mark.thorough
def test_selected_text_is_formatted_and_linked_beside_it(page: Page) -> None:
    body = open_form(page)
    page.get_by_label("Headline").fill("Bridge")
    body.press_sequentially("Harbour")
    body.get_by_text("Harbour").dblclick(position=WORD_AT)
    bubble = page.locator(".bubble")
    expect(bubble).to_be_visible()
    bubble.locator("[title=Bold]").click()
    bubble.locator("[title=Link]").click()
    dialog = page.get_by_role("dialog", name="Link")
    dialog.get_by_label("Article or address").fill("example.org/port")
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    expect(body).to_be_focused()
    expect(body.locator("a")).to_have_attribute("href", "https://example.org/port")
    body.get_by_text("Harbour").dblclick(position=WORD_AT)
    page.keyboard.press("Control+k")
    expect(dialog.get_by_label("Article or address")).to_have_value("https://example.org/port")
    page.keyboard.press("Escape")
    expect(body).to_be_focused()
    page.keyboard.press("Control+k")
    dialog.get_by_role("button", name="Remove link").click()
    assert save(page).body == "<p><strong>Harbour</strong></p>"


def test_an_image_file_is_uploaded_into_the_text(page: Page) -> None:
    """Here it is pasted; the next test drops some."""
    body = open_form(page)
    page.get_by_label("Headline").fill("Ships")
    body.press_sequentially("Before")
    give(body, "paste")
    describe(page, "A ship")
    expect(body.get_by_alt_text("A ship")).to_be_visible()
    stored, image = save(page).body, Image.objects.get()
    assert image.alt == "A ship"
    assert "<p>Before</p>" in stored
    assert f'<figure><img src="{image.in_texts}" alt="A ship"></figure>' in stored


@pytest.mark.thorough
def test_many_images_at_once_are_uploaded_in_turn_and_again_if_the_server_is_busy(page: Page) -> None:
    body = open_form(page)
    data = image_bytes()
    images.upload(sent(data), by=User.objects.get(), alt="A ship")  # so that none is asked for
    page.get_by_label("Headline").fill("Ships")
    running: list[str] = []
    most: list[int] = []

    def begin(request: Request) -> None:
        if "/upload/" in request.url:
            running.append(request.url)
            most.append(len(running))

    def end(request: Request) -> None:
        if "/upload/" in request.url:
            running.remove(request.url)

    page.on("request", begin)
    page.on("requestfinished", end)
    busy = {"status": 503, "headers": {"Retry-After": "1"}, "json": {"error": str(DecodingBusy())}}
    page.route("**/upload/", lambda route: route.fulfill(**busy), times=1)
    for _number in range(3):
        body.evaluate(GIVE_FILE, ["drop", "ship.jpg", base64.b64encode(data).decode(), "image/jpeg"])
    expect(body.locator("figure img")).to_have_count(3)
    expect(page.get_by_role("alert")).to_have_count(0)
    assert most == [1] * 4


@pytest.mark.thorough
def test_a_file_that_is_no_image_is_named_and_does_not_replace_the_page(page: Page) -> None:
    body, alert = open_form(page), page.get_by_role("alert")
    body.press_sequentially("Before")
    for kind in ("paste", "drop"):
        give(body, kind, "report.pdf", "application/pdf")
        expect(alert).to_contain_text("report.pdf cannot be inserted")
        alert.get_by_role("button", name="Close").click()
        expect(alert).to_have_count(0)
    for place in (body, page.locator("#panel"), page.get_by_label("Headline")):
        assert not give(place, "drop", "report.pdf", "application/pdf")
    expect(body).to_have_text("Before")


@pytest.mark.thorough
def test_an_image_that_fails_half_way_loses_nothing_and_can_be_tried_again(page: Page) -> None:
    body = open_form(page)
    page.get_by_label("Headline").fill("Ships")
    body.press_sequentially("Before")
    page.route("**/upload/", lambda route: route.abort())
    give(body, "paste")
    expect(page.get_by_role("alert")).to_contain_text("ship.jpg was not uploaded")
    expect(body.locator(".uploading")).to_have_count(0)
    page.keyboard.type(" and after")
    page.unroute("**/upload/")
    page.get_by_role("button", name="Retry").click()
    describe(page, "A ship")
    expect(body.get_by_alt_text("A ship")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    assert "<p>Before and after</p>" in save(page).body


def test_text_from_word_keeps_its_structure_and_nothing_else(page: Page) -> None:
    body = open_form(page)
    page.get_by_label("Headline").fill("Budget")
    paste(body, "text/html", WORD)
    expect(body).to_contain_text("End")
    assert save(page).body == (
        "<h2>Budget</h2><h2>Part <strong>one</strong></h2>"
        "<ul><li><p>First</p><ul><li><p>Deeper</p></li></ul></li><li><p>Second</p></li></ul>"
        "<p>Text with <em>stress</em></p><p>End</p>"
    )


@pytest.mark.thorough
def test_two_megabytes_from_word_arrive_whole(page: Page) -> None:
    body = open_form(page)
    page.get_by_label("Headline").fill("Minutes")
    noise = "font-size:11.0pt;font-family:&quot;Calibri&quot;,sans-serif;mso-fareast-language:EN-US" * 8
    rows = "".join(
        f"<p class=MsoNormal><span style='{noise}'>Paragraph {number} of the minutes.<o:p></o:p></span></p>"
        for number in range(3000)
    )
    assert len(rows) > 2_000_000
    body.click()
    paste(body, "text/html", f"<html xmlns:o='urn:schemas-microsoft-com:office:office'><body>{rows}</body></html>")
    expect(body.locator("p").last).to_have_text("Paragraph 2999 of the minutes.")
    page.keyboard.type(" Done.")
    eventually(lambda: any("Done." in draft.typed["body"][0] for draft in Autosave.objects.all()))
    stored = save(page).body
    assert stored.count("<p>") == 3000
    assert stored.endswith("<p>Paragraph 2999 of the minutes. Done.</p>")
    assert "mso" not in stored
    assert Article.objects.get().title == "Minutes"


FOOTNOTE = (
    '<a style=\'mso-footnote-id:ftn1\' href="#_ftn1" name="_ftnref1" title="">'
    "<span class=MsoFootnoteReference><![if !supportFootnotes]>[1]<![endif]></span></a>"
)


def test_images_that_word_leaves_out_are_named(page: Page) -> None:
    body = open_form(page)
    images = (
        '<img src="file:///C:/Users/lin/My%20photo%201.jpg"><img alt="Harbour at dawn" src=cid:12@x>'
        '<img src="chart.png"><img src="file:///C:/Users/lin/My%20photo%201.jpg"><img src="https://a.example/b.png">'
    )
    paste(body, "text/html", WORD.replace('<img src="file:///C:/a.png">', images))
    notice = page.get_by_role("alert").filter(has_text="Not pasted with the text")
    expect(notice).to_contain_text("My photo 1.jpg, Harbour at dawn, chart.png. Insert these images from their files.")
    expect(notice).to_have_count(1)
    expect(body).to_contain_text("End")
    notice.get_by_role("button", name="Close").click()
    expect(notice).to_have_count(0)


LINKS = {
    f"<p class=MsoNormal>Said{FOOTNOTE}.</p>": "<p>Said[1].</p>",
    '<p><a href="file:///C:/a.docx#_ftn1">[2]</a> and <a href="about:blank#x">x</a>.</p>': "<p>[2] and x.</p>",
    (
        '<b style="font-weight:normal" id="docs-internal-guid-1"><p>See <a href="https://www.google.com/url?q='
        'https://port.example/tide?a%3D1%26b%3D2&amp;sa=D&amp;usg=x">the tide</a>.</p></b>'
    ): '<p>See <a href="https://port.example/tide?a=1&amp;b=2" rel="noopener noreferrer">the tide</a>.</p>',
    (
        '<p><a href="https://eur01.safelinks.protection.outlook.com/?url=https%3A%2F%2Fport.example%2F&amp;data=x">x</a>.'
        "</p>"
    ): '<p><a href="https://port.example/" rel="noopener noreferrer">x</a>.</p>',
    '<p><a href="https://www.google.com/url?q=javascript:alert(1)">x</a>.</p>': (
        '<p><a href="https://www.google.com/url?q=javascript:alert(1)" rel="noopener noreferrer">x</a>.</p>'
    ),
    '<p><a href="https://google.com.port.example/url?q=https://a.example/">x</a>.</p>': (
        '<p><a href="https://google.com.port.example/url?q=https://a.example/" rel="noopener noreferrer">x</a>.</p>'
    ),
    # Copied in the editor itself.
    '<p data-pm-slice="0 0 []"><a href="#part-two">Part two</a>.</p>': (
        '<p><a href="#part-two" rel="noopener noreferrer">Part two</a>.</p>'
    ),
}
"""Pasted HTML, and what is stored of it; each ends with a full stop, after which no link goes on."""


@pytest.mark.thorough
def test_pasted_links_lead_where_they_say_or_are_only_their_text(page: Page) -> None:
    body = open_form(page)
    page.get_by_label("Headline").fill("Bridge")
    body.focus()
    for html in LINKS:
        paste(body, "text/html", html)
        page.keyboard.press("Enter")
    assert save(page).body.removesuffix("<p></p>") == "".join(LINKS.values())
