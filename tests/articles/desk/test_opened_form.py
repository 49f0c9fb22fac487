"""Forms that were opened before another user changed the same row: they store what was typed in them, and no more."""

from __future__ import annotations

import re
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.db import connection, transaction
from django.db.models import Model
from django.test import Client, RequestFactory
from django.urls import reverse

from articles.alerts import delete_alert
from articles.desk.opened_form import OpenedForm
from articles.exceptions import ArticleGone
from articles.limits import MOST_BODY_ELEMENTS
from articles.models import Alert, Article, ArticleTemplate, Channel, Endpoint, SavedView, SensitiveWord, Tag
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, make_user
from tests.articles.image_files import make_image
from tests.articles.open_forms import sent_by
from tests.articles.publishing.test_races import together
from tests.articles.releases.test_races import someone_waits
from tests.harness import PATIENCE, eventually

pytestmark = pytest.mark.django_db

WITHOUT = {"Article", "Front", "Preferences", "QueuedArticle", "Release", "ReviewPolicy"}
"""Those with screens of their own."""


@pytest.fixture
def client() -> Client:
    client = Client()
    client.force_login(make_user("boss", is_superuser=True))
    return client


def address(row: Model) -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])


def opened(client: Client, row: Model) -> dict[str, Any]:
    sent = sent_by(client.get(address(row)).text, f"{row._meta.model_name}_form")
    assert sent, "the form was not found"
    return dict(sent)


def template() -> ArticleTemplate:
    channel = make_channel("Sports")
    return ArticleTemplate.objects.create(name="Match", title="T", summary="S", body="<p>Old</p>", channel=channel)


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("make", "typed", "other"),
    [
        (lambda: make_channel(description="Old"), {"position": 7}, {"description": "Theirs", "enabled": False}),
        (lambda: Tag.objects.create(name="Bridge", slug="bridge"), {"slug": "bridges"}, {"name": "Theirs"}),
        (template, {"name": "Match report"}, {"body": "<p>An hour of work</p>", "channel_id": None}),
        (template, {"name": "Match report"}, {"channel_id": "new"}),
        (lambda: SensitiveWord.objects.create(text="foo", level="review"), {"text": "fooo"}, {"level": "block"}),
        (lambda: make_image(make_editor()), {"alt": "Ships"}, {"caption": "Theirs"}),
    ],
    ids=["channel", "tag", "template", "channel of a template", "word", "image"],
)
def test_what_another_user_has_changed_stays(
    client: Client, make: Callable[[], Model], typed: dict[str, Any], other: dict[str, Any]
) -> None:
    row = make()
    form = opened(client, row)
    changed = {name: make_channel("News").pk if value == "new" else value for name, value in other.items()}
    rows = type(row)._default_manager.filter(pk=row.pk)
    rows.update(**changed)
    assert client.post(address(row), {**form, **typed}).status_code == 302
    assert rows.values(*typed, *changed).get() == {**typed, **changed}


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("make", "typed"),
    [
        (make_channel, {"name": "Unsaved", "position": "x"}),
        (lambda: Tag.objects.create(name="Bridge", slug="bridge"), {"name": "Unsaved", "slug": "/"}),
        (template, {"name": "Unsaved", "title": "x" * 500}),
        (lambda: SensitiveWord.objects.create(text="foo", level="review"), {"text": "Unsaved", "level": "x"}),
        (lambda: make_image(make_editor(), title="Ships"), {"title": "Unsaved", "alt": ""}),
        (lambda: make_user("bob"), {"username": "Unsaved", "email": "x"}),
        (lambda: Group.objects.create(name="Night"), {"name": "Unsaved", "permissions": "99999"}),
    ],
    ids=["channel", "tag", "template", "word", "image", "user", "group"],
)
def test_a_refused_form_is_headed_with_the_stored_name(
    client: Client, make: Callable[[], Model], typed: dict[str, Any]
) -> None:
    row = make()
    page = client.post(address(row), {**opened(client, row), **typed})
    assert page.status_code == 200
    assert page.text.count("Unsaved") == 1, "not only in its field"
    title = re.search(r"<title>(.*?)</title>", page.text, re.DOTALL)
    assert title and str(row) in title[1]


@pytest.mark.django_db(transaction=True)
def test_a_form_that_is_saved_while_another_is_leaves_what_that_changes(client: Client) -> None:
    if not connection.features.has_select_for_update:
        pytest.skip("SQLite has no row locks")
    user, role, held = make_user("bob"), Group.objects.order_by("pk")[0], Event()
    user.groups.set([role])
    form = opened(client, user)

    def block() -> None:
        with transaction.atomic():
            User.objects.filter(pk=user.pk).update(is_active=False)
            user.groups.clear()
            held.set()
            eventually(someone_waits)

    def rename() -> int:
        held.wait(PATIENCE)
        return client.post(address(user), {**form, "email": "bob@example.org"}).status_code

    assert together(block, rename) == [None, 302]
    user.refresh_from_db()
    assert (user.email, user.is_active, user.groups.count()) == ("bob@example.org", False, 0)


@pytest.mark.django_db(transaction=True)
def test_a_list_that_is_saved_while_a_channel_is_disabled_leaves_it_so(client: Client) -> None:
    if not connection.features.has_select_for_update:
        pytest.skip("SQLite has no row locks")
    first, second, held = make_channel("A"), make_channel("B"), Event()
    rows = "/admin/articles/channel/"
    form = dict(sent_by(client.get(rows).text, "changelist-form"))
    place = next(name for name, values in form.items() if name.endswith("-id") and values == [str(second.pk)])

    def disable() -> None:
        with transaction.atomic():
            Channel.objects.filter(pk=second.pk).update(enabled=False)
            held.set()
            eventually(someone_waits)

    def move() -> int:
        held.wait(PATIENCE)
        return client.post(rows, {**form, place.replace("-id", "-position"): 5, "_save": "Save"}).status_code

    assert together(disable, move) == [None, 302]
    stored = Channel.objects.order_by("name").values_list("position", "enabled")
    assert [*stored] == [(first.position, True), (5, False)]


def test_tags_that_another_user_added_or_removed_stay_so(client: Client) -> None:
    row, tags = template(), [Tag.objects.create(name=name, slug=name) for name in "abcd"]
    row.tags.set(tags[:2])
    form = opened(client, row)
    row.tags.set([tags[0], tags[2]])  # another user has removed b and added c
    client.post(address(row), {**form, "tags": [tags[1].pk, tags[3].pk]})  # who sees a and b removes a and adds d
    assert "".join(row.tags.order_by("name").values_list("name", flat=True)) == "cd"


def test_a_choice_from_none_stays_when_the_form_is_shown_again(client: Client) -> None:
    row, tag = template(), Tag.objects.create(name="a", slug="a")
    form = opened(client, row)
    assert form["initial-tags"] == [""]
    again = client.post(address(row), {**form, "tags": [tag.pk], "title": "x" * 500})
    assert again.status_code == 200
    sent = sent_by(again.text, "articletemplate_form")
    assert (sent["initial-tags"], sent["tags"]) == ([""], [str(tag.pk)])
    client.post(address(row), {**sent, "title": "T"})
    assert [*row.tags.all()] == [tag]


def test_the_list_of_channels_keeps_what_another_user_disabled(client: Client) -> None:
    first, second = make_channel("A"), make_channel("B")
    rows = "/admin/articles/channel/"
    form = dict(sent_by(client.get(rows).text, "changelist-form"))
    Channel.objects.filter(pk=second.pk).update(enabled=False, description="Theirs")
    place = next(name for name, values in form.items() if name.endswith("-id") and values == [str(first.pk)])
    answer = client.post(rows, {**form, place.replace("-id", "-position"): 5, "_save": "Save"})
    assert answer.status_code == 302
    found = Channel.objects.order_by("name").values_list("position", "enabled", "description")
    assert [*found] == [(5, True, ""), (second.position, False, "Theirs")]


def test_a_view_that_was_shared_in_another_window_stays_shared(client: Client) -> None:
    view = SavedView.objects.create(owner_id=client.session["_auth_user_id"], name="Mine", query="stage=review")
    page = client.get("/admin/desk/views/").text
    assert f'id="initial-view_{view.pk}_shared"' in page
    SavedView.objects.update(shared=True)
    sent = {"name": "Ours", "initial-name": "Mine", "initial-shared": "False"}
    client.post(f"/admin/desk/views/{view.pk}/", sent)
    assert SavedView.objects.values_list("name", "shared").get() == ("Ours", True)


@pytest.mark.parametrize("kind", ["user", "role", "template", "webhook"])
def test_programs_take_away_what_is_chosen(client: Client, kind: str) -> None:
    """A role that is taken away, and a channel of a webhook, are a right less."""
    groups, tags = [*Group.objects.order_by("pk")[:2]], [Tag.objects.create(name=one, slug=one) for one in "ab"]
    channels, boss = [make_channel("A"), make_channel("B")], User.objects.get()
    permissions = [*Permission.objects.filter(content_type__app_label="articles")[:2]]
    named = [f"articles.{one.codename}" for one in permissions]
    row: Any
    if kind == "user":
        row, at, field = make_user("bob"), "users", "groups"
        sent: dict[str, Any] = {"roles": [groups[0].name]}
    elif kind == "role":
        row, at, field, sent = Group.objects.create(name="Night"), "roles", "permissions", {"permissions": named[:1]}
    elif kind == "template":
        row, at, field, sent = template(), "templates", "tags", {"tags": ["a"]}
    else:
        row = Endpoint.objects.create(url="https://example.org/x", owner=boss, secret="x", position=0)
        at, field, sent = "webhooks", "channels", {"channels": [channels[0].slug]}
    rows: dict[str, list[Any]] = {"groups": groups, "permissions": permissions, "tags": tags, "channels": channels}
    chosen = rows[field]
    getattr(row, field).set(chosen)
    for values, left in ((sent, chosen[:1]), (dict.fromkeys(sent, []), [])):
        response = client.patch(f"/api/v1/desk/{at}/{row.pk}/", values, content_type="application/json")
        assert (response.status_code, [*getattr(row, field).all()]) == (200, left)


def test_two_users_who_each_leave_another_channel_do_not_leave_none(client: Client) -> None:
    """Which would stand for all channels."""
    first, second = make_channel("First"), make_channel("Second")
    row = Endpoint.objects.create(url="https://example.org/x", owner=User.objects.get(), secret="x", position=0)
    row.channels.set([first, second])
    mine, theirs = opened(client, row), opened(client, row)
    assert client.post(address(row), {**theirs, "channels": [first.pk]}).status_code == 302
    refused = client.post(address(row), {**mine, "channels": [second.pk]})
    assert "Another user has changed this since: First. Choose again, and save." in refused.text
    assert [*row.channels.all()] == [first]
    again = sent_by(refused.text, "endpoint_form")
    assert client.post(address(row), again).status_code == 302
    assert [*row.channels.all()] == [second]


def test_a_kind_of_event_that_another_user_took_from_a_webhook_stays_away(client: Client) -> None:
    row = Endpoint.objects.create(url="https://example.org/x", owner=User.objects.get(), secret="x", position=0)
    kinds = Endpoint.objects.filter(pk=row.pk)
    kinds.update(kinds=["article.published", "article.scheduled"], hears_newsroom=True)
    form = opened(client, row)
    kinds.update(kinds=["article.published"])
    answer = client.post(address(row), {**form, "kinds": ["article.published", "article.scheduled", "article.updated"]})
    assert answer.status_code == 302
    assert kinds.get().kinds == ["article.published", "article.updated"]
    kinds.update(kinds=[])
    refused = client.post(
        address(row), {**form, "kinds": ["article.published"]}
    )  # without the kind that is gone already
    assert "Another user has changed this since: none." in refused.text


def test_a_channel_that_another_user_deleted_does_not_leave_none(client: Client) -> None:
    first, second = make_channel("First"), make_channel("Second")
    row = Endpoint.objects.create(url="https://example.org/x", owner=User.objects.get(), secret="x", position=0)
    row.channels.set([first, second])
    form = opened(client, row)
    row.channels.clear()
    refused = client.post(address(row), {**form, "channels": [second.pk]})
    assert "Another user has changed this since: none. Choose again, and save." in refused.text


def test_what_is_untouched_stays_though_it_could_not_be_sent_now(client: Client) -> None:
    group = Group.objects.create(name="Night")
    group.permissions.set(Permission.objects.all())  # also those that the form does not offer
    assert client.post(address(group), {**opened(client, group), "name": "Late"}).status_code == 302
    assert (Group.objects.get(pk=group.pk).name, group.permissions.count()) == ("Late", Permission.objects.count())
    user = make_user("CORP\\bob two")  # as a directory names users
    assert client.post(address(user), {**opened(client, user), "email": "bob@example.org"}).status_code == 302
    assert User.objects.get(pk=user.pk).email == "bob@example.org"
    row = template()
    ArticleTemplate.objects.update(body="<p>a</p>" * (MOST_BODY_ELEMENTS + 1))
    assert client.post(address(row), {**opened(client, row), "name": "Renamed"}).status_code == 302
    assert ArticleTemplate.objects.get().name == "Renamed"


@pytest.mark.cases(2)
@pytest.mark.parametrize("key", ["{pk}", "99999999999999999999999", "-1", "x", "1_0", "%00"])
def test_what_was_typed_is_shown_if_the_row_is_gone(client: Client, key: str) -> None:
    row = make_channel("City")
    form, pk = opened(client, row), row.pk
    row.delete()
    sent = {**form, "description": "An hour of work"}
    page = client.post(f"/admin/articles/channel/{key.format(pk=pk)}/change/", sent)
    assert (page.status_code, page.text.count("It does not exist any more.")) == (404, 1)
    assert "An hour of work</textarea>" in page.text and "Open the form again" not in page.text


def test_what_a_service_refuses_of_chosen_rows_is_said_above_the_list(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user has deleted the article, and the alert with it."""
    alert = Alert.objects.create(article=make_article(status=APPROVED), text="Ahoy")

    def delete_first(row: Alert, **options: Any) -> None:
        Article.objects.all().delete()
        delete_alert(row, **options)

    monkeypatch.setattr("articles.desk.alerts.delete_alert", delete_first)
    sent = {"action": "delete_selected", "_selected_action": [alert.pk], "post": "yes"}
    page = client.post("/admin/articles/alert/", sent, follow=True)
    assert str(ArticleGone()) in page.text


def test_what_a_form_needs_is_missed_also_if_it_was_empty(client: Client) -> None:
    image = make_image(make_editor())
    type(image).objects.update(alt="")
    refused = client.post(address(image), {**opened(client, image), "title": "Ships"})
    assert refused.context["adminform"].form.errors.as_data()["alt"][0].code == "required"


def test_a_form_without_what_it_was_opened_with_leaves_what_it_does_not_offer(client: Client) -> None:
    """As it was sent before this version."""
    group = Group.objects.create(name="Night")
    group.permissions.set(Permission.objects.all())
    form = {name: value for name, value in opened(client, group).items() if not name.startswith("initial-")}
    count, offered = Permission.objects.count(), list(form["permissions"])
    assert 0 < len(offered) < count
    assert client.post(address(group), {**form, "permissions": offered[1:]}).status_code == 302
    assert group.permissions.count() == count - 1


def test_all_channels_of_a_page_can_be_saved(client: Client) -> None:
    Channel.objects.bulk_create(Channel(name=f"C{number}", slug=f"c{number}") for number in range(199))
    page = client.get("/admin/articles/channel/?all=1")
    assert len(page.context["cl"].result_list) * 5 < settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
    sent = sent_by(page.text, "changelist-form")
    assert len(sent) > 100
    assert client.post("/admin/articles/channel/?all=1", {**sent, "_save": "Save"}).status_code == 302


def test_every_form_of_the_admin_that_changes_rows_is_one(rf: RequestFactory) -> None:
    request = rf.get(reverse("admin:index"))  # which registers them
    request.user = make_user("boss", is_superuser=True)
    changed = {
        model.__name__: screens.form
        for model, screens in admin.site._registry.items()
        if screens.has_change_permission(request)
    }
    others = {name for name, form in changed.items() if not issubclass(form, OpenedForm)}
    assert others == WITHOUT
