"""Authorisation: a user needs a permission, and rules per article apply as well.

Services check here before they act, admin and API before they offer an action.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db.models import Q, QuerySet
from django.utils.functional import Promise
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _

from articles.audit import Actor, contributor_ids, people_behind
from articles.exceptions import NotAllowed
from articles.models import Article, ReviewProgress
from articles.workflow import TRANSITIONS
from scheduling.database import in_any, lock_by_ids

ADD, CHANGE, REVIEW = "articles.add_article", "articles.change_article", "articles.review_article"
DELETE = "articles.delete_article"
EDIT_ANY = "articles.edit_any_article"
PUBLISH = "articles.publish_article"
IN_QUIET_HOURS = "articles.push_in_quiet_hours"
OPERATE, LOOK = "scheduling.operate_tasks", "scheduling.view_taskinfo"

READ_WITH = frozenset(
    {"articles.view_article", ADD, CHANGE, EDIT_ANY, *(rule.permission for rule in TRANSITIONS.values())}
)
"""Any of these permissions allows reading all articles; permissions for tags or images do not."""


def reads_articles(by: Actor) -> bool:
    """Whether `by` may read articles, including their headlines."""
    return any(map(by.has_perm, READ_WITH))  # type: ignore[union-attr]


def newsroom() -> QuerySet[Any]:
    """The active staff users who may read all articles."""
    codenames = [permission.removeprefix("articles.") for permission in READ_WITH]
    rights = Permission.objects.filter(content_type__app_label="articles", codename__in=codenames).values("pk")
    users = get_user_model()._default_manager
    granted = (Q(user_permissions__in=rights), Q(groups__permissions__in=rights), Q(is_superuser=True))
    ids = in_any(*(users.filter(condition).values("pk") for condition in granted))
    return users.filter(pk__in=ids, is_active=True, is_staff=True)


def may_see_system(by: Actor) -> bool:
    """Whether `by` may see tasks and the state of the servers."""
    return by.has_perm(LOOK) or by.has_perm(OPERATE)  # type: ignore[union-attr]


def require_newsroom(by: Actor) -> None:
    """Raise `NotAllowed` unless `by` may read articles in the newsroom."""
    if not (getattr(by, "is_active", False) and getattr(by, "is_staff", False) and reads_articles(by)):
        raise NotAllowed


def lock_account(user: Any) -> None:
    """Lock the user, for what is stored once for each: two who store it first wait for each other."""
    lock_by_ids(get_user_model(), [user.pk]).exists()


def require_unchanged(*users: Any) -> None:
    """Lock these accounts. Raise `NotAllowed` if one was deactivated or has another password since it was read.

    Call it before something is stored that acts for a user: what a change of the account revokes would not have it yet.
    """
    read = {user.pk: user.password for user in users}
    stored = {user.pk: user.password for user in lock_by_ids(get_user_model(), read) if user.is_active}
    if read != stored:
        raise NotAllowed


def may_act_without_session(user: Any) -> bool:
    """Whether calendar feeds and preview links of this user are valid: active staff whom the project's rule allows."""
    is_allowed: Callable[[Any], bool] = import_string(settings.MAY_ACT_WITHOUT_SESSION)
    return user.is_active and user.is_staff and is_allowed(user)


Refusal = str | Promise
Rule = Callable[[Article, Actor], Refusal | None]


def require(permission: str, by: Actor, article: Article | None = None) -> None:
    """Raise `NotAllowed` with the reason unless `by` has the permission, and may use it with this `article`."""
    if reason := refusal(permission, by, article):
        raise NotAllowed(reason)


def allows(permission: str, by: Actor, article: Article | None = None) -> bool:
    """Whether `by` has the permission, and may use it with this `article`."""
    return refusal(permission, by, article) is None


def refusal(permission: str, by: Actor, article: Article | None = None) -> Refusal | None:
    """Why `by` may not, or None. A missing permission comes before the rules about the article."""
    if not by.has_perm(permission):  # type: ignore[union-attr]
        return NotAllowed.message
    rule = _RULES.get(permission)
    return rule(article, by) if rule and article is not None else None


def require_edit(article: Article, by: Actor, changes: Mapping[str, Any]) -> None:
    """Raise `NotAllowed` unless `by` may write these changes of an article.

    The embargo, and the times of an approved article, need other permissions and are not checked here. No changes need
    no permission.
    """
    own = changes.keys() - {"embargo_until"}
    is_approved = article.status not in Article.Status.unapproved()
    if is_approved:
        own -= {"publish_at", "unpublish_at"}
    if own:
        require(CHANGE, by, article)
    if "author" in changes and changes["author"] != article.author:
        require(EDIT_ANY, by)
        if is_approved:
            require(REVIEW, by)


def _own_draft(article: Article, by: Actor) -> Refusal | None:
    """Authors may change their own articles until they are approved; editors may change all."""
    if by.has_perm(EDIT_ANY):  # type: ignore[union-attr]
        return None
    if article.author_id != by.pk:
        return _("This is another user’s article; you may change your own.")
    if article.status in (*Article.Status.passed(), Article.Status.RETRACTED):
        return _("The article has been approved; ask an editor to change it.")
    return None


def is_one_of(by: Actor, user_ids: Iterable[int | None]) -> bool:
    """Whether `by` and one of these users are the same person: a program is no other than those who answer for it."""
    others = {*user_ids}
    if not others or by.pk in others:
        return bool(others)
    return not people_behind({by.pk}).isdisjoint(people_behind(others))


def _written_by_another(article: Article, by: Actor) -> Refusal | None:
    """Contributors may not review their text, even if its author has changed."""
    if article.author_id == by.pk:
        return _("This is your own article; another user must review it.")
    if is_one_of(by, contributor_ids(article)):
        return _("Two-person rule: you have contributed to this text since its last approval.")
    return None


def stage_refusal(progress: ReviewProgress, by: Actor) -> Refusal | None:
    """Why `by` may not decide at the stage that a text waits at: its group, and a different person at each stage."""
    stage = progress.stage
    if is_one_of(by, progress.approvals.values()):
        return _("You have approved this text already; a different person decides at “%(stage)s”.") % {
            "stage": stage.label
        }
    if stage.group_id is not None and not by.groups.filter(pk=stage.group_id).exists():  # type: ignore[union-attr]
        return _("It waits at “%(stage)s”, where only “%(group)s” decides.") % {
            "stage": stage.label,
            "group": stage.group,
        }
    return None


def _may_decide(article: Article, by: Actor) -> Refusal | None:
    """Why `by` may neither approve nor reject the text under review."""
    return _written_by_another(article, by) or stage_refusal(ReviewProgress.of(article), by)


_RULES: Mapping[str, Rule] = {CHANGE: _own_draft, REVIEW: _may_decide}
