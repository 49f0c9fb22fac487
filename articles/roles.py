"""The roles of a newsroom, as groups with permissions. `articles.permissions` adds the rules per article."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from django.db.models import Q

if TYPE_CHECKING:
    from django.apps.registry import Apps
    from django.db.migrations.state import StateApps

READING = tuple(f"articles.view_{model}" for model in ("article", "channel", "tag", "image", "release"))
WRITING = (
    *READING,
    "articles.add_article",
    "articles.change_article",
    *(f"articles.{verb}_image" for verb in ("add", "change", "delete")),
)


class Role(StrEnum):
    """The names of the groups."""

    AUTHOR = "Author"
    EDITOR = "Editor"
    REVIEWER = "Reviewer"
    PUBLISHER = "Publisher"
    CHIEF = "Editor-in-chief"
    OPERATOR = "Operator"


ROLES: dict[Role, tuple[str, ...]] = {
    Role.AUTHOR: WRITING,
    Role.EDITOR: (
        *WRITING,
        *(f"articles.{verb}" for verb in ("edit_any_article", "edit_any_image", "add_tag", "change_tag")),
    ),
    Role.REVIEWER: (*READING, "articles.review_article"),
    Role.PUBLISHER: (
        *READING,
        "articles.schedule_article",
        "articles.publish_article",
        "articles.schedule_release",
    ),
    Role.CHIEF: (
        "articles.*",
        *(f"scheduling.view_{model}" for model in ("taskinfo", "taskinfolog", "workerheartbeat")),
    ),
    Role.OPERATOR: (*READING, "articles.manage_webhooks", "scheduling.*"),
}
"""Role to permissions: "app.codename", or "app.*" for all of an app."""


def create_roles(apps: Apps | StateApps) -> None:
    """Create missing groups and give all their permissions; permissions added by hand stay."""
    groups, permissions = apps.get_model("auth", "Group").objects, apps.get_model("auth", "Permission").objects
    for role, rights in ROLES.items():
        group, _is_new = groups.get_or_create(name=role.value)
        group.permissions.add(*permissions.filter(_any_of(rights)))


def grant(apps: Apps | StateApps, model: str) -> None:
    """Give existing groups the permissions of a new model; permissions removed by hand stay removed."""
    groups, permissions = apps.get_model("auth", "Group").objects, apps.get_model("auth", "Permission").objects
    new = permissions.filter(content_type__app_label="articles", content_type__model=model)
    for role, rights in ROLES.items():
        for group in groups.filter(name=role.value):
            group.permissions.add(*new.filter(_any_of(rights)))


def _any_of(rights: tuple[str, ...]) -> Q:
    wanted = Q(pk__in=[])
    for right in rights:
        app, _dot, codename = right.partition(".")
        names = {codename, codename.replace("_image", "_material")}  # earlier migrations grant by the former name
        wanted |= Q(content_type__app_label=app) & (Q() if codename == "*" else Q(codename__in=names))
    return wanted
