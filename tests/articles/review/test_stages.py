"""Review stages: who decides at which, in which order, and what a change of the stages may not do."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from articles import publishing
from articles.exceptions import NotAllowed
from articles.models import Article, AuditEntry, ReviewPolicy, ReviewStage, SensitiveWord, StageApproval, Update
from articles.publishing import bulk, rescan
from articles.review import StageChoice, choose_stages, with_stage
from articles.roles import Role
from articles.workflow import Transition
from tests.articles.factories import (
    allow_automatic_approval,
    make_article,
    make_editor,
    make_member,
    make_user,
    soon,
)
from tests.articles.open_forms import sent_by

pytestmark = pytest.mark.django_db

Status = Article.Status
DESK = "/api/v1/desk/articles/"
FIRST, SECOND, FINAL, PROOFREADING = ReviewStage.Kind.values


def reviewer(name: str, group: Group | None = None) -> User:
    user = make_member(Role.REVIEWER, name)
    if group:
        user.groups.add(group)
    return user


def make_group(name: str) -> Group:
    """A group of users who may approve at a stage of their own."""
    group = Group.objects.create(name=name)
    group.permissions.add(Permission.objects.get(codename="review_article"))
    return group


def choose(*stages: str | StageChoice) -> None:
    chosen = [StageChoice(stage) if isinstance(stage, str) else stage for stage in stages]
    choose_stages(chosen, by=User.objects.filter(username="root").first() or make_user("root", is_superuser=True))


@pytest.fixture
def author() -> User:
    return make_member(Role.AUTHOR, "wen")


def submitted(author: User, **values: Any) -> Article:
    """An article in review, with its audit log."""
    article = Article(title="Mayor resigns", author=author, **values)
    publishing.create(article, by=author)
    publishing.submit(article, by=author)
    return Article.objects.get(pk=article.pk)


def newest(article: Article) -> int:
    return publishing.for_review(Article.objects.get(pk=article.pk)).number


def decide(article: Article, by: User, transition: str = "approve", **values: Any) -> Any:
    client = APIClient()
    client.force_authenticate(by)
    sent = {} if transition == "claim" else {"revision": newest(article), **values}
    return client.post(f"{DESK}{article.pk}/{transition}/", sent)


def status(article: Article) -> int:
    return Article.objects.values_list("status", flat=True).get(pk=article.pk)


def stage(article: Article) -> str:
    """Where the article waits, as a program reads it."""
    client = APIClient()
    client.force_authenticate(User.objects.get(username="root"))
    return str(client.get(f"{DESK}{article.pk}/").json()["stage"]["key"])


def test_a_text_passes_all_stages_in_order_each_by_a_different_person(author: User) -> None:
    choose(FIRST, SECOND, FINAL)
    nadia, omar, irene = reviewer("nadia"), reviewer("omar"), reviewer("irene")
    article = submitted(author, publish_at=soon(hours=1))
    for by, waits in ((nadia, SECOND), (omar, FINAL)):
        assert decide(article, by).json()["status"] == Status.MANUAL_REVIEW
        assert stage(article) == waits
        assert decide(article, by).status_code == 403
        assert "a different person decides" in decide(article, by).json()["detail"]
    assert not Article.objects.live(soon(hours=2)).exists()
    assert decide(article, irene).json()["status"] == Status.MANUALLY_APPROVED
    entries = AuditEntry.objects.of(article).filter(action__in=["approve", "passed_stage"]).order_by("id")
    found = [(entry.action, entry.user_name, entry.details["stage"], entry.revision) for entry in entries]
    assert found == [
        ("passed_stage", "nadia", FIRST, 1),
        ("passed_stage", "omar", SECOND, 1),
        ("approve", "irene", FINAL, 1),
    ]


@pytest.mark.parametrize("rule", [False, True])
def test_contributors_decide_at_no_stage(author: User, rule: bool, settings: Any) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = rule
    choose(FIRST, SECOND)
    chief = make_member(Role.CHIEF, "irene")
    article = submitted(author)
    publishing.edit(article, by=chief, changes={"title": "Mayor stays"})
    for by in (author, chief):
        assert decide(article, by).status_code == 403
    assert decide(article, reviewer("nadia")).status_code == 200
    assert decide(article, chief).status_code == 403
    assert (status(article), stage(article)) == (Status.MANUAL_REVIEW, SECOND)


def test_only_the_group_of_a_stage_decides_there_and_administrators_are_no_exception(author: User) -> None:
    desk_heads = make_group("Desk heads")
    choose(FIRST, StageChoice(FINAL, group=desk_heads))
    nadia, omar, irene = reviewer("nadia"), reviewer("omar"), reviewer("irene", desk_heads)
    root = User.objects.get(username="root")
    article = submitted(author)
    assert decide(article, nadia).status_code == 200
    for by in (omar, root):
        assert decide(article, by).status_code == 403
        assert decide(article, by, "reject", reason="No.").status_code == 403
        assert decide(article, by, "claim").status_code == 403
    assert "only “Desk heads” decides" in decide(article, omar).json()["detail"]
    assert decide(article, irene).json()["status"] == Status.MANUALLY_APPROVED


@pytest.mark.parametrize("change", ["text", "time", "reject", "pulled back"])
def test_a_changed_text_begins_at_the_first_stage_again(author: User, change: str) -> None:
    choose(FIRST, SECOND)
    nadia, omar = reviewer("nadia"), reviewer("omar")
    article = submitted(author, publish_at=soon(hours=1))
    assert decide(article, nadia).status_code == 200
    if change == "text":
        publishing.edit(Article.objects.get(), by=author, changes={"title": "Mayor stays"})
    elif change == "time":
        publishing.edit(Article.objects.get(), by=author, changes={"publish_at": soon(hours=2)})
    elif change == "reject":
        assert decide(article, omar, "reject", reason="No second source.").status_code == 200
        assert status(article) == Status.REJECTED
        publishing.submit(Article.objects.get(), by=author)
    else:
        assert decide(article, omar).status_code == 200
        SensitiveWord.objects.create(text="resigns", level=SensitiveWord.Level.REVIEW)
        rescan.review_again()
    assert (status(article), stage(article)) == (Status.MANUAL_REVIEW, FIRST)
    assert decide(article, omar).status_code == 200
    assert status(article) == Status.MANUAL_REVIEW
    assert decide(article, nadia).status_code == 200
    assert status(article) == Status.MANUALLY_APPROVED


def test_an_update_of_a_live_article_passes_the_same_stages(author: User) -> None:
    choose(FIRST, SECOND)
    article = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1))
    editor = make_editor("qiming")
    publishing.edit(article, by=editor, changes={"title": "Harbour bridge closes"})
    publishing.submit(article, by=editor)
    nadia, omar = reviewer("nadia"), reviewer("omar")
    assert decide(article, nadia).status_code == 200
    assert Update.objects.get().status == Status.MANUAL_REVIEW
    assert stage(article) == SECOND
    assert decide(article, nadia).status_code == 403
    assert Client().get(article.get_absolute_url()).text.count("Harbour bridge closes") == 0
    publishing.edit(Article.objects.get(), by=editor, changes={"title": "Harbour bridge falls"})
    assert stage(article) == FIRST
    for by in (omar, nadia):
        assert decide(article, by).status_code == 200
    assert Update.objects.get().approved is not None


@pytest.mark.parametrize("machine", [ReviewPolicy.Machine.TEXTS, ReviewPolicy.Machine.ALL])
def test_the_automatic_review_skips_no_stage(author: User, machine: str) -> None:
    choose(FIRST, SECOND)
    allow_automatic_approval(machine)
    assert status(submitted(author)) == Status.MANUAL_REVIEW
    choose(FIRST)
    assert status(submitted(author)) == Status.APPROVED


@pytest.mark.parametrize(
    "then, waits, approves_next",
    [
        ([FIRST], FIRST, True),
        ([SECOND], SECOND, True),
        ([FINAL, FIRST], FINAL, True),
        ([FIRST, PROOFREADING, SECOND], PROOFREADING, False),
        ([FINAL, SECOND, FIRST], FINAL, False),
    ],
)
def test_other_stages_approve_nothing_that_waits(
    author: User, then: list[str], waits: str, approves_next: bool
) -> None:
    """The text falls to the next stage that has not approved it, or to the last, and a different person decides."""
    choose(FIRST, SECOND)
    nadia, omar = reviewer("nadia"), reviewer("omar")
    article = submitted(author)
    decide(article, nadia)
    choose(*then)
    assert (status(article), stage(article)) == (Status.MANUAL_REVIEW, waits)
    assert decide(article, nadia).status_code == 403
    assert decide(article, omar).status_code == 200
    assert (status(article) == Status.MANUALLY_APPROVED) is approves_next


def test_a_text_that_all_stages_left_have_approved_waits_at_the_last_one(author: User) -> None:
    choose(FIRST, SECOND, FINAL)
    nadia, omar, irene = reviewer("nadia"), reviewer("omar"), reviewer("irene")
    article = submitted(author)
    for by in (nadia, omar):
        assert decide(article, by).status_code == 200
    choose(FIRST, SECOND)
    assert (status(article), stage(article)) == (Status.MANUAL_REVIEW, SECOND)
    shown = with_stage(Article.objects.needing_review(), ReviewStage.in_order()).get()
    assert shown.review_stage == SECOND
    for by in (nadia, omar):
        assert decide(article, by).status_code == 403
    assert decide(article, irene).json()["status"] == Status.MANUALLY_APPROVED


def test_another_group_of_a_stage_counts_at_once_and_what_it_approved_stays_approved(author: User) -> None:
    desk_heads = make_group("Desk heads")
    choose(FIRST, SECOND)
    nadia, omar, irene = reviewer("nadia"), reviewer("omar"), reviewer("irene", desk_heads)
    article = submitted(author)
    decide(article, nadia)
    choose(StageChoice(FIRST, group=desk_heads), StageChoice(SECOND, group=desk_heads))
    assert stage(article) == SECOND
    assert decide(article, omar).status_code == 403
    assert decide(article, irene).json()["status"] == Status.MANUALLY_APPROVED


def test_the_account_of_an_earlier_stage_may_be_deleted(author: User) -> None:
    choose(FIRST, SECOND)
    article, nadia = submitted(author), reviewer("nadia")
    decide(article, nadia)
    nadia.delete()
    assert (StageApproval.objects.get().user, stage(article)) == (None, SECOND)


def test_an_administrator_overrides_all_stages_by_a_recorded_reason(author: User) -> None:
    choose(FIRST, SECOND)
    article, root = submitted(author), User.objects.get(username="root")
    assert decide(article, reviewer("nadia"), override="I want it.").status_code == 403
    assert decide(article, root).status_code == 200, "at the first stage an administrator is a reviewer as others"
    assert decide(article, root).status_code == 403
    assert decide(article, root, override="Alone at night.").json()["status"] == Status.MANUALLY_APPROVED
    entry = AuditEntry.objects.of(article).latest("id")
    assert (entry.action, entry.details["override"], entry.details["stage"]) == ("approve", "Alone at night.", SECOND)
    assert "Second review" in entry.differences()


def test_a_bulk_action_passes_one_stage_and_can_be_undone_by_its_user(author: User) -> None:
    choose(FIRST, SECOND)
    nadia, omar = reviewer("nadia"), reviewer("omar")
    article = submitted(author)
    done = in_bulk(article, nadia)
    assert (status(article), stage(article)) == (Status.MANUAL_REVIEW, SECOND)
    assert in_bulk(article, nadia).items.get().reason.startswith("You have approved this text already")
    undone = bulk.undo_bulk_action(done, by=nadia)
    bulk.advance_bulk_action(undone.pk)
    assert stage(article) == FIRST
    for by in (nadia, omar):
        last = in_bulk(article, by)
    assert status(article) == Status.MANUALLY_APPROVED
    undone = bulk.undo_bulk_action(last, by=omar)
    bulk.advance_bulk_action(undone.pk)
    assert (status(article), stage(article)) == (Status.MANUAL_REVIEW, SECOND)
    assert decide(article, nadia).status_code == 403


def in_bulk(article: Article, by: User) -> Any:
    bulk_action = bulk.gather_articles(Transition.APPROVE, [(article.pk, article.title)], by=by)
    bulk.start_bulk_action(bulk_action)
    bulk.advance_bulk_action(bulk_action.pk)
    bulk_action.refresh_from_db()
    return bulk_action


def test_a_bulk_action_approves_at_the_stage_that_it_showed(author: User) -> None:
    choose(FIRST, SECOND)
    nadia, omar, article = reviewer("nadia"), reviewer("omar"), submitted(author)
    shown = bulk.gather_articles(Transition.APPROVE, [(article.pk, article.title)], by=omar)
    refused = decide(article, nadia, stage=SECOND).json()
    assert (refused["code"], "The review stages have changed" in refused["detail"]) == ("stage_changed", True)
    assert decide(article, nadia, stage=FIRST).status_code == 200
    bulk.start_bulk_action(shown)
    bulk.advance_bulk_action(shown.pk)
    assert "it waits at “Second review” now" in shown.items.get().reason
    assert status(article) == Status.MANUAL_REVIEW


def test_a_command_and_the_article_s_form_pass_one_stage_too(author: User) -> None:
    choose(FIRST, SECOND, FINAL)
    reviewer("nadia")
    article, chief = submitted(author), make_member(Role.CHIEF, "irene")
    arguments = ["approve", str(article.pk), "--by", "nadia", "--revision", str(newest(article))]
    call_command("article", *arguments, stdout=StringIO())
    assert stage(article) == SECOND
    with pytest.raises(SystemExit):
        call_command("article", *arguments, stdout=StringIO(), stderr=StringIO())
    screens = Client()
    screens.force_login(chief)
    address = reverse("admin:articles_article_change", args=[article.pk])
    assert f'name="review_stage" value="{SECOND}"' in screens.get(address).text
    form = {"title": article.title, "slug": article.slug, "author": author.pk, "base": newest(article)}
    form["seen"] = Article.objects.get(pk=article.pk).changed_at.isoformat()
    page = screens.post(address, {**form, "_step_approve": "1", "review_stage": FIRST}, follow=True)
    assert "Another reviewer has decided since you opened it" in page.text
    assert stage(article) == SECOND
    screens.post(address, {**form, "_step_approve": "1", "review_stage": SECOND})
    assert (status(article), stage(article)) == (Status.MANUAL_REVIEW, FINAL)


def test_one_stage_is_as_before(author: User) -> None:
    article = submitted(author)
    assert decide(article, reviewer("nadia")).json()["status"] == Status.MANUALLY_APPROVED
    entry = AuditEntry.objects.of(article).latest("id")
    assert (entry.action, entry.details) == ("approve", {})
    assert not StageApproval.objects.exists()


POLICY = "/admin/articles/reviewpolicy/"


def form_of(*rows: tuple[str, str, Any]) -> dict[str, Any]:
    sent: dict[str, Any] = {"stages": "1", "stage-TOTAL_FORMS": "4", "stage-INITIAL_FORMS": "0"}
    for number, (kind, name, group) in enumerate(rows):
        sent |= {f"stage-{number}-kind": kind, f"stage-{number}-name": name, f"stage-{number}-group": group}
    return sent


def test_the_screen_names_roles_in_the_language_of_the_user() -> None:
    screens = Client()
    screens.force_login(make_member(Role.CHIEF, "irene"))
    page = screens.get(POLICY, headers={"Accept-Language": "zh-hans"}).text
    assert "总编辑" in page and "Editor-in-chief" not in page


def test_stages_are_chosen_on_a_screen_by_who_may_change_the_policy_and_recorded() -> None:
    chief, screens = make_member(Role.CHIEF, "irene"), Client()
    heads = make_group("Desk heads")
    screens.force_login(reviewer("nadia"))
    assert screens.post(POLICY, form_of((FIRST, "", ""))).status_code == 403
    with pytest.raises(NotAllowed):
        choose_stages([StageChoice(SECOND)], by=User.objects.get(username="nadia"))
    screens.force_login(chief)
    assert screens.get(POLICY).status_code == 200
    sent = form_of((SECOND, "", heads.pk), (FINAL, "Legal check", ""))
    assert screens.post(POLICY, sent).status_code == 302
    found = [(stage.kind, str(stage), stage.group) for stage in ReviewStage.in_order()]
    assert found == [(SECOND, "Second review", heads), (FINAL, "Legal check", None)]
    entry = AuditEntry.objects.get(action="change_review_stages")
    assert entry.user_id == chief.pk
    assert entry.differences() == ["First review → Second review (Desk heads), Legal check"]
    page = screens.get(POLICY).text
    assert "whatever is chosen here" in page
    assert 'value="Legal check"' in page
    screens.post(POLICY, sent)
    assert AuditEntry.objects.filter(action="change_review_stages").count() == 1
    assert "Review stages changed" in screens.get(reverse("admin:articles_auditentry_changelist")).text


def test_stages_that_another_user_has_chosen_since_are_named_before_they_are_replaced() -> None:
    screens = Client()
    screens.force_login(make_member(Role.CHIEF, "irene"))
    sent = form_of((SECOND, "Legal check", "")) | {"opened": sent_by(screens.get(POLICY).text, "stages_form")["opened"]}
    choose(FIRST, FINAL)
    refused = screens.post(POLICY, sent)
    assert "Another user has changed the stages: First review, Final review." in refused.text
    assert 'value="Legal check"' in refused.text and ReviewStage.objects.count() == 2
    again = {"opened": sent_by(refused.text, "stages_form")["opened"]}
    assert screens.post(POLICY, sent | again).status_code == 302
    assert [str(stage) for stage in ReviewStage.in_order()] == ["Legal check"]


@pytest.mark.parametrize(
    "rows, said",
    [
        ([], "Choose at least one review"),
        ([(PROOFREADING, "", "")], "Choose at least one review"),
        ([(FIRST, "", ""), (FIRST, "", "")], "Choose each stage once."),
        ([("whatever", "", "")], "whatever"),
        ([(FIRST, "", "99999")], "valid choice"),
    ],
)
def test_stages_that_cannot_be_used_are_refused_with_what_to_change(rows: Any, said: str) -> None:
    screens = Client()
    screens.force_login(make_member(Role.CHIEF, "irene"))
    page = screens.post(POLICY, form_of(*rows))
    assert (page.status_code, said in page.text) == (200, True)
    assert not ReviewStage.objects.exists()


def test_a_stage_is_for_no_group_that_may_not_approve_and_its_group_is_not_deleted() -> None:
    screens, heads = Client(), make_group("Desk heads")
    screens.force_login(make_user("root", is_superuser=True))
    choose(StageChoice(FIRST, group=heads), SECOND)
    heads.permissions.clear()
    page = screens.get(POLICY)
    assert f'<option value="{heads.pk}" selected>' in page.text, "saving again does not open the stage to all"
    page = screens.post(POLICY, form_of((FIRST, "", heads.pk)))
    assert "“Desk heads” may not approve articles." in page.text
    screens.post(reverse("admin:auth_group_delete", args=[heads.pk]), {"post": "yes"})
    assert Group.objects.filter(pk=heads.pk).exists()
