"""Users cannot grant permissions that they lack; changes of accounts are recorded."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from articles.models import AuditEntry
from articles.roles import Role
from tests.articles.factories import make_member, make_user
from tests.articles.open_forms import sent_by

USERS, GROUPS = "/admin/auth/user/", "/admin/auth/group/"
MANAGING = [f"{verb}_{model}" for verb in ("add", "change", "delete", "view") for model in ("user", "group")]
NEW = "a new and long one"

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager() -> User:
    """A user who manages accounts and may write articles, but is no superuser."""
    user = make_user("manager", *MANAGING, "view_article")
    user.save()
    return user


@pytest.fixture
def desk(manager: User) -> Client:
    client = Client()
    client.force_login(manager)
    return client


def form(user: User, **typed: Any) -> dict[str, Any]:
    """The form data of a user, with changes."""
    filled = {
        "username": user.username,
        "name": user.get_full_name(),
        "email": user.email,
        "is_active": "on",
        "is_staff": "on",
        "groups": [*user.groups.values_list("pk", flat=True)],
        "user_permissions": [*user.user_permissions.values_list("pk", flat=True)],
        "date_joined_0": "2026-01-01",
        "date_joined_1": "12:00:00",
    }
    return {**filled, **typed}


def change(desk: Client, user: User, **typed: Any) -> Any:
    return desk.post(f"{USERS}{user.pk}/change/", form(user, **typed))


def rights(user: User) -> set[str]:
    return User.objects.get(pk=user.pk).get_all_permissions()


def test_users_cannot_make_themselves_or_others_superusers(desk: Client, manager: User) -> None:
    bob = make_user("bob")
    for user in (manager, bob):
        assert change(desk, user, is_superuser="on").status_code == 302
        assert not User.objects.get(pk=user.pk).is_superuser


@pytest.mark.parametrize("way", ["permission", "group"])
def test_users_cannot_grant_permissions_they_lack(desk: Client, manager: User, way: str) -> None:
    before, bob = rights(manager), make_user("bob")
    more: dict[str, Any] = {"user_permissions": [Permission.objects.get(codename="publish_article").pk]}
    if way == "group":
        more = {"groups": [Group.objects.get(name=Role.CHIEF).pk]}
    refused = change(desk, manager, **more)
    assert refused.status_code == 200 and refused.context["errors"]
    change(desk, bob, **more)
    assert (rights(manager), rights(bob)) == (before, set())


def test_users_can_grant_permissions_they_have(desk: Client) -> None:
    bob, group = make_user("bob"), Group.objects.create(name="Readers")
    group.permissions.add(Permission.objects.get(codename="view_article"))
    assert change(desk, bob, groups=[group.pk]).status_code == 302
    assert rights(bob) == {"articles.view_article"}


@pytest.mark.cases(2)
@pytest.mark.parametrize("kind", ["superuser", "chief", "inactive chief", "inactive superuser"])
def test_users_cannot_take_over_accounts_with_more_permissions(desk: Client, kind: str) -> None:
    """By its password, its mail address, reactivation or deletion."""
    victim = make_member(Role.CHIEF, "victim")
    User.objects.filter(pk=victim.pk).update(is_superuser="superuser" in kind, is_active="inactive" not in kind)
    before = User.objects.filter(pk=victim.pk).values().get()
    both = {"password1": NEW, "password2": NEW, "usable_password": "true"}
    assert desk.post(f"{USERS}{victim.pk}/password/", both).status_code == 403
    assert change(desk, victim, email="mine@example.org").status_code == 403
    assert desk.post(f"{USERS}{victim.pk}/delete/", {"post": "yes"}).status_code == 403
    desk.post(USERS, {"action": "delete_selected", "_selected_action": [victim.pk], "post": "yes"})
    assert User.objects.filter(pk=victim.pk).values().get() == before


def test_users_cannot_add_permissions_they_lack_to_a_group(desk: Client, manager: User) -> None:
    mine = Group.objects.create(name="Mine")
    mine.permissions.add(Permission.objects.get(codename="view_article"))
    manager.groups.add(mine)
    publish = Permission.objects.get(codename="publish_article")
    assert desk.post(f"{GROUPS}{mine.pk}/change/", {"name": "Mine", "permissions": [publish.pk]}).status_code == 200
    assert desk.post(f"{GROUPS}add/", {"name": "New", "permissions": [publish.pk]}).status_code == 200
    chief = Group.objects.get(name=Role.CHIEF)
    assert desk.post(f"{GROUPS}{chief.pk}/change/", {"name": "Empty", "permissions": []}).status_code == 403
    assert desk.post(f"{GROUPS}{chief.pk}/delete/", {"post": "yes"}).status_code == 403
    assert "articles.publish_article" not in rights(manager)
    assert Group.objects.get(pk=chief.pk).permissions.count() == chief.permissions.count() > 0


def test_a_superuser_can_do_all_of_it() -> None:
    root, bob = make_user("root", is_superuser=True), make_user("bob")
    desk = Client()
    desk.force_login(root)
    chief = Group.objects.get(name=Role.CHIEF)
    assert change(desk, bob, is_superuser="on", groups=[chief.pk]).status_code == 302
    assert User.objects.get(pk=bob.pk).is_superuser
    both = {"password1": NEW, "password2": NEW, "usable_password": "true"}
    assert desk.post(f"{USERS}{bob.pk}/password/", both).status_code == 302
    assert User.objects.get(pk=bob.pk).check_password(NEW)


def test_changes_of_users_and_groups_are_recorded(desk: Client) -> None:
    bob, group = make_user("bob"), Group.objects.create(name="Readers")
    group.permissions.add(Permission.objects.get(codename="view_article"))
    AuditEntry.objects.latest("id")
    last = AuditEntry.objects.latest("id").pk
    change(desk, bob, username="robert", groups=[group.pk])
    desk.post(f"{GROUPS}{group.pk}/change/", {"name": "Readers", "permissions": []})
    both = {"password1": NEW, "password2": NEW, "usable_password": "true"}
    desk.post(f"{USERS}{bob.pk}/password/", both)
    desk.post(f"{USERS}{bob.pk}/delete/", {"post": "yes"})
    entries = AuditEntry.objects.filter(pk__gt=last).order_by("pk")
    assert {(entry.user_name, entry.source) for entry in entries} == {("manager", "admin")}
    recorded = [(entry.action, entry.article_title, entry.details) for entry in entries]
    assert recorded == [
        ("change_user", "robert", {"changes": {"username": ["bob", "robert"]}}),
        ("change_user", "robert", {"given": ["Readers"]}),
        ("change_group", "Readers", {}),
        ("change_group", "Readers", {"taken": ["articles.view_article"]}),
        ("change_password", "robert", {}),
        ("delete_user", "robert", {}),
    ]
    assert NEW not in str(recorded)


def test_permission_changes_are_recorded_from_either_side() -> None:
    bob, group = make_user("bob"), Group.objects.create(name="Readers")
    group.user_set.add(bob)
    group.user_set.clear()
    bob.groups.set([group])
    bob.groups.clear()
    recorded = AuditEntry.objects.filter(action="change_user", article_title="bob").order_by("pk")
    assert [entry.details for entry in recorded] == [{"given": ["Readers"]}, {"taken": ["Readers"]}] * 2


def test_what_another_administrator_took_from_a_user_or_group_stays_taken() -> None:
    root, bob = make_user("root", is_superuser=True), make_member(Role.EDITOR, "bob")
    group, publish = Group.objects.create(name="Night"), Permission.objects.get(codename="publish_article")
    group.permissions.add(publish)
    bob.groups.add(group)
    bob.user_permissions.add(publish)
    desk = Client()
    desk.force_login(root)
    of_bob, of_group = f"{USERS}{bob.pk}/change/", f"{GROUPS}{group.pk}/change/"
    user_form = sent_by(desk.get(of_bob).text, "user_form")
    group_form = sent_by(desk.get(of_group).text, "group_form")
    assert len(user_form["groups"]) == 2 and user_form["user_permissions"] == group_form["permissions"]
    chief = Group.objects.get(name=Role.CHIEF)
    bob.groups.set([group])
    bob.user_permissions.clear()
    User.objects.filter(pk=bob.pk).update(is_active=False, is_staff=False, is_superuser=False)
    group.permissions.set([Permission.objects.get(codename="view_article")])
    typed = {"name": "Bob Jones", "groups": [*user_form["groups"], chief.pk]}
    assert desk.post(of_bob, {**user_form, **typed}).status_code == 302
    assert desk.post(of_group, {**group_form, "name": "Night desk"}).status_code == 302
    bob.refresh_from_db()
    assert (bob.get_full_name(), bob.is_active, bob.is_staff) == ("Bob Jones", False, False)
    assert ({*bob.groups.all()}, bob.user_permissions.count()) == ({group, chief}, 0)
    group.refresh_from_db()
    assert (group.name, group.permissions.get().codename) == ("Night desk", "view_article")


def test_the_last_administrator_stays_one_also_when_another_has_just_been_deactivated() -> None:
    root, other = make_user("root", is_superuser=True), make_user("other", is_superuser=True)
    desk = Client()
    desk.force_login(root)
    form_of_root = sent_by(desk.get(f"{USERS}{root.pk}/change/").text, "user_form")
    User.objects.filter(pk=other.pk).update(is_active=False)
    form_of_root.pop("is_superuser")
    refused = desk.post(f"{USERS}{root.pk}/change/", form_of_root)
    assert "This is the last administrator." in refused.text
    assert User.objects.get(pk=root.pk).is_superuser
