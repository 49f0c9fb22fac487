"""What editors do in the admin, programs do by API: the list of actions, and the operation of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.test import APIClient

from articles.limits import MOST_BULK
from articles.models import Article, AuditEntry, BulkActionItem, Channel, Tag
from articles.roles import Role
from articles.workflow import TRANSITIONS
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, make_member, make_user, soon
from tests.headline.api_document import api_document
from tests.headline.test_api_schema import operations

API = "/api/v1/desk/"

ROWS = {
    "articles_alert": "desk_alerts",
    "articles_article": "desk_articles",
    "articles_articletemplate": "desk_templates",
    "articles_auditentry": "desk_audit",
    "articles_channel": "desk_channels",
    "articles_endpoint": "desk_webhooks",
    "articles_front": "desk_fronts",
    "articles_image": "desk_images",
    "articles_notification": "desk_notifications",
    "articles_queuedarticle": "desk_articles",
    "articles_release": "desk_releases",
    "articles_sensitiveword": "desk_words",
    "articles_tag": "desk_tags",
    "auth_group": "desk_roles",
    "auth_user": "desk_users",
    "headline_api_apitoken": "desk_tokens",
    "headline_api_serviceaccount": "desk_service_accounts",
    "scheduling_taskinfo": "tasks",
    "scheduling_taskinfolog": "tasks",
}
"""The screens of a model: the operations that add, list, change and delete its rows."""

VERBS = {"add": "create", "change": "partial_update", "changelist": "list", "delete": "destroy", "history": "list"}

OTHERS = {
    "articles_article_checks": "desk_articles_checks",
    "articles_article_duplicate": "desk_articles_duplicate",
    "articles_article_links": "desk_preview_links_list desk_preview_links_create",
    "articles_article_notes": (
        "desk_notes_list desk_notes_create desk_notes_reply desk_notes_partial_update desk_notes_destroy "
        "desk_notes_resolve desk_notes_reopen"
    ),
    "articles_article_preview": "desk_revisions_retrieve",
    "articles_article_restore_revision": "desk_revisions_restore",
    "articles_article_revision": "desk_revisions_retrieve desk_revisions_diff",
    "articles_article_revisions": "desk_revisions_list",
    "articles_article_revoke": "desk_preview_links_destroy",
    "articles_article_sheet": "desk_articles_checks",
    "articles_article_state": "desk_articles_transitions",
    "articles_article_targets": "desk_articles_list",
    "articles_alert_push": "desk_alerts_push",
    "articles_endpoint_pause": "desk_webhooks_partial_update",
    "articles_endpoint_replay": "desk_webhooks_replay desk_webhooks_deliveries",
    "articles_endpoint_rotate": "desk_webhooks_rotate_secret",
    "articles_endpoint_test": "desk_webhooks_test",
    "articles_front_block": "desk_front_versions_edit",
    "articles_front_card": "desk_front_versions_edit",
    "articles_front_change": "desk_front_versions_list desk_front_versions_retrieve desk_front_versions_preflight",
    "articles_front_compare": "desk_front_versions_retrieve",
    "articles_front_compose": "desk_fronts_create desk_front_versions_create",
    "articles_front_delete_draft": "desk_front_versions_destroy",
    "articles_front_edit": "desk_front_versions_edit",
    "articles_front_join": "desk_releases_add_front",
    "articles_front_preview": "desk_front_versions_retrieve",
    "articles_front_publish": "desk_front_versions_publish",
    "articles_front_put": "desk_front_versions_edit",
    "articles_front_end": "desk_front_versions_end",
    "articles_front_repeat": "desk_front_versions_repeat",
    "articles_front_skip": "desk_front_versions_skip",
    "articles_front_unskip": "desk_front_versions_unskip",
    "articles_front_schedule": "desk_front_versions_schedule",
    "articles_front_start": "desk_front_versions_create",
    "articles_front_unschedule": "desk_front_versions_unschedule",
    "articles_frontversion_change": "desk_front_versions_retrieve",
    "articles_image_describe": "desk_images_partial_update",
    "articles_image_favour": "desk_images_favourite",
    "articles_image_focus": "desk_images_partial_update",
    "articles_image_picker": "desk_images_list",
    "articles_image_upload": "desk_images_create desk_images_fetch",
    "articles_notification_choose": "desk_notifications_choices_retrieve desk_notifications_choices_partial_update",
    "articles_notification_read": "desk_notifications_read",
    "articles_preferences_changelist": "desk_me_retrieve desk_me_partial_update",
    "articles_preferences_language": "desk_me_partial_update",
    "articles_release_add_front": "desk_releases_add_front",
    "articles_release_add_members": "desk_releases_add_member",
    "articles_release_remove_front": "desk_releases_remove_front",
    "articles_release_ask": (
        "desk_releases_publish desk_releases_cancel desk_releases_reopen desk_releases_rollback desk_releases_destroy"
    ),
    "articles_release_dry_run": "desk_releases_dry_run desk_releases_preflight",
    "articles_release_remove_member": "desk_releases_remove_member",
    "articles_release_rename": "desk_releases_partial_update",
    "articles_release_schedule": "desk_releases_schedule",
    "articles_reviewpolicy_changelist": "desk_review_policy_retrieve desk_review_policy_partial_update",
    "articles_sensitiveword_add_many": "desk_words_add_many",
    "articles_sensitiveword_export": "desk_words_list",
    "autocomplete": "desk_tags_list desk_authors_list",
    "calendar": "desk_calendar_list",
    "calendar-reschedule": "desk_calendar_reschedule",
    "calendar-undo": "desk_calendar_reschedule",
    "desk_advance_bulk_action": "desk_bulk_actions_retrieve",
    "desk_approve_change": "desk_proposed_changes_approve",
    "desk_bulk_action": "desk_bulk_actions_create desk_bulk_actions_retrieve",
    "desk_bulk_actions": "desk_bulk_actions_list",
    "desk_change_view": "desk_views_partial_update",
    "desk_dashboard": "desk_articles_list",
    "desk_delete_view": "desk_views_destroy",
    "desk_monitoring": "desk_articles_list",
    "desk_monitoring_content": "desk_articles_list",
    "desk_monitoring_later": "desk_calendar_reschedule",
    "desk_monitoring_transition": "desk_articles_submit desk_articles_publish",
    "desk_move_view": "desk_views_move",
    "desk_proposed_changes": "desk_proposed_changes_list",
    "desk_reject_change": "desk_proposed_changes_reject",
    "desk_retry": "tasks_retry",
    "desk_save_view": "desk_views_create",
    "desk_undo_bulk_action": "desk_bulk_actions_undo",
    "desk_upcoming": "desk_calendar_list",
    "desk_views": "desk_views_list",
    "end_sessions": "desk_users_end_sessions",
    "index": "desk_me_retrieve",
    "search": "desk_articles_list",
}
"""Every other screen, by the name of its URL: the operations that do the same."""

BUTTONS = {
    "choose": "desk_notifications_choices_partial_update",
    "add_many": "desk_words_add_many",
    "add_to_release": "desk_releases_add_member",
    "mark_read": "desk_notifications_read",
    "resend": "desk_users_invite",
    "end_sessions": "desk_users_end_sessions",
    "remove_second_factors": "desk_users_remove_second_factors",
    "unlink": "desk_users_unlink",
    "delete_selected": "desk_users_destroy",
    "retry": "tasks_retry",
    "cancel": "tasks_destroy",
    "claim": "desk_articles_claim",
    "unclaim": "desk_articles_unclaim",
    "reschedule": "tasks_partial_update",
} | {transition.value: "desk_bulk_actions_create" for transition, rule in TRANSITIONS.items() if rule.is_bulk_action}
"""Buttons above lists and below forms."""

SCREENS_ALONE = {
    "account_login", "account_reauthenticate", "admin_password_reset", "end_sessions", "login", "logout",
    "mfa_activate_totp", "mfa_add_webauthn", "mfa_authenticate", "mfa_deactivate_totp", "mfa_generate_recovery_codes",
    "mfa_index",
    "mfa_login_webauthn", "mfa_reauthenticate", "mfa_reauthenticate_webauthn", "mfa_remove_webauthn",
    "mfa_view_recovery_codes", "one_time_link", "openid_connect_callback", "password_change", "password_change_done",
    "password_reset_complete", "password_reset_confirm", "password_reset_done", "saml_acs", "saml_finish_acs",
    "saml_login", "saml_metadata", "single_sign_on", "auth_user_password_change",  # people sign in
    "articles_article_autosave", "articles_article_presence", "articles_article_preview_new",  # of an open window
    "articles_article_times", "jsi18n",  # texts of forms
    "app_list",  # links
    "calendar-feed", "calendar-file",  # for calendar apps
    "desk_shared_pages", "desk_unshare_page",  # from the page that a person looks at
    "desk_system", "scheduling_workerheartbeat_changelist",  # /readyz and /metrics
}  # fmt: skip
"""What no program needs."""

pytestmark = pytest.mark.django_db


@pytest.fixture
def documented() -> set[str]:
    return set(operations(api_document()))


NO_SCREENS = ("(?P<url>.*)$", "<path:object_id>/")  # redirects


def names(resolver: URLResolver, prefix: str = "") -> Iterator[str]:
    """The names of the admin's screens; of unnamed ones, the last part of the address."""
    for pattern in resolver.url_patterns:
        address = prefix + str(pattern.pattern)
        if not isinstance(pattern, URLPattern):
            yield from names(pattern, address)
        elif address.startswith(("admin/", "calendar/")) and not address.endswith(NO_SCREENS):
            yield pattern.name or address.removeprefix("admin/").strip("/")


def operation_of(name: str) -> str:
    """The operations that do what this screen does; empty if none does."""
    model, _underscore, verb = name.rpartition("_")
    return OTHERS.get(name) or (f"{ROWS[model]}_{VERBS[verb]}" if model in ROWS and verb in VERBS else "")


def is_read_only(name: str) -> bool:
    """Whether no user may do it on that screen either."""
    model, _underscore, verb = name.rpartition("_")
    screens = {str(kind._meta.label_lower).replace(".", "_"): screen for kind, screen in admin.site._registry.items()}
    root = User(is_superuser=True, is_active=True, is_staff=True)
    if model not in screens or verb not in ("add", "change", "delete", "history"):
        return False
    request: Any = type("Request", (), {"user": root, "path": "/admin/"})()
    if verb == "history":
        return not getattr(screens[model], "keeps_history", True) or model.startswith("scheduling_")
    return not getattr(screens[model], f"has_{verb}_permission")(request)


def test_every_screen_has_its_operations(documented: set[str]) -> None:
    found = set(names(get_resolver()))
    missing = {
        name: operation_of(name)
        for name in found - SCREENS_ALONE
        if not is_read_only(name) and not set(operation_of(name).split()) & documented
    }
    assert missing == {}
    named = {operation for name in found for operation in operation_of(name).split() if not is_read_only(name)}
    assert named - documented == set(), "operations that are listed here exist"
    assert (SCREENS_ALONE | OTHERS.keys()) - found == set(), "screens that are listed here exist"


def test_every_button_has_its_operation(documented: set[str]) -> None:
    buttons = {
        name if isinstance(name, str) else name.__name__
        for screen in admin.site._registry.values()
        for kind in ("actions", "actions_list", "actions_detail", "actions_row", "actions_submit_line")
        for name in getattr(screen, kind, None) or ()
    }
    assert len(buttons) > 10
    assert {button: BUTTONS.get(button) for button in buttons if BUTTONS.get(button) not in documented} == {}


def client_of(user: User) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client


RESOURCES: dict[str, tuple[type[Any], dict[str, Any], dict[str, Any]]] = {
    "channels": (Channel, {"name": "City"}, {"name": "City", "slug": "", "description": "", "position": 0}),
    "tags": (Tag, {"name": "Rain"}, {"name": "Rain", "slug": ""}),
    "roles": (Group, {"name": "Stringer"}, {"name": "Stringer"}),
}


@pytest.mark.parametrize("name", RESOURCES)
def test_screen_and_program_need_the_same_permission_and_leave_the_same_entry(name: str) -> None:
    model, body, form = RESOURCES[name]
    app, kind = model._meta.app_label, model._meta.model_name
    reader, writer = make_user("reader", f"view_{kind}"), make_user("writer", f"view_{kind}", f"add_{kind}")
    screen = f"/admin/{app}/{kind}/add/"
    for user, status, shown in ((reader, 403, 403), (writer, 201, 302)):
        desk = Client()
        desk.force_login(user)
        assert desk.post(screen, form).status_code == shown
        model._default_manager.filter(**body).delete()
        assert client_of(user).post(f"{API}{name}/", body).status_code == status
    by_form, by_program = LogEntry.objects.order_by("pk").values("user", "action_flag", "change_message", "object_repr")
    assert by_form == by_program
    entries = list(
        AuditEntry.objects.filter(article_title=body["name"], action__startswith="add_").values_list("source")
    )
    assert entries in ([], [("admin",), ("api",)])


def test_what_a_form_refuses_a_program_is_refused() -> None:
    client = client_of(make_editor())
    make_article(channel=make_channel())
    channel = Channel.objects.get()
    url = f"{API}channels/{channel.pk}/"
    used = client.patch(url, {"enabled": False})
    assert (used.status_code, "has articles" in used.json()["enabled"][0]) == (400, True)
    kept = client.delete(url)
    assert (kept.status_code, kept.json()["code"]) == (409, "in_use")
    assert client.post(f"{API}channels/", {"name": "Politics"}).json()["code"] == "unique"
    stale = client.patch(url, {"name": "City"}, headers={"If-Match": '"x"'})
    assert (stale.status_code, Channel.objects.get().name) == (412, "Politics")
    fresh = client.patch(url, {"name": "City"}, headers={"If-Match": client.get(url)["ETag"]})
    assert (fresh.status_code, fresh.json()["slug"]) == (200, "politics")


def test_the_tag_of_an_approved_article_is_renamed_by_reviewers_alone() -> None:
    tag = Tag.objects.create(name="Rain")
    make_article(status=APPROVED).tags.add(tag)
    editor = client_of(make_member(Role.EDITOR))
    assert editor.patch(f"{API}tags/{tag.pk}/", {"name": "Snow"}).status_code == 403
    assert client_of(make_editor_with_tags()).patch(f"{API}tags/{tag.pk}/", {"name": "Snow"}).status_code == 200
    assert AuditEntry.objects.get(action="rename_tag").source == "api"


def make_editor_with_tags() -> User:
    return make_user("rita", "view_tag", "change_tag", "review_article")


def test_a_user_gives_no_role_or_permission_that_the_user_lacks() -> None:
    manager = make_user("manager", "view_user", "add_user", "change_user", "view_group", "change_group")
    client, chief = client_of(manager), make_member(Role.CHIEF)
    mei = {"name": "Mei", "email": "mei@example.org", "roles": [Role.CHIEF.value]}
    refused = client.post(f"{API}users/", mei)
    assert (refused.status_code, list(refused.json())) == (400, ["roles", "code"])
    assert client.patch(f"{API}users/{chief.pk}/", {"is_active": False}).status_code == 403
    assert client.patch(f"{API}users/{manager.pk}/", {"is_superuser": True}).status_code == 403
    group = Group.objects.create(name="Stringer")
    granted = client.patch(f"{API}roles/{group.pk}/", {"permissions": ["articles.publish_article"]})
    assert granted.status_code == 400
    assert not User.objects.filter(is_superuser=True).exists()


def test_the_last_administrator_stays() -> None:
    root = User.objects.create_superuser("root", password="secret")  # noqa: S106
    client = client_of(root)
    response = client.patch(f"{API}users/{root.pk}/", {"is_superuser": False})
    assert (response.status_code, response.json()["code"]) == (400, "last_administrator")
    assert client.delete(f"{API}users/{root.pk}/").json()["code"] == "in_use"


def test_a_bulk_action_answers_for_each_article() -> None:
    editor = make_editor()
    drafts = [make_article(title, body="<p>Text</p>", author=editor) for title in ("One", "Two")]
    live = make_article(status=Article.Status.PUBLISHED, publish_at=soon(hours=-1))
    ids = [*(draft.pk for draft in drafts), live.pk, 10**9]
    response = client_of(editor).post(f"{API}bulk-actions/", {"transition": "submit", "articles": ids})
    assert response.status_code == 201, response.content
    report = response.json()
    assert report["counts"] == {"total": 4, "done": 2, "refused": 2}
    assert [row["state"] for row in report["results"]] == ["done", "done", "refused", "refused"]
    assert report["results"][3] == {
        "article": 10**9,
        "title": "",
        "state": "refused",
        "reason": "The article has been deleted.",
    }
    assert set(AuditEntry.objects.filter(action="submit").values_list("source", "user_name")) == {("api", "alice")}
    undone = client_of(editor).post(f"{API}bulk-actions/{report['id']}/undo/").json()
    assert (undone["is_undo"], undone["counts"]["done"]) == (True, 2)


def test_a_bulk_action_has_a_limit_and_needs_the_permission() -> None:
    article = make_article()
    many = {"transition": "submit", "articles": list(range(1, MOST_BULK + 2))}
    assert client_of(make_editor()).post(f"{API}bulk-actions/", many).status_code == 400
    author = client_of(make_member(Role.AUTHOR))
    assert author.post(f"{API}bulk-actions/", {"transition": "unpublish", "articles": [article.pk]}).status_code == 403
    foreign = author.post(f"{API}bulk-actions/", {"transition": "submit", "articles": [article.pk]}).json()
    assert foreign["counts"]["refused"] == 1
    assert client_of(make_user("stranger", "view_tag")).post(f"{API}bulk-actions/", many).status_code == 403
    assert BulkActionItem.objects.count() == 1


def test_a_bulk_approval_names_what_was_read() -> None:
    editor = make_editor()
    article = make_article(body="<p>Text</p>", status=Article.Status.MANUAL_REVIEW)
    client, asked = client_of(editor), {"transition": "approve", "articles": [article.pk]}
    assert client.post(f"{API}bulk-actions/", asked).status_code == 400
    other = client.post(f"{API}bulk-actions/", {**asked, "revisions": {article.pk: 7}}).json()
    assert other["counts"]["refused"] == 1
    read = client.post(f"{API}bulk-actions/", {**asked, "revisions": {article.pk: article.revision}}).json()
    assert read["counts"]["done"] == 1, read


def test_a_program_knows_what_it_may_do() -> None:
    author = make_member(Role.AUTHOR)
    client = client_of(author)
    me = client.get(f"{API}me/").json()
    assert (me["roles"], me["transitions"]) == (["Author"], ["submit", "discard_update"])
    own, foreign = make_article(author=author), make_article()
    assert client.get(f"{API}articles/{own.pk}/transitions/").json() == {"transitions": ["submit"]}
    assert client.get(f"{API}articles/{foreign.pk}/transitions/").json() == {"transitions": []}
    assert client.delete(f"{API}articles/{own.pk}/").status_code == 403
    assert client_of(make_editor()).delete(f"{API}articles/{own.pk}/").status_code == 204
    assert AuditEntry.objects.get(action="delete").source == "api"


def test_a_view_of_another_user_is_not_changed() -> None:
    rita = client_of(make_user("rita", "view_article"))
    made = rita.post(f"{API}views/", {"name": "Mine", "query": "whose=mine&bogus=1", "shared": True}).json()
    assert made["query"] == "whose=mine"
    other = client_of(make_user("bob", "view_article"))
    assert [view["name"] for view in other.get(f"{API}views/").json()["results"]] == ["Mine"]
    assert other.delete(f"{API}views/{made['id']}/").status_code == 404
    assert rita.post(f"{API}views/", {"name": "Mine", "query": ""}).status_code == 400
