"""What two windows, or two users, save at the same time: neither loses what is stored, and no answer is an error."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.test import Client

from articles.models import CalendarFeed, Endpoint, ReviewPolicy, ReviewStage, SavedView
from articles.review import StageChoice, choose_policy, choose_stages
from headline.api.models import ApiToken, Scope
from headline.api.service_accounts import change_service_account, create_service_account
from tests.articles.factories import make_user
from tests.articles.open_forms import sent_by
from tests.articles.publishing.test_races import together
from tests.articles.releases.test_races import someone_waits
from tests.articles.webhooks.receivers import make_endpoint
from tests.harness import PATIENCE, eventually

pytestmark = pytest.mark.django_db(transaction=True)

API = "/api/v1/desk/"
POLICY = "/admin/articles/reviewpolicy/"


@pytest.fixture(autouse=True)
def _row_locks() -> None:
    if not connection.features.has_select_for_update:
        pytest.skip("SQLite has no row locks")


@pytest.fixture
def boss() -> User:
    return make_user("boss", is_superuser=True)


def desk(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def while_it_waits(change: Callable[[], Any], then: Callable[[], Any]) -> Any:
    """The result of `then`, which begins after the change and waits until that is committed."""
    held = Event()

    def first() -> None:
        with transaction.atomic():
            change()
            held.set()
            eventually(someone_waits)

    def second() -> Any:
        held.wait(PATIENCE)
        return then()

    nothing, result = together(first, second)
    assert nothing is None
    return result


def set_password(user: User) -> None:
    stored = User.objects.select_for_update().get(pk=user.pk)
    stored.set_password("Another 77 long")
    stored.save(update_fields=["password"])


def add_token(client: Client, **owner: str) -> int:
    sent = {"name": "evil", "scopes": list(Scope.values), **owner}
    return client.post(f"{API}tokens/", sent, content_type="application/json").status_code


def test_no_token_is_issued_while_the_password_is_changed(boss: User) -> None:
    client = desk(boss)
    assert while_it_waits(lambda: set_password(boss), lambda: add_token(client)) == 403
    assert not ApiToken.objects.exists()


def test_no_token_is_issued_while_the_program_is_deactivated(boss: User) -> None:
    role = Group.objects.create(name="Night")
    account = create_service_account(name="robot", purpose="", roles=[role], by=boss)
    client = desk(boss)

    def deactivate() -> None:
        change_service_account(account, by=boss, is_active=False)

    assert while_it_waits(deactivate, lambda: add_token(client, owner="robot")) == 403
    assert not ApiToken.objects.exists()


def test_no_address_of_the_calendar_is_given_while_the_password_is_changed(boss: User) -> None:
    client = desk(boss)
    answer = while_it_waits(lambda: set_password(boss), lambda: client.post("/admin/calendar/feed/", {"new": "1"}))
    assert answer.status_code == 302
    assert not CalendarFeed.objects.exists()


def test_a_stage_that_another_user_adds_at_the_same_time_stays(boss: User) -> None:
    first, _second, final, _proof = ReviewStage.Kind.values
    client, other = desk(boss), make_user("other", is_superuser=True)
    sent = {**sent_by(client.get(POLICY).text, "stages_form"), "stages": "1", "stage-0-name": "Mine"}

    def choose() -> None:
        choose_stages([StageChoice(first), StageChoice(final, "Legal")], by=other)

    answer = while_it_waits(choose, lambda: client.post(POLICY, sent))
    assert "Another user has changed the stages" in answer.text
    assert [stage.name for stage in ReviewStage.in_order()] == ["", "Legal"]


def test_a_policy_that_another_user_tightens_stays_if_this_one_chooses_nothing(boss: User) -> None:
    choose_policy(ReviewPolicy.Machine.values[-1], by=boss)
    client = desk(boss)
    sent = sent_by(client.get(POLICY).text, "policy_form")
    choose_policy(ReviewPolicy.Machine.NEVER, by=make_user("other", is_superuser=True))
    assert client.post(POLICY, sent).status_code == 302
    assert ReviewPolicy.chosen() == ReviewPolicy.Machine.NEVER
    assert client.post(POLICY, {"machine": ReviewPolicy.Machine.values[-1]}).status_code == 302
    assert ReviewPolicy.chosen() == ReviewPolicy.Machine.values[-1]


@pytest.mark.parametrize(
    ("address", "sent"),
    [("notifications/choices/", {"desk": []}), ("me/", {"time_zone": "Europe/Berlin"})],
    ids=["notifications", "time zone"],
)
def test_two_windows_store_the_first_choices_of_a_user(address: str, sent: dict[str, Any]) -> None:
    def choose(client: Client) -> Callable[[], int]:
        return lambda: client.patch(f"{API}{address}", sent, content_type="application/json").status_code

    for number in range(3):
        user = make_user(f"bob{number}", is_superuser=True)
        assert together(choose(desk(user)), choose(desk(user))) == [200, 200]


def test_a_view_that_is_saved_by_a_double_click_is_saved_once(boss: User) -> None:
    def save(client: Client, name: str) -> Callable[[], int]:
        return lambda: client.post("/admin/desk/views/save/", {"name": name, "query": "q=x"}).status_code

    one, other = desk(boss), desk(boss)
    for name in "abc":
        assert sorted(together(save(one, name), save(other, name))) == [302, 400]
    assert SavedView.objects.count() == 3


def test_a_view_that_is_no_longer_shared_stays_so_while_it_is_renamed(boss: User) -> None:
    view, client = SavedView.objects.create(owner=boss, name="Mine", query="q=x", shared=True), desk(boss)
    unshare = SavedView.objects.filter(pk=view.pk)
    address = f"{API}views/{view.pk}/"
    answer = while_it_waits(
        lambda: unshare.update(shared=False),
        lambda: client.patch(address, {"name": "Ours"}, content_type="application/json"),
    )
    assert answer.status_code == 200
    assert unshare.values_list("name", "shared").get() == ("Ours", False)


def test_two_programs_of_one_name_are_one(boss: User) -> None:
    Group.objects.create(name="Night")
    sent = {"name": "robot", "roles": ["Night"]}

    def add(client: Client) -> Callable[[], int]:
        return lambda: client.post(f"{API}service-accounts/", sent, content_type="application/json").status_code

    assert sorted(together(add(desk(boss)), add(desk(boss)))) == [201, 400]


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("button", "sent"),
    [("rotate", {}), ("pause", {"enabled": "0"}), ("test", {}), ("replay", {"since": "2026-01-02T03:04"})],
)
def test_a_button_of_a_webhook_that_is_being_deleted_says_so(boss: User, button: str, sent: dict[str, str]) -> None:
    endpoint, client = make_endpoint("https://example.com/"), desk(boss)
    address = f"/admin/articles/endpoint/{endpoint.pk}/{button}/"
    answer = while_it_waits(
        lambda: Endpoint.objects.get(pk=endpoint.pk).delete(), lambda: client.post(address, sent, follow=True)
    )
    assert answer.status_code == 200
    assert "It does not exist any more." in answer.text


def test_a_program_that_is_being_deleted_is_not_found(boss: User) -> None:
    account = create_service_account(name="robot", purpose="", roles=[Group.objects.create(name="Night")], by=boss)
    client = desk(boss)

    def rename() -> int:
        address, sent = f"{API}service-accounts/{account.pk}/", {"purpose": "Agency"}
        return client.patch(address, sent, content_type="application/json").status_code

    assert while_it_waits(lambda: User.objects.get(username="robot").delete(), rename) == 404
