"""Autosave: no typed text is lost if the window closes, the connection fails or the session expires."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from playwright.sync_api import Browser, Locator, Page, Route, expect

from articles import publishing
from articles.audit.log import source
from articles.models import Article, AuditEntry, Autosave, Presence, Update
from articles.publishing.autosave import MAX_AUTOSAVES
from articles.workflow import Transition
from tests.articles.browsers import come_back, hold, hurry_requests, save_and_close, sign_in
from tests.articles.desk.articles.test_admin import form_address, form_of, logged_in, press
from tests.articles.desk.editor.test_body import open_form, save
from tests.articles.factories import APPROVED, approve, make_article, make_editor, make_user, soon
from tests.conftest import Site
from tests.harness import eventually

Status = Article.Status
ADD = "/admin/articles/article/add/"


def keep(client: Client, user: User, article: Article | None = None, **more: Any) -> tuple[str, int]:
    """Send a copy as the script does; its window, and the status of the answer."""
    window = more.pop("window", uuid4())
    sent = {"user": user.pk, "article": article and article.pk, "number": 1, "typed": {"title": ["Typed"]}, **more}
    response = client.post(
        f"/admin/articles/article/autosave/{window}/", json.dumps(sent), content_type="application/json"
    )
    return str(window), response.status_code


def shown(client: Client, article: Article, **form: str) -> list[str]:
    """What the script is told about others and what they did."""
    address = f"/admin/articles/article/{article.pk}/presence/{uuid4()}/"
    messages: list[str] = client.post(address, form).json()["messages"]
    return [line for line in messages if "another window" not in line]


@pytest.mark.django_db(transaction=True)
def test_a_closed_window_costs_nothing_and_its_work_is_restored_by_pressing_enter(page: Page) -> None:
    body = open_form(page)
    page.get_by_label("Headline").fill("Bridge")
    body.press_sequentially("Two hours of work")
    expect(page.get_by_text("Draft saved")).to_be_visible()
    assert not Article.objects.exists()
    again = close_window(page)
    again.goto(ADD)
    expect(again.get_by_text("Recovered draft from")).to_contain_text("“Bridge”")
    expect(again.get_by_role("link", name="Restore")).to_be_focused()
    again.keyboard.press("Enter")
    expect(again.get_by_role("textbox", name="Body")).to_have_text("Two hours of work")
    again.get_by_role("button", name="Save", exact=True).click()
    expect(again.get_by_text("Saved.").first).to_be_visible()
    assert Article.objects.values_list("title", "body").get() == ("Bridge", "<p>Two hours of work</p>")
    assert not Autosave.objects.exists()


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_a_clock_that_is_set_back_loses_nothing_that_is_typed_after(page: Page) -> None:
    open_form(page)
    page.get_by_label("Headline").fill("Bridge")
    wait_for_draft(page)
    page.evaluate("() => { const now = Date.now; Date.now = () => now() - 3_600_000; }")
    page.get_by_label("Headline").fill("Bridge closes")
    come_back(page)
    eventually(lambda: Autosave.objects.get().title == "Bridge closes")


@pytest.mark.django_db(transaction=True)
@pytest.mark.thorough
def test_a_draft_is_restored_and_written_on_where_the_clock_is_behind(page: Page) -> None:
    open_form(page)
    page.get_by_label("Headline").fill("Bridge")
    wait_for_draft(page)
    again = close_window(page)
    again.add_init_script("const now = Date.now; Date.now = () => now() - 3_600_000;")
    again.goto(ADD)
    again.get_by_role("link", name="Restore").click()
    again.get_by_label("Headline").fill("Bridge closes")
    come_back(again)
    eventually(lambda: Autosave.objects.get().title == "Bridge closes")


@pytest.mark.django_db
def test_a_number_that_no_database_stores_is_no_draft(client: Client) -> None:
    alice = make_editor()
    client.force_login(alice)
    assert {keep(client, alice, number=number)[1] for number in (2**63, -(2**64), float("inf"), float("nan"))} == {400}


@pytest.mark.django_db(transaction=True)
def test_no_single_key_discards_recovered_work(page: Page) -> None:
    open_form(page)
    page.get_by_label("Headline").fill("Bridge")
    wait_for_draft(page)
    for key in ("Enter", "Space"):
        page.goto(ADD)
        expect(page.get_by_role("link", name="Restore")).to_be_focused()
        page.keyboard.press("Tab")
        page.keyboard.press(key)  # on what asks whether to discard it
        expect(page.get_by_text("This cannot be undone.")).to_be_visible()
        assert Autosave.objects.get().title == "Bridge"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Recovered draft from")).to_be_hidden()
    expect(page.get_by_label("Headline")).to_be_focused()
    assert not Autosave.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_new_article_begins_with_its_headline(page: Page) -> None:
    open_form(page)
    expect(page.get_by_label("Headline")).to_be_focused()


@pytest.mark.django_db(transaction=True)
def test_a_lost_line_and_an_ended_session_cost_nothing(page: Page) -> None:
    article = make_article("Old")
    open_form(page, article)
    page.route("**/autosave/**", lambda route: route.abort())
    page.get_by_label("Headline").fill("New")
    come_back(page)
    expect(page.locator("#autosave-status")).to_contain_text("are not saved on the server")
    save_and_close(page)
    expect(page.locator("#autosave-status")).to_contain_text("Not saved")
    page.unroute("**/autosave/**")
    Session.objects.all().delete()
    come_back(page)
    expect(page.get_by_text("You have been signed out.").first).to_be_visible()
    with page.expect_popup() as popup:
        page.get_by_role("link", name="sign in again").click()
    log_in(popup.value)
    wait_for_draft(page)
    save_and_close(page)
    page.wait_for_url(lambda address: "change" not in address)
    assert Article.objects.get().title == "New"
    assert not Autosave.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_request_without_an_answer_holds_up_no_save(page: Page) -> None:
    hurry_requests(page)
    open_form(page, make_article("Old"))
    hold(page, "**/autosave/**")
    page.get_by_label("Headline").fill("New")
    come_back(page)
    save_and_close(page)
    expect(page.locator("#autosave-status")).to_contain_text("Your text is still here.")
    page.unroute("**/autosave/**")
    save_and_close(page)
    page.wait_for_url(lambda address: "change" not in address)
    assert Article.objects.get().title == "New"


def log_in(page: Page) -> None:
    """By the form, which gives the browser another CSRF token."""
    page.get_by_label("Username").fill("alice")
    page.get_by_label("Password").fill("secret")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda address: "login" not in address)


@pytest.mark.django_db(transaction=True)
@pytest.mark.thorough
def test_a_form_that_was_saved_as_a_draft_before_its_session_ended_is_saved_after_signing_in(page: Page) -> None:
    article = make_article("Old")
    open_form(page, article)
    page.get_by_label("Headline").fill("New")
    wait_for_draft(page)
    Session.objects.all().delete()
    other = page.context.new_page()
    other.goto("/admin/")
    log_in(other)
    save_and_close(page)
    page.wait_for_url(lambda address: "change" not in address)
    assert Article.objects.get().title == "New"


@pytest.mark.django_db(transaction=True)
def test_what_only_the_browser_could_keep_is_offered_when_the_line_is_back(page: Page) -> None:
    article = make_article("Old")
    open_form(page, article)
    page.route("**/autosave/**", lambda route: route.abort())
    page.get_by_label("Headline").fill("Typed in a tunnel")
    come_back(page)
    expect(page.locator("#autosave-status")).to_contain_text("are not saved on the server")
    again = close_window(page)
    again.goto(form_address(article))
    expect(again.get_by_text("Recovered draft from")).to_contain_text("“Typed in a tunnel”")
    again.get_by_text("Discard…").click()
    expect(again.get_by_text("This cannot be undone.")).to_be_visible()
    again.get_by_role("button", name="Discard", exact=True).click()
    expect(again.get_by_text("Recovered draft from")).to_be_hidden()
    eventually(lambda: not Autosave.objects.exists())


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_the_editor_works_without_storage_and_reports_a_failing_server_as_such(page: Page) -> None:
    for name in ("localStorage", "sessionStorage"):
        page.add_init_script(f"Object.defineProperty(window, '{name}', {{ get() {{ throw Error('disabled'); }} }})")
    open_form(page)
    page.get_by_label("Headline").fill("Bridge")
    come_back(page)
    expect(page.locator("#autosave-status")).to_contain_text("Draft saved")
    expect(page.get_by_role("tab", name="Publish")).to_have_attribute("aria-selected", "true")
    page.route("**/autosave/**", lambda route: route.fulfill(status=502, content_type="text/html", body="Bad gateway"))
    page.get_by_label("Headline").fill("Bridge reopens")
    come_back(page)
    expect(page.locator("#autosave-status")).to_contain_text("are not saved on the server")


@pytest.mark.django_db
def test_what_is_typed_into_a_deleted_article_is_offered_in_a_new_form() -> None:
    alice, article = make_editor(), make_article()
    client, pk = logged_in(alice), article.pk
    article.delete()
    article.pk = pk
    assert keep(client, alice, article)[1] == 410
    assert "“Typed”" in client.get(ADD).text


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_a_draft_that_is_already_offered_is_discarded_wherever_it_is_stored(page: Page) -> None:
    """The browser has stored it, too: its upload neither reloads the page nor restores what is discarded."""
    user, article = make_editor(), make_article("Old")
    window, _ = keep(logged_in(user), user, article)
    sign_in(page)
    page.goto(form_address(article))
    draft = {"article": article.pk, "number": 2, "typed": {"title": ["Typed"]}}
    stored = {"0": "damaged", window: json.dumps(draft)}
    for name, text in stored.items():
        page.evaluate("item => localStorage.setItem(...item)", [f"headline.draft.{user.pk}.{name}", text])
    held: list[Route] = []
    page.route(f"**/autosave/{window}/", lambda route: held.append(route) if is_post(route) else route.continue_())
    with page.expect_request(lambda request: window in request.url):
        page.reload()
    page.get_by_text("Discard…").click()
    page.get_by_role("button", name="Discard", exact=True).click()
    held[0].continue_()
    expect(page.get_by_text("Recovered draft from")).to_be_hidden()
    assert not Autosave.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_back_button_shows_what_is_stored_and_not_what_was_typed(page: Page) -> None:
    open_form(page)
    page.get_by_label("Headline").fill("Mine")
    save(page)
    page.go_back()
    expect(page.get_by_label("Headline")).to_have_value("")  # what is saved once is not saved as a second article
    article = Article.objects.get()
    page.goto(form_address(article))
    page.get_by_label("Headline").fill("Mine, newer")
    save_and_close(page)
    page.wait_for_url(lambda address: "change" not in address)
    publishing.edit(article, by=make_editor("bob"), changes={"title": "Bob’s"})
    page.go_back()
    expect(page.get_by_label("Headline")).to_have_value("Bob’s")


@pytest.mark.django_db(transaction=True)
def test_a_form_that_is_pressed_twice_is_sent_once(page: Page) -> None:
    make_article("Derby", body="<p>x</p>")
    held: list[Route] = []
    page.route(
        re.compile("/(add|duplicate)/$"), lambda route: held.append(route) if is_post(route) else route.continue_()
    )
    open_form(page)
    page.get_by_label("Headline").fill("Bridge")
    wait_for_draft(page)
    send_twice(page, page.locator(".actions [name=_continue]"), held)
    assert Article.objects.filter(title="Bridge").count() == 1
    page.goto("/admin/desk/monitoring/")
    page.get_by_label("Actions for “Derby”").click()
    send_twice(page, page.get_by_role("button", name="Duplicate"), held)
    assert Article.objects.filter(title__startswith="Derby").count() == 2


@pytest.mark.django_db(transaction=True)
def test_what_is_typed_while_the_form_is_on_its_way_is_recovered(page: Page) -> None:
    article, held = make_article("Old"), list[Route]()
    page.route("**/change/", lambda route: held.append(route) if is_post(route) else route.continue_())
    open_form(page, article)
    page.get_by_label("Headline").fill("New")
    wait_for_draft(page)
    page.locator(".actions [name=_continue]").evaluate(
        """button => new Promise((done) => {
            button.click();
            setTimeout(() => done(button.form.elements.summary.value = "Typed since"), 50);
        })"""
    )
    request_in(page, held).continue_()
    expect(page.get_by_text("Recovered draft from")).to_be_visible()
    page.get_by_role("link", name="Restore").click()
    expect(page.locator("#id_summary")).to_have_value("Typed since")
    assert Article.objects.values_list("title", "summary").get() == ("New", "")


@pytest.mark.django_db(transaction=True)
@pytest.mark.thorough
def test_a_draft_is_offered_as_soon_as_the_page_that_was_left_is_closed(page: Page) -> None:
    """Its lock may be held for a moment longer."""
    article = make_article("Old")
    open_form(page, article)
    page.get_by_label("Headline").fill("New")
    wait_for_draft(page)
    again = page.context.new_page()
    again.goto("/robots.txt")
    again.evaluate(
        """async () => {
            const [{ name }] = (await navigator.locks.query()).held;
            navigator.locks.request(name, () => new Promise((done) => (window.release = done)));
        }"""
    )
    page.close()
    again.wait_for_function("async () => (await navigator.locks.query()).pending.length === 0")
    form = again.context.new_page()
    form.goto(form_address(article))
    expect(form.get_by_text("Recovered draft from")).to_be_hidden()
    again.evaluate("() => window.release()")
    expect(form.get_by_text("Recovered draft from")).to_be_visible()


def wait_for_draft(page: Page) -> None:
    """Until what is typed is saved, at once instead of within seconds."""
    come_back(page)
    expect(page.get_by_text("Draft saved")).to_be_visible()


def close_window(page: Page) -> Page:
    """Close it, and return a new one when the browser has released its lock."""
    again = page.context.new_page()
    again.goto("/robots.txt")
    page.close()
    again.wait_for_function("async () => !(await navigator.locks.query()).held.length")
    return again


def request_in(page: Page, held: list[Route]) -> Route:
    """The request that is held on its way, once the browser has sent it."""
    while not held:
        page.wait_for_timeout(20)
    return held.pop()


def is_post(route: Route) -> bool:
    return route.request.method == "POST"


def send_twice(page: Page, button: Locator, held: list[Route]) -> None:
    """Press a button again while its first request is on its way."""
    button.evaluate(
        """button => new Promise((done) => {
            button.click();
            setTimeout(() => done(button.click()), 100);
        })"""
    )
    request = request_in(page, held)
    page.wait_for_timeout(200)  # in which a second request would be seen
    assert not held
    with page.expect_navigation():
        request.continue_()


@pytest.mark.django_db(transaction=True)
def test_two_editors_see_each_other_and_what_the_other_saved(browser: Browser, site: Site) -> None:
    make_editor()
    make_editor("bob")
    article = make_article("Old")
    with browser.new_context(base_url=site.url) as hers, browser.new_context(base_url=site.url) as his:
        alice, bob = hers.new_page(), his.new_page()
        alice.clock.install()
        sign_in(alice)
        sign_in(bob, "bob")
        alice.goto(form_address(article))
        bob.goto(form_address(article))
        expect(bob.locator("#presence")).to_contain_text("alice is also editing")
        alice.clock.fast_forward(10_000)
        expect(alice.locator("#presence")).to_contain_text("bob is also editing")
        bob.get_by_label("Headline").fill("His")
        save_and_close(bob)
        bob.wait_for_url(lambda address: "change" not in address)
        alice.clock.fast_forward(10_000)
        expect(alice.locator("#presence")).to_contain_text("bob has saved this article since")

        def has_heard_that_he_left() -> bool:  # which his browser says when it has the time
            alice.clock.fast_forward(10_000)
            return "is also editing" not in alice.locator("#presence").inner_text()

        eventually(has_heard_that_he_left)


@pytest.mark.django_db
def test_an_open_form_says_what_the_clock_has_done_and_accuses_no_one() -> None:
    desk, article = logged_in(make_editor()), make_article("Old", status=Status.PUBLISHED, publish_at=soon(hours=-1))
    press(desk, article, Transition.SUBMIT, title="Newer")
    approve(article)
    Update.objects.update(publish_at=soon(seconds=-1))
    form, old = form_of(desk, article), {"seen": Article.objects.get().changed_at.isoformat(), "base": "2"}
    assert shown(desk, article, **old) == []
    with source(AuditEntry.Source.WORKER):
        publishing.update_due([article.pk])
    (sentence,) = shown(desk, article, **old)
    assert sentence.startswith("Since you opened this article: Update published (System, ")
    assert "compared" not in sentence, "there is nothing to compare: the form shows what readers see"
    desk.post(form_address(article), {**form, "title": "Newest", "_continue": "1"})
    assert Article.objects.get().update.draft.title == "Newest"  # type: ignore[union-attr]


@pytest.mark.django_db
def test_autosave_changes_nothing_that_is_live_or_approved_and_makes_no_revision() -> None:
    alice = make_editor()
    article = make_article("Old", status=APPROVED, publish_at=soon(hours=1))
    before = Article.objects.values().get()
    assert keep(logged_in(alice), alice, article)[1] == 200
    assert Article.objects.values().get() == before
    assert article.revisions.count() == 1


@pytest.mark.django_db
def test_a_copy_that_comes_late_does_not_undo_a_later_one() -> None:
    alice = make_editor()
    client = logged_in(alice)
    window, _status = keep(client, alice, number=2, typed={"title": ["Later"]})
    keep(client, alice, window=window, number=1, typed={"title": ["Earlier"]})
    assert Autosave.objects.get().title == "Later"


@pytest.mark.django_db
def test_two_windows_of_one_person_keep_two_copies() -> None:
    alice, article = make_editor(), make_article()
    client = logged_in(alice)
    for title in ("Left", "Right"):
        keep(client, alice, article, typed={"title": [title]})
    page = client.get(form_address(article)).text
    assert "“Left”" in page
    assert "“Right”" in page


@pytest.mark.django_db
def test_copies_are_ones_own() -> None:
    alice, article = make_editor(), make_article()
    window, _status = keep(logged_in(alice), alice, article)
    bob = make_editor("bob")
    client = logged_in(bob)
    assert "Recovered draft" not in client.get(form_address(article)).text
    page = client.get(f"{form_address(article)}?restore={window}")  # an address that alice has sent him
    assert 'value="Typed"' not in page.text
    assert str(page.context["script_config"]["window"]) != window
    assert keep(client, bob, article, window=window, number=9, typed={"title": ["His"]})[1] == 403
    client.delete(f"/admin/articles/article/autosave/{window}/")
    assert Autosave.objects.get().title == "Typed"


@pytest.mark.django_db
def test_who_may_not_write_keeps_nothing() -> None:
    carol = make_user("carol", "view_article", "review_article")
    assert keep(logged_in(carol), carol, make_article())[1] == 403
    assert keep(logged_in(make_editor()), carol)[1] == 401
    assert keep(Client(), carol)[1] == 401
    assert not Autosave.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("wrong", [{"typed": {"title": "no list"}}, {"number": "x"}, {"typed": []}, {"typed": None}])
def test_nonsense_is_refused(wrong: dict[str, Any]) -> None:
    alice = make_editor()
    assert keep(logged_in(alice), alice, **wrong)[1] == 400


@pytest.mark.django_db
def test_deeply_nested_json_is_refused() -> None:
    alice = make_editor()

    response = logged_in(alice).post(
        f"/admin/articles/article/autosave/{uuid4()}/", '{"typed":' + "[" * 100_000, content_type="application/json"
    )

    assert response.status_code == 400
    assert not Autosave.objects.exists()


@pytest.mark.django_db
def test_half_an_emoji_is_replaced_and_does_not_block_the_form() -> None:
    alice = make_editor()
    client = logged_in(alice)

    window, status = keep(client, alice, typed={"title": ["Tides \ud83d \U0001f30a"]})

    assert status == 200
    assert Autosave.objects.get().title == "Tides \ufffd \U0001f30a"
    assert "Tides \ufffd" in client.get(f"{ADD}?restore={window}").text


@pytest.mark.django_db
def test_one_person_has_a_limited_number_of_copies_and_the_latest_stay() -> None:
    alice, bob = make_editor(), make_editor("bob")
    client = logged_in(alice)
    keep(logged_in(bob), bob)

    windows = [keep(client, alice)[0] for _number in range(MAX_AUTOSAVES + 5)]

    left = {str(pk) for pk in Autosave.objects.filter(user=alice).values_list("pk", flat=True)}
    assert left == set(windows[5:])
    assert Autosave.objects.filter(user=bob).count() == 1


@pytest.mark.django_db
def test_saving_drops_the_copy_and_a_month_forgets_it() -> None:
    alice, article = make_editor(), make_article()
    client = logged_in(alice)
    window, _status = keep(client, alice, article)
    press(client, article, "_save", title="Saved", window=window)
    assert not Autosave.objects.exists()
    keep(client, alice, article)
    Autosave.objects.update(saved_at=soon(days=-31))
    client.get(form_address(article))
    assert not Autosave.objects.exists()


@pytest.mark.django_db
def test_restored_work_that_others_have_overtaken_is_not_saved_over_theirs() -> None:
    alice, article = make_editor(), make_article("Old")
    client = logged_in(alice)
    seen = client.get(form_address(article)).context["adminform"].form["seen"].value()
    window, _status = keep(client, alice, article, typed={"title": ["Mine"], "seen": [seen]})
    press(client, article, "_save", title="Theirs")
    form = client.get(f"{form_address(article)}?restore={window}").context["adminform"].form
    assert (form["title"].value(), form["seen"].value()) == ("Mine", seen)


@pytest.mark.django_db
def test_a_window_that_gives_no_sign_of_life_is_gone() -> None:
    article = make_article()
    alice, bob = make_editor(), make_editor("bob")

    def others(user: User) -> list[str]:
        address = f"/admin/articles/article/{article.pk}/presence/{uuid4()}/"
        messages: list[str] = logged_in(user).post(address).json()["messages"]
        return messages

    assert others(alice) == []
    assert len(others(bob)) == 1
    Presence.objects.update(until=soon(seconds=-1))
    assert others(bob) == []
    Presence.objects.update(until=soon() - timedelta(minutes=2))
    others(bob)
    assert Presence.objects.count() == 1
