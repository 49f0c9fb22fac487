"""The image library, the picker and the cover field, in a browser and over HTTP."""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect

from articles.exceptions import DecodingBusy
from articles.models import Article, CoverMode, Image
from articles.roles import Role
from tests.articles.browsers import answer, hold, sign_in
from tests.articles.desk.editor.test_body import open_form, save
from tests.articles.factories import make_article, make_editor, make_member
from tests.articles.image_files import image_bytes, make_image, sent, shown
from tests.conftest import Site
from tests.harness import eventually

pytestmark = pytest.mark.django_db(transaction=True)

LIBRARY = "/admin/articles/image/"


@pytest.fixture
def editor() -> User:
    return make_editor()


@pytest.fixture
def screens(editor: User) -> Client:
    client = Client()
    client.force_login(editor)
    return client


def files(folder: Path, count: int) -> list[Path]:
    made = [folder / f"ship-{number}.png" for number in range(count)]
    for path in made:
        path.write_bytes(image_bytes("PNG", (40, 30)))
    return made


@pytest.mark.thorough
def test_many_files_each_get_their_verdict(page: Page, editor: User, tmp_path: Path) -> None:
    """R5.7"""
    sign_in(page)
    page.goto(LIBRARY)
    bad = tmp_path / "letter.jpg"
    bad.write_bytes(b"Dear all")
    page.get_by_label("Upload images", exact=True).locator("input").set_input_files([bad, *files(tmp_path, 30)])
    expect(page.get_by_text("Uploaded: 30 of 31. Failed: 1.")).to_be_visible()
    refused = page.get_by_role("listitem").filter(has_text="letter.jpg")
    expect(refused.get_by_text("The file is not a readable image")).to_be_visible()
    assert Image.objects.count() == 30
    expect(page.locator("[data-library] .tile")).to_have_count(30)

    row = page.get_by_role("listitem").filter(has_text="ship-7.png")
    row.get_by_label("Alt text ship-7").fill("A ship at the quay")
    page.keyboard.press("Enter")
    expect(row.get_by_text("Alt text saved")).to_be_visible()
    assert Image.objects.get(title="ship-7").alt == "A ship at the quay"
    expect(page.locator("[data-library]").get_by_alt_text("A ship at the quay")).to_be_visible()


@pytest.mark.thorough
def test_files_are_dropped_on_the_library(page: Page, editor: User) -> None:
    """One that a busy server does not take is sent again as soon as it asks for it."""
    sign_in(page)
    page.goto(LIBRARY)
    busy = {"status": 503, "headers": {"Retry-After": "1"}, "json": {"error": str(DecodingBusy())}}
    page.route("**/image/upload/", lambda route: route.fulfill(**busy), times=1)
    page.get_by_role("region", name="Upload images").evaluate(
        """(zone, bytes) => {
            const data = new DataTransfer();
            data.items.add(new File([new Uint8Array(bytes)], "dropped.png", { type: "image/png" }));
            zone.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        }""",
        list(image_bytes("PNG", (40, 30))),
    )
    expect(page.get_by_text("Uploaded: 1 of 1. Failed: 0.")).to_be_visible()
    assert Image.objects.get().title == "dropped"


@pytest.mark.thorough
def test_the_focal_point_is_set_by_click_and_by_keyboard(page: Page, editor: User) -> None:
    image = make_image(editor)
    sign_in(page)
    page.goto(f"{LIBRARY}{image.pk}/change/")
    box = page.locator("[data-focus] img").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.25, box["y"] + box["height"] * 0.75)
    point = page.get_by_role("button", name="Focal point: 25 % from the left, 75 % from the top")
    point.press("ArrowRight")
    page.keyboard.press("Shift+ArrowUp")
    expect(page.get_by_role("button", name="26 % from the left, 65 % from the top")).to_be_focused()
    page.get_by_role("button", name="Save and continue editing").click()
    expect(page.get_by_text("successfully").first).to_be_visible()
    image.refresh_from_db()
    assert (image.focus_x, image.focus_y) == (26, 65)


def test_an_answer_that_comes_while_an_image_is_pressed_or_late_changes_nothing(page: Page) -> None:
    """The first answer, to no words, comes after the one to words, which comes while the image is pressed."""
    body = open_form(page)
    editor = User.objects.get()
    make_image(editor, "A ship")
    held = hold(page, "**/picker/?q=&*")
    body.click()
    page.get_by_role("button", name="Image", exact=True).click()
    picker = page.get_by_role("dialog", name="Choose images")
    picker.get_by_role("searchbox").fill("ship")
    ship = picker.get_by_alt_text("A ship", exact=True)
    expect(ship).to_be_visible()
    make_image(editor, "A quay")
    answer(page, held)
    expect(picker.get_by_alt_text("A quay")).to_have_count(0)
    make_image(editor, "A ship at the quay")
    held = hold(page, "**/picker/?q=a+ship&*")
    with page.expect_request("**/picker/?q=a+ship&*"):
        picker.get_by_role("searchbox").fill("a ship")
    ship.hover()
    page.mouse.down()
    answer(page, held)
    page.mouse.up()
    expect(picker).to_be_hidden()
    expect(body.get_by_alt_text("A ship")).to_be_visible()


def test_an_answer_that_says_the_same_takes_the_focus_from_no_image(page: Page) -> None:
    body = open_form(page)
    make_image(User.objects.get(), "A ship")
    body.click()
    page.get_by_role("button", name="Image", exact=True).click()
    ship = page.get_by_role("dialog", name="Choose images").get_by_role("button", name="A ship")
    expect(ship).to_be_visible()
    page.keyboard.press("Escape")
    held = hold(page, "**/picker/?q=&*")
    with page.expect_request("**/picker/?q=&*"):
        page.get_by_role("button", name="Image", exact=True).click()
    ship.focus()
    answer(page, held)
    expect(ship).to_be_focused()


def test_images_come_into_the_text_and_the_cover(page: Page, tmp_path: Path) -> None:
    """R5.4"""
    body = open_form(page)
    editor = User.objects.get()
    ship = make_image(editor, "A ship", caption="Leaving", credit="Mei")
    page.get_by_label("Headline").fill("Ships")
    body.click()
    page.get_by_role("button", name="Image", exact=True).click()
    picker = page.get_by_role("dialog", name="Choose images")
    picker.get_by_role("searchbox").fill("ship leaving")
    picker.get_by_alt_text("A ship").click()
    expect(picker).to_be_hidden()
    expect(body.get_by_alt_text("A ship")).to_be_visible()
    expect(body.get_by_text("Leaving © Mei")).to_be_visible()

    page.get_by_role("tab", name="Cover & search").click()
    expect(page.get_by_text("Cover images")).to_be_hidden()  # the text decides, so there is nothing to choose
    page.get_by_role("combobox", name="Cover").select_option("one")
    page.get_by_role("button", name="Choose images").click()
    picker.get_by_label("Upload images", exact=True).locator("input").set_input_files(files(tmp_path, 1))
    picker.get_by_label("Alt text ship-0").fill("The quay")
    picker.get_by_role("button", name="Save alt text", exact=True).click()
    picker.get_by_alt_text("The quay").click()
    expect(page.get_by_role("button", name="Remove ship-0")).to_be_visible()
    article = save(page)
    quay = Image.objects.get(title="ship-0")
    assert (article.cover_mode, article.cover) == (CoverMode.ONE, [str(quay.pk)])
    figure = f'<figure><img src="{ship.in_texts}" alt="A ship"><figcaption>Leaving © Mei</figcaption></figure>'
    assert article.body == figure
    page.get_by_role("button", name="Remove ship-0").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("takes 1 image; it has 0")).to_be_visible()


@pytest.mark.thorough
def test_writing_goes_on_below_a_image(page: Page) -> None:
    body = open_form(page)
    ship = make_image(User.objects.get(), "A ship")
    page.get_by_label("Headline").fill("Ships")
    body.click()
    page.get_by_role("button", name="Image", exact=True).click()
    page.get_by_role("dialog", name="Choose images").get_by_alt_text("A ship").click()
    expect(body).to_be_focused()
    page.keyboard.type("Below")
    image = f'<img src="{ship.in_texts}" alt="A ship">'
    assert save(page).body == f"<figure>{image}</figure><p>Below</p>"

    body.focus()
    body.get_by_alt_text("A ship").click(position={"x": 20, "y": 20})
    page.get_by_role("button", name="Add caption").click()
    expect(body).to_be_focused()  # until then, Enter would press the button again
    page.keyboard.type("Leaving")
    page.keyboard.press("Enter")
    page.keyboard.type("Between")
    article = save(page)
    assert article.body == f"<figure>{image}<figcaption>Leaving</figcaption></figure><p>Between</p><p>Below</p>"


@pytest.mark.thorough
def test_an_upload_in_the_picker_reports_no_error_to_the_console(page: Page, tmp_path: Path) -> None:
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    body = open_form(page)
    body.click()
    page.get_by_role("button", name="Image", exact=True).click()
    picker = page.get_by_role("dialog", name="Choose images")
    picker.get_by_label("Upload images", exact=True).locator("input").set_input_files(files(tmp_path, 2))
    expect(picker.get_by_text("Uploaded: 2 of 2. Failed: 0.")).to_be_visible()
    assert errors == []


@pytest.mark.thorough
def test_a_favourite_is_marked_and_found(page: Page, editor: User) -> None:
    """R5.7"""
    make_image(editor, "A ship", title="Ship")
    make_image(editor, "A crane", title="Crane")
    sign_in(page)
    page.goto(LIBRARY)
    page.get_by_role("button", name="Favourite: Crane").press("Enter")
    expect(page.get_by_role("button", name="Favourite: Crane")).to_have_attribute("aria-pressed", "true")
    page.goto(f"{LIBRARY}?show=favourites")
    expect(page.locator("[data-library] .tile")).to_have_count(1)


def test_the_library_is_searched_and_filtered(screens: Client, editor: User) -> None:
    """R5.7"""
    used, silent = make_image(editor, "A ship"), make_image(make_member(Role.AUTHOR), "")
    make_article(body=shown(used))

    def found(**query: str) -> list[Image]:
        return list(screens.get(LIBRARY, query).context["cl"].result_list)

    assert found() == [silent, used]
    assert found(q="ship") == found(show="own") == [used]
    assert found(show="undescribed") == found(show="unused") == [silent]
    assert found(show="favourites") == found(q="lighthouse") == []


def test_a_used_image_is_not_deleted_on_the_screen(screens: Client, editor: User) -> None:
    """R5.7"""
    image = make_image(editor)
    article = make_article("Bridge", body=shown(image))
    form = screens.get(f"{LIBRARY}{image.pk}/change/").content.decode()
    assert f'href="/admin/articles/article/{article.pk}/change/">Bridge</a>' in form
    assert "Delete image" not in form
    response = screens.post(f"{LIBRARY}{image.pk}/delete/", {"post": "yes"}, follow=True)
    assert "The image is used in “Bridge”; remove it there first." in response.content.decode()
    article.delete()
    screens.post(f"{LIBRARY}{image.pk}/delete/", {"post": "yes"})
    assert not Image.objects.exists()


def test_what_the_services_refuse_comes_back_as_typed(screens: Client, editor: User) -> None:
    image = make_image(editor)
    typed = {"title": "Ships", "alt": "Ships", "caption": "x" * 1001, "credit": "", "focus_x": 50, "focus_y": 300}
    response = screens.post(f"{LIBRARY}{image.pk}/change/", typed)
    assert "at most 1000 characters" in response.content.decode()
    assert "less than or equal to 100" in response.content.decode()
    assert "x" * 1001 in response.content.decode()
    cover = {"title": "Ships", "cover_mode": "one", "cover": "nonsense", "_continue": "1"}
    response = screens.post("/admin/articles/article/add/", cover)
    assert "There is no such image" in response.content.decode()
    assert not Article.objects.exists()


def test_others_look_and_do_not_touch(editor: User) -> None:
    image = make_image(editor)
    client = Client()
    client.force_login(make_member(Role.AUTHOR))
    assert client.get(LIBRARY).status_code == 200
    form = client.get(f"{LIBRARY}{image.pk}/change/").content.decode()
    assert 'name="alt"' not in form
    assert client.post(f"{LIBRARY}{image.pk}/describe/", {"alt": "Mine"}).status_code == 403
    assert client.post(f"{LIBRARY}{image.pk}/focus/", {"focus_x": 1, "focus_y": 1}).status_code == 403
    assert "You may not crop this image." in client.get(f"{LIBRARY}{image.pk}/focus/").text
    assert client.post(f"{LIBRARY}{image.pk}/delete/", {"post": "yes"}).status_code == 403
    reviewer = Client()
    reviewer.force_login(make_member(Role.REVIEWER))
    assert reviewer.post(f"{LIBRARY}upload/", {"file": sent()}).status_code == 403
    stranger = Client()
    stranger.force_login(User.objects.create_user("operator", is_staff=True))
    for address in (LIBRARY, f"{LIBRARY}picker/"):
        assert stranger.get(address).status_code == 403
    assert stranger.post(f"{LIBRARY}{image.pk}/favour/").status_code == 403


def test_a_favourite_leads_back_to_the_library_and_nowhere_else(screens: Client, editor: User) -> None:
    address = f"{LIBRARY}{make_image(editor).pk}/favour/"
    assert screens.post(address, {"back": f"{LIBRARY}?show=own"})["Location"] == f"{LIBRARY}?show=own"
    assert screens.post(address, {"back": "https://evil.example/"})["Location"] == LIBRARY


def test_an_upload_that_is_cut_off_leaves_nothing(site: Site, screens: Client) -> None:
    """Half of the body arrives, then the browser is gone; the server goes on."""
    data, host = image_bytes(size=(900, 900)), urlsplit(site.url)
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.jpg"\r\n\r\n'
    token = screens.get("/admin/").cookies["csrftoken"].value
    lines = [
        f"POST {LIBRARY}upload/ HTTP/1.1",
        f"Host: {host.netloc}",
        f"Cookie: sessionid={screens.cookies['sessionid'].value}; csrftoken={token}",
        f"X-CSRFToken: {token}",
        "Content-Type: multipart/form-data; boundary=x",
        f"Content-Length: {len(head) + len(data) + 20}",
    ]
    with socket.create_connection((host.hostname, host.port)) as connection:
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + head + data[: len(data) // 2])
        connection.shutdown(socket.SHUT_WR)
        response = connection.recv(20)
    assert not response.startswith((b"HTTP/1.1 2", b"HTTP/1.1 5"))
    assert not Image.objects.exists()
    eventually(site.process.alive)


def test_a_file_larger_than_any_image_is_refused(screens: Client) -> None:
    response = screens.post(f"{LIBRARY}upload/", {"file": sent(b"\xff" * 21_100_000)})
    assert (response.status_code, "larger than 20 MB" in response.json()["error"]) == (400, True)
