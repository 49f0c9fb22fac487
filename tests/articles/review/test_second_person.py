"""Under the two-person rule, texts that readers see beside articles are changed by one and approved by another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from articles import publishing
from articles.exceptions import NotAllowed
from articles.models import Article, AuditEntry, Channel, Image, Notification, ProposedChange, SensitiveWord, Tag
from articles.roles import Role
from headline.api.service_accounts import create_service_account
from headline.api.tokens import issue
from tests.articles.factories import make_article, make_channel, make_member, make_user, soon
from tests.articles.image_files import make_image, shown
from tests.articles.open_forms import sent_by

pytestmark = pytest.mark.django_db

API = "/api/v1/desk/"
CHANGES = f"{API}proposed-changes/"
PAGE = "/admin/desk/proposed-changes/"
Status = Article.Status


@pytest.fixture(autouse=True)
def rule(settings: Any) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = True


@pytest.fixture
def author() -> User:
    return make_member(Role.AUTHOR)


@pytest.fixture
def image(author: User) -> Image:
    return make_image(author, alt="Ships")


@pytest.fixture
def live(author: User, image: Image) -> Article:
    """A live article with a channel, a tag, an image and an author."""
    article = make_article(
        "Bridge", status=Status.PUBLISHED, publish_at=soon(hours=-2), published_at=soon(hours=-2), author=author,
        channel=make_channel("City", description="Of the city"), body=shown(image),
    )  # fmt: skip
    article.tags.add(Tag.objects.create(name="Rain"))
    User.objects.filter(pk=author.pk).update(first_name="Ada")
    return article


def desk(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def first() -> Client:
    return desk(make_user("first", is_superuser=True))


@pytest.fixture
def second() -> Client:
    return desk(make_member(Role.CHIEF, "second"))


def patch(client: Client, path: str, **values: Any) -> Any:
    return client.patch(f"{API}{path}", values, "application/json")


def post(client: Client, address: str, **values: Any) -> Any:
    return client.post(address, values, "application/json")


def waiting(client: Client) -> dict[str, Any]:
    (found,) = client.get(CHANGES).json()["results"]
    row: dict[str, Any] = found
    return row


def approve(client: Client) -> int:
    change = waiting(client)
    status: int = post(client, f"{CHANGES}{change['id']}/approve/", version=change["version"]).status_code
    return status


Case = tuple[Callable[[Client, Article], Any], Callable[[Article], str], str]

CASES: dict[str, Case] = {
    "retraction notice": (
        lambda client, article: post(client, f"{API}articles/{article.pk}/retract/", notice="Zanzibar"),
        lambda article: article.get_absolute_url(),
        "This article has been retracted",
    ),
    "channel": (
        lambda client, article: patch(client, f"channels/{article.channel_id}/", description="Zanzibar"),
        lambda article: "/channel/city/",
        "Of the city",
    ),
    "channel name": (
        lambda client, article: patch(client, f"channels/{article.channel_id}/", name="Zanzibar"),
        lambda article: "/",
        "City",
    ),
    "tag": (
        lambda client, article: patch(client, f"tags/{Tag.objects.get().pk}/", name="Zanzibar"),
        lambda article: article.get_absolute_url(),
        "Rain",
    ),
    "alt text": (
        lambda client, article: patch(client, f"images/{Image.objects.get().pk}/", alt="Zanzibar"),
        lambda article: article.get_absolute_url(),
        "Ships",
    ),
    "caption": (
        lambda client, article: patch(client, f"images/{Image.objects.get().pk}/", caption="Zanzibar", title="Own"),
        lambda article: f"/api/v1/articles/{article.pk}/",
        "Ships",
    ),
    "name of the author": (
        lambda client, article: patch(client, f"users/{article.author_id}/", name="Zanzibar"),
        lambda article: article.get_absolute_url(),
        "Ada",
    ),
    "author": (
        lambda client, article: patch(client, f"articles/{article.pk}/", author=make_named("Zanzibar").username),
        lambda article: article.get_absolute_url(),
        "Ada",
    ),
}


def make_named(name: str) -> User:
    user = make_member(Role.AUTHOR, "other")
    User.objects.filter(pk=user.pk).update(first_name=name)
    return user


@pytest.mark.cases(4)
@pytest.mark.parametrize("case", CASES)
def test_readers_see_a_text_once_another_person_has_approved_it(
    live: Article, first: Client, second: Client, case: str
) -> None:
    change, address_of, before = CASES[case]
    address = address_of(live)
    answer = change(first, live)
    assert answer.status_code in (200, 202), answer.text
    page = Client().get(address)
    assert ("Zanzibar" in page.text, before in page.text) == (False, True)
    assert approve(first) == 403
    assert "Zanzibar" not in Client().get(address).text
    assert approve(second) == 204
    assert "Zanzibar" in Client().get(address).text
    assert not ProposedChange.objects.exists()
    actions = AuditEntry.objects.filter(action__contains="_change").order_by("pk").values_list("action", "user_name")
    assert [*actions] == [("propose_change", "first"), ("approve_change", "second")]


def test_a_retraction_itself_waits_for_no_one(live: Article, first: Client) -> None:
    post(first, f"{API}articles/{live.pk}/retract/", notice="Zanzibar")
    page, program = Client().get(live.get_absolute_url()), Client().get(f"/api/v1/articles/{live.pk}/")
    assert (page.status_code, program.status_code) == (410, 410)
    for text in (page.text, program.text):
        assert "The newsroom has retracted this article." in text
    live.refresh_from_db()
    assert (live.status, live.retraction_notice) == (Status.RETRACTED, "")
    post(first, f"{API}articles/{live.pk}/undo-retraction/")
    assert not ProposedChange.objects.exists()


def test_a_new_channel_is_shown_once_another_person_has_approved_it(first: Client, second: Client) -> None:
    form = {"name": "Zanzibar", "slug": "", "position": "0", "description": "", "enabled": "on"}
    page = first.post("/admin/articles/channel/add/", form, follow=True)
    assert "Readers see this change once another person has approved it." in page.text
    assert (Client().get("/channel/zanzibar/").status_code, "Zanzibar" in Client().get("/").text) == (404, False)
    row = Channel.objects.get()
    listed = {"form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "1", "form-0-id": str(row.pk), "form-0-position": "3"}
    first.post("/admin/articles/channel/", {**listed, "form-0-enabled": "on", "_save": "Save"})
    row.refresh_from_db()
    assert (row.position, row.enabled) == (3, False)
    assert {one["field"]: one["new"] for one in waiting(second)["changes"]}["name"] == "Zanzibar"
    assert approve(second) == 204
    assert Client().get("/channel/zanzibar/").status_code == 200
    assert patch(first, f"channels/{row.pk}/", enabled=False).status_code == 200
    assert Client().get("/channel/zanzibar/").status_code == 404


def test_an_approval_is_of_what_was_shown(live: Article, first: Client, second: Client) -> None:
    address = f"channels/{live.channel_id}/"
    patch(first, address, description="Fine")
    read = waiting(second)
    patch(first, address, description="Zanzibar")
    refused = post(second, f"{CHANGES}{read['id']}/approve/", version=read["version"])
    assert (refused.status_code, refused.json()["code"]) == (409, "change_altered")
    Channel.objects.update(name="Town")
    changed = post(second, f"{CHANGES}{read['id']}/approve/", version=waiting(first)["version"])
    assert changed.status_code == 204
    assert (Channel.objects.get().name, Channel.objects.get().description) == ("Town", "Zanzibar")


def test_adding_to_a_change_is_writing_it(live: Article, first: Client, second: Client) -> None:
    patch(first, f"channels/{live.channel_id}/", description="One")
    patch(second, f"channels/{live.channel_id}/", name="Two")
    assert (approve(first), approve(second)) == (403, 403)
    assert approve(desk(make_member(Role.REVIEWER))) == 204


def test_a_program_is_no_other_person_than_those_who_answer_for_it(live: Article, second: Client) -> None:
    root, chief = make_user("root", is_superuser=True), make_member(Role.CHIEF, "chief")
    wire, desk_program = make_program("wire", by=root), make_program("desk", by=root)
    writer, approver = with_token(wire, by=chief), with_token(desk_program, by=root)
    patch(writer, f"channels/{live.channel_id}/", description="Zanzibar")
    assert [approve(client) for client in (writer, approver, desk(root), desk(chief))] == [403] * 4
    assert approve(second) == 204


def test_nor_is_it_in_the_review_of_an_article(live: Article) -> None:
    root, chief = make_user("root", is_superuser=True), make_member(Role.CHIEF, "chief")
    wire, desk_program = make_program("wire", by=root), make_program("desk", by=root)
    issue(wire, by=chief, name="x")
    publishing.edit(live, by=wire, changes={"title": "Zanzibar"})
    publishing.submit(live, by=wire)
    read = live.revisions.latest("number").number
    for user in (wire, desk_program, root, chief):
        with pytest.raises(NotAllowed, match="Two-person rule"):
            publishing.approve(live, by=user, revision=read)
    publishing.approve(live, by=make_member(Role.REVIEWER), revision=read)


def make_program(name: str, *, by: User) -> User:
    roles = Group.objects.filter(name=Role.CHIEF)
    return create_service_account(name=name, purpose="", roles=roles, by=by).user


def with_token(program: User, *, by: User) -> Client:
    return Client(headers={"authorization": f"Bearer {issue(program, by=by, name='x')[1]}"})


def test_a_change_is_rejected_with_a_reason_or_discarded_by_its_writer(
    live: Article, first: Client, second: Client
) -> None:
    def reject(client: Client, **values: str) -> int:
        status: int = post(client, f"{CHANGES}{waiting(client)['id']}/reject/", **values).status_code
        return status

    tag = f"tags/{Tag.objects.get().pk}/"
    patch(first, tag, name="Zanzibar")
    assert reject(desk(User.objects.get(username="author"))) == 403
    assert (reject(second), reject(second, reason="No")) == (400, 204)
    patch(first, tag, name="Zanzibar")
    assert reject(first) == 204
    assert (Tag.objects.get().name, ProposedChange.objects.exists()) == ("Rain", False)
    answer = Notification.objects.filter(kind="proposed", user__username="first").get()
    assert "No" in str(answer.reason)


def test_reviewers_are_notified_and_decide_on_the_page(live: Article, image: Image, first: Client) -> None:
    reviewer = make_member(Role.REVIEWER)
    form = {"alt": "Zanzibar", "title": "Ships", "caption": "", "credit": "", "focus_x": "10", "focus_y": "50"}
    said = first.post(f"/admin/articles/image/{image.pk}/change/", form, follow=True)
    assert "another person has approved it" in said.text
    own = first.get(PAGE).text
    assert ("Zanzibar" in own, "you have proposed this change" in own, "/approve/" in own) == (True, True, False)
    second = desk(reviewer)
    notification = Notification.objects.get(user=reviewer)
    assert second.get(f"/admin/articles/notification/{notification.pk}/change/").url == PAGE  # type: ignore[attr-defined]
    assert "Ships" in second.get("/admin/").text
    page = second.get(PAGE)
    assert image.thumbnail in page.text
    (row,) = page.context["rows"]
    second.post(f"{PAGE}{row.change.pk}/approve/", {"version": row.version})
    image.refresh_from_db()
    assert (image.alt, image.focus_x) == ("Zanzibar", 10)
    assert image.read(image.shared)


def test_what_readers_do_not_see_yet_needs_no_second_person(author: User, first: Client) -> None:
    image = make_image(author)
    draft = make_article("Draft", author=author, body=shown(image))
    draft.tags.add(Tag.objects.create(name="Rain"))
    assert patch(first, f"images/{image.pk}/", alt="Cranes").status_code == 200
    assert patch(first, f"tags/{Tag.objects.get().pk}/", name="Snow").status_code == 200
    assert patch(first, f"users/{author.pk}/", name="Ada").status_code == 200
    image.refresh_from_db()
    assert (image.alt, Tag.objects.get().name, User.objects.get(pk=author.pk).first_name) == ("Cranes", "Snow", "Ada")


def test_what_a_reviewer_may_be_reading_does_not_change_unnoticed(author: User, first: Client) -> None:
    image = make_image(author)
    make_article("In review", author=author, body=shown(image), status=Status.MANUAL_REVIEW)
    assert patch(first, f"users/{author.pk}/", name="Zanzibar").status_code == 202
    assert patch(first, f"images/{image.pk}/", focus_x=0).status_code == 202
    image.refresh_from_db()
    assert (image.focus_x, User.objects.get(pk=author.pk).first_name) == (50, "")


def test_a_word_that_is_forbidden_since_and_a_name_that_is_taken_are_refused(
    live: Article, first: Client, second: Client
) -> None:
    patch(first, f"channels/{live.channel_id}/", name="Zanzibar")
    SensitiveWord.objects.create(text="zanzibar", level=SensitiveWord.Level.BLOCK)
    assert approve(second) == 400
    SensitiveWord.objects.all().delete()
    make_channel("Zanzibar")
    assert approve(second) == 400
    assert Channel.objects.filter(name="City").exists()


def test_without_the_rule_nothing_waits(live: Article, first: Client, settings: Any) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = False
    for change, _address, _before in CASES.values():
        assert change(first, live).status_code == 200
    assert not ProposedChange.objects.exists()
    assert PAGE not in first.get("/admin/").text


def test_an_author_who_is_deleted_since_is_not_approved(live: Article, first: Client, second: Client) -> None:
    other = make_named("Zanzibar")
    patch(first, f"articles/{live.pk}/", author=other.username)
    other.delete()
    assert approve(second) == 404
    assert Article.objects.get().author == live.author


def test_with_its_object_a_change_is_gone(live: Article, first: Client, second: Client) -> None:
    patch(first, f"tags/{Tag.objects.get().pk}/", name="Zanzibar")
    first.delete(f"{API}tags/{Tag.objects.get().pk}/")
    assert not ProposedChange.objects.exists()
    assert post(second, f"{CHANGES}1/approve/", version="x").status_code == 404


@pytest.mark.cases(1)
@pytest.mark.parametrize("sent", [{}, {"slug": "rains"}], ids=["nothing", "slug"])
def test_a_name_of_a_tag_that_waits_stays_though_another_user_saves_its_form(
    live: Article, sent: dict[str, str]
) -> None:
    ed, other = make_user("ed", is_superuser=True), make_user("other", is_superuser=True)
    tag, address = Tag.objects.get(), f"{API}tags/{Tag.objects.get().pk}/"
    assert desk(ed).patch(address, {"name": "Storm"}, content_type="application/json").status_code == 202
    assert desk(other).patch(address, sent, content_type="application/json").status_code == 202
    page = f"/admin/articles/tag/{tag.pk}/change/"
    form = sent_by(desk(other).get(page).text, "tag_form")
    assert desk(other).post(page, form).status_code == 302
    assert ProposedChange.objects.get().values == {"name": "Storm", **sent}


@pytest.mark.cases(1)
@pytest.mark.parametrize("sent", [{}, {"position": 5}, {"name": "City"}], ids=["nothing", "position", "same name"])
def test_who_changes_no_text_of_a_channel_may_approve_what_waits(live: Article, sent: dict[str, Any]) -> None:
    ed, other = make_user("ed", is_superuser=True), make_user("other", is_superuser=True)
    address = f"{API}channels/{Channel.objects.get().pk}/"
    assert desk(ed).patch(address, {"description": "New"}, content_type="application/json").status_code == 202
    assert desk(other).patch(address, sent, content_type="application/json").status_code == 202
    change = ProposedChange.objects.get()
    assert (change.proposed_by, change.values) == ([ed.pk], {"description": "New"})


def test_what_waits_for_an_image_stays_though_another_user_sends_the_stored_text(live: Article, image: Image) -> None:
    ed, other = make_user("ed", is_superuser=True), make_user("other", is_superuser=True)
    address = f"{API}images/{image.pk}/"
    assert desk(ed).patch(address, {"alt": "Boats"}, content_type="application/json").status_code == 202
    sent = {"alt": image.alt, "title": "Harbour"}
    assert desk(other).patch(address, sent, content_type="application/json").status_code in (200, 202)
    change = ProposedChange.objects.get()
    assert (change.values, change.proposed_by) == ({"alt": "Boats"}, [ed.pk])
    assert Image.objects.get().title == "Harbour"


def test_an_author_who_waits_stays_though_another_user_sends_the_stored_one(live: Article, author: User) -> None:
    ed, other = make_user("ed", is_superuser=True), make_user("other", is_superuser=True)
    another = make_user("another", is_superuser=True)
    address = f"{API}articles/{live.pk}/"
    desk(ed).patch(address, {"author": another.username}, content_type="application/json")
    assert ProposedChange.objects.get().values == {"author_id": another.pk}
    desk(other).patch(address, {"author": author.username}, content_type="application/json")
    assert ProposedChange.objects.get().values == {"author_id": another.pk}
