"""Admin of articles. All state changes go through `articles.publishing`."""

from __future__ import annotations

from copy import copy
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.admin.options import IS_POPUP_VAR
from django.contrib.admin.utils import flatten_fieldsets
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_lazy as _

from articles import publishing
from articles.checks import lacking
from articles.desk.articles.changelist import ArticleList
from articles.desk.articles.forms import ArticleForm
from articles.desk.articles.history import HistoryScreens
from articles.desk.articles.templates import writers_of_template
from articles.desk.asked_text import text_to_try
from articles.desk.autocomplete import ChoosingScreens
from articles.desk.confirmation import is_confirmed, question
from articles.desk.editor.assets import script_config, with_nonce
from articles.desk.editor.autosave import (
    AutosaveAdmin,
    digest_of,
    keep_typed,
    restored_draft,
    window_of,
)
from articles.desk.editor.checks import ChecksScreens, draft_of
from articles.desk.editor.edit_conflict import merge_shown, taking_over
from articles.desk.editor.link_search import LinkScreens
from articles.desk.editor.panel import COVER_FIELDS, PUBLISH_FIELDS, Screen, sections
from articles.desk.editor.preview import PreviewScreens
from articles.desk.editor.recovered import recovered_drafts
from articles.desk.editor.settable import TIME_FIELDS, as_stored, may_write, settable_times
from articles.desk.editor.sheet import PublishSheet
from articles.desk.editor.state import StateScreens, shown_state
from articles.desk.editor.time_hints import TimingScreens
from articles.desk.editor.version import following_of
from articles.desk.notes.screens import NoteScreens
from articles.desk.parse import number_or_zero
from articles.desk.readonly_form import READING, Row, author_shown
from articles.desk.transitions import (
    may_take,
    offered,
    pressed,
    state,
    state_of_update,
)
from articles.exceptions import ArticleError, EditConflict, RevisionChanged, StageChanged
from articles.models import Article, SubmittedForm, named_among_all
from articles.pages import newest_text
from articles.permissions import EDIT_ANY, allows
from articles.publishing import Actor
from articles.workflow import Transition
from scheduling.database import read_database_clock

Status = Article.Status


@admin.register(Article)
class ArticleAdmin(  # type: ignore[misc]
    ArticleList,
    ChoosingScreens,
    HistoryScreens,
    AutosaveAdmin,
    PreviewScreens,
    TimingScreens,
    ChecksScreens,
    PublishSheet,
    LinkScreens,
    NoteScreens,
    StateScreens,
):
    """The article list and form."""

    form = ArticleForm
    autocomplete_fields = ["tags", "author"]
    change_form_template = "articles/desk/editor/page.html"
    view_on_site = False  # the form links to the page itself, once there is one

    def has_change_permission(self, request: HttpRequest, obj: Article | None = None) -> bool:
        """Whether the user may edit the article or make one of its transitions."""
        if obj is None:
            return super().has_change_permission(request)
        return may_write(obj, request.user) or any(may_take(transition, request.user, obj) for transition in Transition)

    def get_readonly_fields(self, request: HttpRequest, obj: Article | None = None) -> list[Any]:
        """The fields that the user may only read, and their read-only rows."""
        rows = _only_read(obj, request.user)
        return [*rows, *rows.values()]

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Article | None:
        """The article, which also remembers itself as it is stored: a form that is refused leaves its values in it."""
        article = super().get_object(request, object_id, from_field)
        if article is not None:
            article.__dict__["stored"] = copy(article)
        return article

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """The author is chosen by display name."""
        field: Any = super().formfield_for_foreignkey(db_field, request, **options)
        if db_field.name == "author":
            field.label_from_instance = named_among_all
        return field

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """The text, and the fields of the panel's tabs; no empty cover for read-only users."""
        may_edit = may_write(obj, request.user)
        has_cover = may_edit or (obj and newest_text(obj)[0].cover)
        left_out = set(TIME_FIELDS).difference(settable_times(obj, request.user))
        left_out |= set() if has_cover else {"cover"}
        shown: dict[str, list[str]] = {
            "writing": ["title", "summary", "body"],
            "publish": PUBLISH_FIELDS,
            "cover": COVER_FIELDS,
            "revision": ["note", "correction"] if obj and may_edit else [],
        }
        rows = _only_read(obj, request.user)
        return [
            (key, {"fields": [rows.get(name, name) for name in names if name not in left_out]})
            for key, names in shown.items()
        ]

    def get_form(self, request: HttpRequest, obj: Article | None = None, change: bool = False, **options: Any) -> Any:
        """The form, with the error raised by `articles.publishing`, if any."""
        fields = options.pop("fields", None) or flatten_fieldsets(self.get_fieldsets(request, obj))
        form: Any = super().get_form(request, obj, change=change, fields=fields, **options)
        form.refusal = getattr(request, "refusal", None)
        form.restored = restored_draft(request, obj)
        for name in set(TIME_FIELDS).difference(fields):
            del form.base_fields[name]
        for field in form.base_fields.values():  # without links that add and change related objects in windows
            field.widget = getattr(field.widget, "widget", field.widget)
        return form

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, str | list[str]]:
        """The author defaults to the user."""
        return {"author": str(request.user.pk), **super().get_changeform_initial_data(request)}

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """Save in one transaction; on an error nothing is saved and the form is shown again with its input.

        A change that readers would notice immediately is saved only after confirmation.
        """
        try:
            self._copy_images(request, object_id)
            return super().changeform_view(request, object_id, form_url, extra_context)
        except publishing.Unconfirmed as asked:
            return question(request, self.get_object(request, object_id) if object_id else None, asked)
        except publishing.FormSubmitted as earlier:
            return self._submitted_before(request, earlier.form)
        except (RevisionChanged, StageChanged) as refusal:
            article = Article.objects.get(pk=number_or_zero(object_id))
            publishing.for_review(article)
            self.message_user(request, str(refusal), messages.ERROR)
            return _back_to(article)
        except ArticleError as refusal:
            request.refusal = refusal  # type: ignore[attr-defined]
            if isinstance(refusal, EditConflict) and object_id:
                publishing.store_rejected_edit(int(object_id), by=request.user, changes=refusal.changes)
                taken = taking_over(request.POST, int(object_id), refusal.changes)
                request.POST = taken  # type: ignore[assignment]  # a form asks no more of it than of the original
            return super().changeform_view(request, object_id, form_url, extra_context)

    def _copy_images(self, request: HttpRequest, object_id: str | None) -> None:
        """Put copies of images of other hosts into the text that was sent, if the setting says so.

        Before the transaction, as hosts may take their time.
        """
        body = request.POST.get("body", "")
        if not (body and publishing.images_to_copy(body)):
            return
        article = self.get_object(request, object_id) if object_id else None
        is_gone = article is None and object_id is not None
        if is_gone or not may_write(article, cast(Any, request.user)):
            return
        own = publishing.with_own_images(body, by=request.user, article=article)
        if own != body:
            typed = request.POST.copy()
            typed["body"] = own
            request.POST = typed  # type: ignore[assignment]  # a form asks no more of it than of the original

    def _submitted_before(self, request: HttpRequest, form: SubmittedForm) -> HttpResponse:
        """Show the article that the form has created; another text is offered there as a recovered draft.

        Users who may no longer edit it find that draft in the form of a new article.
        """
        article = cast(Article, form.article)
        is_other = digest_of(request) != form.digest
        if is_other or {*pressed(request)} & {*offered(article, request.user, read_database_clock())}:
            self.message_user(request, _("This form has already created this article."), messages.WARNING)
        if is_other:
            try:
                keep_typed(request)
            except ArticleError as refusal:
                self.message_user(request, str(refusal), messages.ERROR)
        return _back_to(article)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        """Add the status, the actions and the panel."""
        original, form = context.get("original"), context["adminform"].form
        article, now = as_stored(original) if original else Article(), read_database_clock()
        is_changed = form.is_bound or form.restored is not None
        following = following_of(article, request.user, now, is_changed=is_changed) if original else None
        recovered = recovered_drafts(request, original, type(form))
        if not original and not recovered:
            form.fields["title"].widget.attrs["autofocus"] = True
        context |= {
            **shown_state(original and article, request.user, now, is_changed=is_changed),
            "follow": following and following.as_json(),
            **merge_shown(form, request.user),
            "fieldsets": {fieldset.name: fieldset for fieldset in context["adminform"]},
            "panel": sections(Screen(request, original and article, now)),
            "script_config": script_config(request, original),
            "media": with_nonce(form.media, request),
            "recovered_drafts": recovered,
        }
        return super().render_change_form(request, context, *args, **options)

    def save_model(self, request: HttpRequest, obj: Article, form: ArticleForm, change: bool) -> None:  # type: ignore[override]
        """Apply the form, and say what was done."""
        note = form.cleaned_data.get("note") if change else ""
        last = obj.revisions.order_by("number").last() if note else None
        publishing.apply_form(obj, _sent(request, form), by=request.user, confirmed=is_confirmed(request))
        if Transition.SUBMIT in pressed(request) and (lacks := lacking(draft_of(obj))):
            text = _("Submitted without: %(fields)s. Add these before it is approved.")
            self.message_user(request, text % {"fields": gettext(", ").join(lacks)}, messages.WARNING)
        saved = gettext("Saved.") if _stays(request) else ""
        now = read_database_clock()
        sentences = (saved, state(obj, now), state_of_update(obj, now))
        self.message_user(request, " ".join(filter(None, sentences)), messages.INFO)
        if last and not obj.revisions.filter(number__gt=last.number, note=note).exists():
            text = _("The note was not saved, as the text is unchanged: %(note)s")
            self.message_user(request, text % {"note": note}, messages.WARNING)
        if tags := form.taken_out():
            text = _("Removed from the text, because browsers might run it: %(tags)s")
            shown = gettext(", ").join(f"<{tag}>" for tag in tags)
            self.message_user(request, text % {"tags": shown}, messages.WARNING)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Do nothing: tags are part of the text, which `save_model` has saved."""

    def response_add(self, request: HttpRequest, obj: Article, post_url_continue: str | None = None) -> HttpResponse:
        """Stay on the article after a transition, and without Django's message after a save."""
        stays = pressed(request) or _stays(request)
        return _back_to(obj) if stays else super().response_add(request, obj, post_url_continue)

    def response_change(self, request: HttpRequest, obj: Article) -> HttpResponse:
        """Stay on the article after a transition, and without Django's message after a save."""
        return _back_to(obj) if pressed(request) or _stays(request) else super().response_change(request, obj)


def _stays(request: HttpRequest) -> bool:
    """Whether the article is saved and stays open."""
    return "_continue" in request.POST and IS_POPUP_VAR not in request.POST


def _only_read(article: Article | None, by: Actor) -> dict[str, Row]:
    """Read-only fields and their rows: the text of others, and the author."""
    text = {} if may_write(article, by) else READING
    return {**text, **({} if allows(EDIT_ANY, by) else {"author": author_shown})}


def _sent(request: HttpRequest, form: ArticleForm) -> publishing.SentForm:
    return publishing.SentForm(
        window=window_of(request),
        digest=digest_of(request),
        transitions=pressed(request),
        values=form.cleaned_data,
        changes=form.edits(),
        changed=form.changed_data,
        sets_update_time=form.is_edited("update_at"),
        seen=form.seen_version(),
        answers={"stage": request.POST.get("review_stage"), **text_to_try(request)},
        written_by=writers_of_template(request) if form.instance._state.adding else (),
    )


def _back_to(article: Article) -> HttpResponse:
    return redirect("admin:articles_article_change", article.pk)
