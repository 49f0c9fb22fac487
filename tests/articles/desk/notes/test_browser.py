"""Notes in the editor, in a real browser: passages are highlighted but not in the text, and nothing typed is lost."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from playwright.sync_api import Browser, Locator, Page, Route, expect

from articles import notes
from articles.desk.notes.shown import THREADS_SHOWN
from articles.models import Article, Note
from articles.roles import Role
from articles.text import Selector
from tests.articles.browsers import answer, hold, look_again, press_in_body, sign_in
from tests.articles.desk.articles.test_admin import form_address
from tests.articles.desk.editor.test_body import open_form
from tests.articles.factories import make_article, make_editor, make_member
from tests.conftest import Site

pytestmark = pytest.mark.django_db(transaction=True)

BODY = "<p>The bridge cost <b>40 million</b> euros, the city said.</p>\n\n<p>It opens on Monday.</p>"


def select(body: Locator, text: str) -> None:
    """Select this text of one paragraph. The editor reads the selection at the next event, after which this returns."""
    body.evaluate(
        """async (element, text) => {
            const read = new Promise((done) => document.addEventListener("selectionchange", done, { once: true }));
            const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
            while (walker.nextNode()) {
                const node = walker.currentNode, at = node.data.indexOf(text);
                if (at < 0) continue;
                getSelection().setBaseAndExtent(node, at, node, at + text.length);
                return read.then(() => new Promise((done) => setTimeout(done)));
            }
        }""",
        text,
    )


def marks(page: Page) -> Locator:
    return page.locator("[role=textbox] .note-mark")


def test_a_note_on_a_passage_follows_it_and_is_not_in_the_text(page: Page) -> None:
    article = make_article(body=BODY)
    make_member(Role.REVIEWER, "rita")
    User.objects.filter(username="rita").update(first_name="Rita", last_name="Reyes")
    body = open_form(page, article)
    body.focus()
    select(body, "40 million")
    page.get_by_role("button", name="Add note", exact=True).first.click()
    expect(page.get_by_label("New note")).to_be_focused()
    page.keyboard.type("Who says so, @ri")
    expect(page.locator("#note-people")).to_have_text("Rita Reyes")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".note-mention")).to_have_text("@Rita Reyes")
    expect(marks(page)).to_have_text("40 million")
    note = Note.objects.get()
    assert (note.text, note.quote, note.prefix[-16:]) == ("Who says so, @rita", "40 million", "The bridge cost ")

    body.focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    expect(marks(page)).to_have_count(0)
    page.keyboard.press("Control+z")
    expect(marks(page)).to_have_text("40 million")
    press_in_body(page, "Control+Home")
    select(body, "mill")
    page.keyboard.type("bill")
    expect(marks(page)).to_have_text("40 billion")
    page.locator("[data-note-reveal]").click()
    expect(marks(page)).to_be_in_viewport()
    with page.expect_navigation():
        page.keyboard.press("Control+s")
    expect(marks(page)).to_have_text("40 billion")
    stored = Article.objects.get().body
    assert "note" not in stored
    assert "40 billion" in stored


@pytest.mark.thorough
def test_notes_of_others_appear_while_one_writes(page: Page) -> None:
    article, rita = make_article(body=BODY), make_member(Role.REVIEWER, "rita")
    thread = notes.add_note(article, by=rita, text="Source?", about=Selector("40 million", "The bridge cost "))
    open_form(page, article)
    page.get_by_role("tab", name="Notes").click()
    reply = page.get_by_role("textbox", name="Reply")
    reply.fill("The city cou")
    notes.add_note(article, by=rita, text="Which Monday?", about=Selector("Monday", "It opens on "))
    look_again(page)
    expect(page.get_by_text("Which Monday?")).to_be_visible()
    expect(marks(page)).to_have_text(["40 million", "Monday"])
    expect(reply.first).to_have_value("The city cou")
    expect(reply.first).to_be_focused()
    notes.resolve_note(thread, by=rita)
    look_again(page)
    expect(marks(page)).to_have_text(["Monday"])


@pytest.mark.parametrize("by", ["mouse", "mouse, with Shift down before", "keyboard"])
def test_a_note_that_comes_while_a_button_is_pressed_takes_no_click_from_it(page: Page, by: str) -> None:
    article, rita = make_article(body=BODY), make_member(Role.REVIEWER, "rita")
    notes.add_note(article, by=rita, text="Source?")
    open_form(page, article)
    page.get_by_role("tab", name="Notes").click()
    resolve = page.get_by_role("button", name="Resolve")
    resolve.hover()
    resolve.focus()
    held = hold(page, "**/notes/?*")
    with page.expect_request("**/notes/?*"):
        look_again(page)
    notes.add_note(article, by=rita, text="Which Monday?")
    if "Shift" in by:
        page.keyboard.down("Shift")
    page.keyboard.down("Space") if by == "keyboard" else page.mouse.down()
    if "Shift" in by:
        page.keyboard.up("Shift")
        page.evaluate("new Promise((done) => setTimeout(done, 100))")  # twice as long as a click takes to come
    answer(page, held)
    page.unroute_all()
    page.keyboard.up("Space") if by == "keyboard" else page.mouse.up()
    expect(page.get_by_text("Which Monday?")).to_be_visible()
    assert [note.text for note in Note.objects.filter(resolved_at=None)] == ["Which Monday?"]


@pytest.mark.thorough
def test_a_reply_stays_in_its_thread_when_newer_ones_come(page: Page) -> None:
    article, rita = make_article(body=BODY), make_member(Role.REVIEWER, "rita")
    for number in range(THREADS_SHOWN):
        notes.add_note(article, by=rita, text=f"Note {number}")
    open_form(page, article)
    page.get_by_role("tab", name="Notes").click()
    reply = page.get_by_role("textbox", name="Reply").first
    reply.fill("The city cou")
    notes.add_note(article, by=rita, text="Which Monday?")
    look_again(page)
    expect(page.get_by_text("Which Monday?")).to_be_visible()
    page.keyboard.type("ncil")
    expect(reply).to_have_value("The city council")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".note-reply")).to_contain_text("The city council")
    assert Note.objects.get(text="The city council").thread == Note.objects.get(text="Note 0")


@pytest.mark.thorough
def test_a_reply_to_a_deleted_note_is_once_in_the_new_one_also_after_a_reload(page: Page) -> None:
    article = make_article(body=BODY)
    thread = notes.add_note(article, by=make_member(Role.REVIEWER, "rita"), text="Source?")
    open_form(page, article)
    page.get_by_role("tab", name="Notes").click()
    page.get_by_role("textbox", name="Reply").fill("The city")
    thread.delete()
    look_again(page)
    text = page.get_by_label("New note")
    expect(text).to_have_value("The city")
    page.reload()
    page.get_by_role("tab", name="Notes").click()
    expect(text).to_have_value("The city")


def test_a_note_survives_a_lost_connection_an_ended_session_and_a_reload(page: Page, site: Site) -> None:
    article = make_article(body=BODY)
    open_form(page, article)
    page.get_by_role("tab", name="Notes").click()
    text, add = page.get_by_label("New note"), page.locator("#notes button[value=add]")
    text.fill("Half an hour of thought")
    page.route("**/notes/*", lambda route: route.abort())
    add.click()
    expect(page.locator("#note-problem")).to_contain_text("No connection")
    page.unroute("**/notes/*")
    Session.objects.all().delete()
    add.click()
    expect(page.locator("#note-problem")).to_contain_text("You have been signed out")
    sign_in(page)
    page.reload()
    page.get_by_role("tab", name="Notes").click()
    expect(text).to_have_value("Half an hour of thought")
    text.fill("Half an hour of thought, @tagger")
    User.objects.create_user("tagger")
    add.click()
    expect(page.locator("#note-problem")).to_contain_text("“tagger” may not see this article")
    text.fill("Half an hour of thought")
    page.route("**/notes/*", lambda route: (route.fetch(), route.abort()))  # the answer is lost
    add.click()
    expect(page.locator("#note-problem")).to_contain_text("No connection")
    page.unroute("**/notes/*")
    add.click()
    expect(page.locator("#note-problem")).to_be_hidden()
    expect(text).to_have_value("")
    assert Note.objects.values_list("text").get() == ("Half an hour of thought",)


def test_what_is_sent_cannot_be_typed_on_until_it_is_answered(page: Page) -> None:
    """It would be lost with the answer, which empties the field."""
    article = make_article(body=BODY)
    open_form(page, article)
    page.get_by_role("tab", name="Notes").click()
    waiting: list[Route] = []
    page.route("**/notes/*", lambda route: waiting.append(route))  # noqa: PLW0108 (a method of a list has no attributes)
    text = page.get_by_label("New note")
    text.fill("Half an hour of thought")
    with page.expect_request("**/notes/*"):
        page.keyboard.press("Control+Enter")
    expect(text).not_to_be_editable()
    waiting[0].continue_()
    expect(text).to_have_value("")
    text.fill("and another")
    expect(page.locator(".note-text")).to_have_text("Half an hour of thought")


@pytest.mark.thorough
def test_an_answer_that_is_cut_off_ends_neither_sending_nor_looking(browser: Browser, site: Site) -> None:
    article = make_article(body=BODY)
    with browser.new_context(base_url=site.url, locale="en-US") as context:
        page = context.new_page()
        page.clock.install()
        open_form(page, article)
        page.get_by_role("tab", name="Notes").click()
        text, add = page.get_by_label("New note"), page.locator("#notes button[value=add]")
        page.route("**/notes/*", lambda route: route.fulfill(body='{"threads": "<ar', content_type="application/json"))
        text.fill("Half an hour of thought")
        add.click()
        expect(page.locator("#note-problem")).to_contain_text("Your text is still here")
        with page.expect_response("**/notes/*"):
            look_again(page)
        page.unroute("**/notes/*")
        notes.add_note(article, by=make_member(Role.REVIEWER, "rita"), text="Source?")
        page.clock.fast_forward(20_000)
        expect(page.get_by_text("Source?")).to_be_visible()
        add.click()
        expect(text).to_have_value("")
    assert Note.objects.filter(text="Half an hour of thought").count() == 1


@pytest.mark.thorough
def test_an_edit_of_a_note_that_was_edited_elsewhere_is_saved_after_a_reload(page: Page) -> None:
    article = make_article(body=BODY)
    open_form(page, article)
    note = notes.add_note(article, by=User.objects.get(username="alice"), text="Sorce?")
    page.reload()
    page.get_by_role("tab", name="Notes").click()
    page.get_by_label("Edit or delete this note").click()
    edit, save = page.get_by_label("Text of the note"), page.locator(f"[value='edit:{note.pk}']")
    edit.fill("Which source?")
    notes.edit_note(note, by=User.objects.get(username="alice"), text="Source?")
    save.click()
    expect(page.locator("#note-problem")).to_contain_text("Load the page again and compare")
    page.reload()
    page.get_by_role("tab", name="Notes").click()
    expect(edit).to_have_value("Which source?")
    expect(page.locator(".note-text")).to_have_text("Source?")
    save.click()
    expect(page.locator(".note-text")).to_have_text("Which source?")


@pytest.mark.thorough
def test_words_that_an_input_method_composes_stay_when_notes_come(page: Page) -> None:
    article, rita = make_article(body=BODY), make_member(Role.REVIEWER, "rita")
    notes.add_note(article, by=rita, text="Source?")
    open_form(page, article)
    page.get_by_role("tab", name="Notes").click()
    reply = page.get_by_role("textbox", name="Reply").first
    reply.click()
    keyboard = page.context.new_cdp_session(page)
    keyboard.send("Input.imeSetComposition", {"text": "ni hao", "selectionStart": 6, "selectionEnd": 6})
    notes.add_note(article, by=rita, text="Which Monday?")
    with page.expect_response("**/notes/*"):
        look_again(page)
    keyboard.send("Input.imeSetComposition", {"text": "ni hao ma", "selectionStart": 9, "selectionEnd": 9})
    keyboard.send("Input.insertText", {"text": "你好吗"})
    look_again(page)
    expect(page.get_by_text("Which Monday?")).to_be_visible()
    expect(reply).to_have_value("你好吗")


def test_a_note_typed_in_a_copy_of_the_window_replaces_no_other(page: Page) -> None:
    article = make_article(body=BODY)
    open_form(page, article)
    page.get_by_role("tab", name="Notes").click()
    page.get_by_label("New note").fill("Where is the source?")
    with page.expect_popup() as opened:  # which gets a copy of what the session stores
        page.evaluate("window.open(location.href)")
    page.locator("#notes button[value=add]").click()
    expect(page.get_by_label("New note")).to_have_value("")
    copy = opened.value
    copy.get_by_role("tab", name="Notes").click()
    copy.get_by_label("New note").fill("The headline is long")
    copy.locator("#notes button[value=add]").click()
    expect(copy.get_by_label("New note")).to_have_value("")
    assert set(Note.objects.values_list("text", flat=True)) == {"Where is the source?", "The headline is long"}


def test_a_closed_window_leaves_its_notes_to_the_next_one_of_its_user(page: Page) -> None:
    article = make_article(body=BODY)
    open_form(page, article)
    mine = notes.add_note(article, by=User.objects.get(username="alice"), text="Sorce?")
    page.reload()
    page.get_by_role("tab", name="Notes").click()
    page.get_by_label("New note").fill("Half an hour of thought")
    page.get_by_label("Edit or delete this note").click()
    page.get_by_label("Text of the note").fill("Source?")
    context = page.context
    page.close()
    make_editor("bob")
    for name, text in (("bob", ""), ("alice", "Half an hour of thought")):
        again = context.new_page()
        sign_in(again, name)
        again.goto(form_address(article))
        again.get_by_role("tab", name="Notes").click()
        expect(again.get_by_label("New note")).to_have_value(text)
    expect(again.get_by_label("Text of the note")).to_have_value("Source?")
    again.locator(f"[value='edit:{mine.pk}']").click()
    expect(again.locator(".note-text")).to_have_text("Source?")
    expect(again.get_by_label("New note")).to_have_value("Half an hour of thought")


@pytest.mark.thorough
def test_notes_work_without_scripts(browser: Browser, site: Site) -> None:
    article, alice = make_article(body=BODY), make_editor()
    notes.add_note(article, by=make_member(Role.REVIEWER, "rita"), text="Source?")
    with browser.new_context(base_url=site.url, java_script_enabled=False) as context:
        page = context.new_page()
        sign_in(page)
        page.goto(form_address(article))
        page.get_by_label("New note").fill("On the article")
        page.locator("#notes button[value=add]").click()
        page.get_by_role("textbox", name="Reply").first.fill("Council")
        page.locator("#notes button[value^=reply]").first.click()
        expect(page.locator(".note-reply")).to_contain_text("Council")
        expect(page.locator(".note-thread")).to_contain_text(["Source?", "On the article"])
    assert Note.objects.filter(author=alice).count() == 2
