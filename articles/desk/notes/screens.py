"""The notes of an article: the screen without scripts, and what the panel's script loads and sends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from unfold.admin import ModelAdmin

from articles import notes, publishing
from articles.desk.notes.shown import THREADS_SHOWN, ShownNotes, assignment_of, is_edited
from articles.desk.parse import instant, number_or_zero
from articles.desk.time_field import ZonedTimeField
from articles.exceptions import ArticleError, NotAllowed
from articles.models import Article, Note, as_id, named_apart
from articles.permissions import newsroom, reads_articles
from articles.text import Selector
from scheduling.database import retried

OUTSIDE = "notes-form"
"""The id of the form that the controls belong to: the panel of the editor is inside the form of the article."""

_ARTICLES = Article.objects.select_related("update__draft", "owner")


class AssignmentForm(forms.ModelForm):  # type: ignore[type-arg]
    """The owner of an article and the due time."""

    due_at = ZonedTimeField(label=gettext_lazy("Due"), required=False)

    class Meta:
        model = Article
        fields = ["owner", "due_at"]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "auto_id": "assignment_%s"})
        owner: Any = self.fields["owner"]
        owner.queryset = newsroom().order_by("first_name", "last_name", "username")
        owner.help_text, owner.empty_label = "", _("No owner")
        owner.choices = [("", owner.empty_label), *named_apart(owner.queryset).items()]
        for field in self.fields.values():
            field.widget.attrs |= {"form": OUTSIDE, "class": "note-input"}


class NoteScreens(ModelAdmin):
    """Mixin with the notes of the article admin."""

    def get_urls(self) -> list[URLPattern]:
        """The URL, before those of the article itself."""
        own = [path("<int:pk>/notes/", self._notes_view(), name="articles_article_notes")]
        return [*own, *super().get_urls()]

    def _notes_view(self) -> Callable[..., HttpResponse]:
        """The view; scripts get 401 in place of a redirect to the sign-in page."""
        signed_in: Any = self.admin_site.admin_view(self.notes)

        def respond(request: HttpRequest, pk: int) -> HttpResponse:
            if _is_script(request) and not self.admin_site.has_permission(request):
                return JsonResponse({"code": "signed_out"}, status=401)
            response: HttpResponse = signed_in(request, pk)
            return response

        return never_cache(require_http_methods(["GET", "HEAD", "POST"])(respond))

    def notes(self, request: HttpRequest, pk: int) -> HttpResponse:
        """GET shows the notes, POST changes them: `do` is what, and the id of the note after a colon."""
        article = get_object_or_404(_ARTICLES, pk=pk)
        if not reads_articles(request.user):
            if _is_script(request):
                return JsonResponse({"code": NotAllowed.code, "message": str(NotAllowed.message)}, status=403)
            raise PermissionDenied
        added = None
        try:
            if request.method == "POST":
                added = _act(request, article)
        except (ArticleError, forms.ValidationError) as refusal:
            return self._refused(request, article, refusal)
        if _is_script(request):
            return _fragment(request, article, added)
        if request.method != "POST":
            return self._notes_page(request, article)
        left = _not_sent(request.POST)
        is_left = notes_context(request, article, typed=left)["notes"].has_typed
        return self._notes_page(request, article, typed=left) if is_left else _back(request, added)

    def _refused(self, request: HttpRequest, article: Article, error: Exception) -> HttpResponse:
        """The error; for browsers the screen with everything that was typed."""
        status = 403 if isinstance(error, NotAllowed) else 400
        message = " ".join(error.messages) if isinstance(error, forms.ValidationError) else str(error)
        if _is_script(request):
            code = getattr(error, "code", None) or "invalid"
            return JsonResponse({"code": code, "message": message}, status=status)
        self.message_user(request, message, messages.ERROR)
        return self._notes_page(request, article, status=status)

    def _notes_page(
        self, request: HttpRequest, article: Article, *, status: int = 200, typed: Any = None
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": _("Notes"),
            "opts": self.model._meta,
            "article": article,
            **notes_context(request, article, page=number_or_zero(request.GET.get("page", "")) or 1, typed=typed),
        }
        return TemplateResponse(request, "articles/desk/notes/page.html", context, status=status)


def notes_context(
    request: HttpRequest, article: Article, *, body: str | None = None, page: int = 0, typed: Any = None
) -> dict[str, Any]:
    """The context of `articles/desk/notes/notes.html`: `notes`, `assignment` and what was `typed` without a script."""
    if typed is None and "do" in request.POST:
        typed = request.POST
    kept = _threads_written_in(article, typed) if typed else ()
    shown = ShownNotes(article, request.user, body=body, typed=typed, page=page, kept=kept)
    assignment = AssignmentForm(instance=article) if shown.may_assign else None
    return {"notes": shown, "assignment": assignment, "return_to": request.get_full_path()}


def _threads_written_in(article: Article, typed: Any) -> set[UUID]:
    """The threads in which the form has a text, which may be on another page now."""
    named = as_id(typed.get("do", "").partition(":")[2])
    replies, edits = (
        {as_id(name.removeprefix(field)): text for name, text in typed.items() if name.startswith(field)}
        for field in ("reply-", "edit-")
    )
    found = Note.objects.filter(article=article, pk__in=[pk for pk in {named, *replies, *edits} if pk])
    written = [
        thread or pk
        for thread, pk, text in found.values_list("thread", "pk", "text")
        if pk == named or replies.get(pk, "").strip() or is_edited(edits.get(pk, ""), text)
    ]
    return set(written[:THREADS_SHOWN])


def _not_sent(sent: QueryDict) -> QueryDict:
    """The form without what a button has sent."""
    verb, _colon, key = sent.get("do", "").partition(":")
    of_new = ("text", "new", "quote", "prefix", "suffix") if verb == "add" else ()
    left = sent.copy()
    for name in ("do", *of_new, *(f"{field}-{key}" for field in ("reply", "new", "edit", "seen"))):
        left.pop(name, None)
    return left


def _act(request: HttpRequest, article: Article) -> Note | None:
    """Do what the button says; the note or reply that was added, if it says that."""
    verb, _colon, key = request.POST.get("do", "").partition(":")
    action = _ACTIONS.get(verb)
    if action is None:
        raise forms.ValidationError(_("Choose what to do with the note."))
    return action(request, article, key)


def _add(request: HttpRequest, article: Article, _key: str) -> Note:
    sent = request.POST
    about = Selector(*(sent.get(name, "") for name in ("quote", "prefix", "suffix")))
    return notes.add_note(
        article, by=request.user, text=sent.get("text", ""), about=about, pk=as_id(sent.get("new", ""))
    )


def _with_reply(change: Callable[..., Note | None]) -> Callable[[HttpRequest, Article, str], Note | None]:
    """What a button of a thread does, with the reply that is typed there."""

    def act(request: HttpRequest, article: Article, key: str) -> Note | None:
        text, new = (request.POST.get(f"{name}-{key}", "") for name in ("reply", "new"))
        return change(notes.find_note(article, key), by=request.user, text=text, pk=as_id(new))

    return act


def _edit(request: HttpRequest, article: Article, key: str) -> None:
    text, seen = (request.POST.get(f"{name}-{key}", "") for name in ("edit", "seen"))
    notes.edit_note(notes.find_note(article, key), by=request.user, text=text, seen=instant(seen))


@retried
def _assign(request: HttpRequest, article: Article, _key: str) -> None:
    """Write the assignment, unless it has changed since the user saw it."""
    current = Article(pk=article.pk)
    publishing.lock(current)
    if request.POST.get("assigned", assignment_of(current)) != assignment_of(current):
        raise forms.ValidationError(_("Another user has changed the owner or due time. Check them, and save again."))
    form = AssignmentForm(request.POST, instance=current)
    if not form.is_valid():
        raise forms.ValidationError([error for errors in form.errors.values() for error in errors])
    changes = {name: form.cleaned_data[name] for name in form.changed_data}
    publishing.edit(article, by=request.user, changes=changes)


_ACTIONS: dict[str, Callable[[HttpRequest, Article, str], Note | None]] = {
    "add": _add,
    "reply": _with_reply(notes.reply),
    "edit": _edit,
    "resolve": _with_reply(notes.resolve_note),
    "reopen": _with_reply(notes.reopen_note),
    "delete": lambda request, article, key: notes.delete_note(notes.find_note(article, key), by=request.user),
    "assign": _assign,
}


def _is_script(request: HttpRequest) -> bool:
    return request.headers.get("Accept") == "application/json"


def _fragment(request: HttpRequest, article: Article, added: Note | None) -> HttpResponse:
    """The threads for the script, with that of the added note; 204 if it has this version already."""
    kept = {pk for pk in map(as_id, request.GET.getlist("keep")[:THREADS_SHOWN]) if pk}
    kept |= {added.thread_id or added.pk} if added else set()
    shown = ShownNotes(
        _ARTICLES.get(pk=article.pk), request.user, page=number_or_zero(request.GET.get("page", "")), kept=kept
    )
    if request.method == "GET" and request.GET.get("version") == shown.version:
        return HttpResponse(status=204)
    parts = {name: render_to_string(f"articles/desk/notes/{name}.html", {"notes": shown}, request) for name in _PARTS}
    values = {"version": shown.version, "count": shown.count, "passages": shown.passages, "new": shown.new_id}
    return JsonResponse({**parts, **values})


_PARTS = ("threads", "owner")


def _back(request: HttpRequest, added: Note | None) -> HttpResponse:
    """Return to the page that the form was on; of the screen of the notes, to the first if a note was added."""
    target = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        target = request.path
    address = urlsplit(target)._replace(fragment="")
    if added and address.path == request.path:
        address = address._replace(query="")
    return HttpResponseRedirect(f"{address.geturl()}#notes")
