"""While an article is being written: its form is kept as it is typed, and editors see who else has it open."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID, uuid4

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from unfold.admin import ModelAdmin

from articles.audit import ADD, CHANGE, allows
from articles.desk.editor.changes_since import happened
from articles.exceptions import ArticleError, NotAllowed
from articles.models import Article, Autosave, Presence, named
from articles.publishing import Typed, drop_autosave, leave, mark_present, prune_autosaves, save_autosave
from articles.text import spoken, zone_label

OFFERED = 5
"""Unsaved copies that are offered at once, the latest first."""


class KeepingScreens(ModelAdmin):
    """Adds to the screens of articles what their scripts call while somebody writes."""

    def get_urls(self) -> list[URLPattern]:
        """The scripts' addresses, before those of the article itself."""
        own = [
            path("copies/<uuid:window>/", self._answering(self.copy), name="articles_article_copy"),
            path("<int:pk>/presence/<uuid:window>/", self._answering(self.presence), name="articles_article_presence"),
        ]
        return [*own, *super().get_urls()]

    def copy(self, request: HttpRequest, window: UUID) -> HttpResponse:
        """POST keeps what is typed in a window, DELETE throws it away."""
        if request.method == "DELETE":
            drop_autosave(window, by=request.user)
            return HttpResponse(status=204)
        sent = _sent(request)
        if sent is None:
            return JsonResponse({"code": "invalid"}, status=400)
        if sent["user"] != request.user.pk:
            return _signed_out()
        article = get_object_or_404(Article, pk=sent["article"]) if sent["article"] else None
        saved_at = save_autosave(window, article, by=request.user, typed=sent["typed"], number=sent["number"])
        return JsonResponse({"kept": f"{timezone.localtime(saved_at):%H:%M:%S} {zone_label(saved_at)}"})

    def presence(self, request: HttpRequest, pk: int, window: UUID) -> HttpResponse:
        """Note that a window is open, or (`leave`) closed; answer who else is there and what was saved meanwhile."""
        if "leave" in request.POST:
            leave(window, by=request.user)
            return HttpResponse(status=204)
        article = get_object_or_404(Article.objects.select_related("update"), pk=pk)
        others = mark_present(window, article, by=request.user)
        news = [*_told_of(others, request), *_told_of_news(article, request.POST)]
        return JsonResponse({"news": news})

    def _answering(self, view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        """For scripts: they are told to have somebody sign in, instead of being sent a page to do so."""

        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not self.admin_site.has_permission(request):
                return _signed_out()
            try:
                return view(request, *args, **kwargs)
            except ArticleError as refusal:
                told = {"code": refusal.code, "message": str(refusal)}
                return JsonResponse(told, status=403 if isinstance(refusal, NotAllowed) else 400)

        return never_cache(require_http_methods(["POST", "DELETE"])(answer))


def _signed_out() -> JsonResponse:
    """This is not, or no longer, who opened the form."""
    return JsonResponse({"code": "signed_out"}, status=401)


def window_of(request: HttpRequest) -> UUID:
    """Which window's form this is: the one sent or restored, else a new one."""
    try:
        return UUID(request.POST.get("window") or request.GET.get("restore") or "")
    except ValueError:
        return uuid4()


def restored(request: HttpRequest, article: Article | None) -> Typed | None:
    """What was typed in the window that `?restore=` names; None without one, or if it is gone."""
    if request.method == "POST" or "restore" not in request.GET:
        return None
    left = Autosave.objects.left_by(request.user, article).filter(pk=window_of(request)).first()
    return left.typed if left else None


def unsaved_work(request: HttpRequest, article: Article | None) -> list[dict[str, Any]]:
    """What this person left unsaved in other windows of the same form."""
    prune_autosaves()
    left = Autosave.objects.left_by(request.user, article).exclude(pk=window_of(request))[:OFFERED]
    return [
        {"window": copy.pk, "title": copy.title, "when": spoken(copy.saved_at), "address": _copy_address(copy.pk)}
        for copy in left
    ]


def addresses(request: HttpRequest, article: Article | None, window: UUID) -> dict[str, str]:
    """Where the scripts of a window send what they have to say; those who only read have nothing to say."""
    name, arguments = ("preview", [article.pk]) if article else ("preview_new", [])
    preview = reverse(f"admin:articles_article_{name}", args=arguments)
    times = reverse("admin:articles_article_times")
    found = {"signIn": reverse("admin:login"), "preview": f"{preview}?copy={window}", "times": times}
    if allows(CHANGE if article else ADD, request.user, article):
        found |= {"copy": _copy_address(window), "copies": _copy_address(UUID(int=0))}
    if article and "copy" in found:
        found["presence"] = reverse("admin:articles_article_presence", args=[article.pk, window])
    return found


def _copy_address(window: UUID) -> str:
    return reverse("admin:articles_article_copy", args=[window])


def _sent(request: HttpRequest) -> dict[str, Any] | None:
    """A copy as the script sends it; None for anything else."""
    try:
        sent = json.loads(request.body)
        number, typed = int(sent["number"]), sent["typed"]
        article, user = sent["article"] and int(sent["article"]), int(sent["user"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not isinstance(typed, dict) or not all(_are_texts(texts) for texts in typed.values()):
        return None
    whole = {_whole(name): [_whole(text) for text in texts] for name, texts in typed.items()}
    return {"number": number, "typed": whole, "article": article, "user": user}


def _whole(text: str) -> str:
    """With a question mark for half a character (a lone surrogate), which could be neither stored nor shown."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _are_texts(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(text, str) for text in found)


def _told_of(others: list[Presence], request: HttpRequest) -> list[str]:
    """A sentence for each other window."""
    told = []
    for other in others:
        name = named(other.user)
        when = f"{timezone.localtime(other.since):%H:%M}"
        if other.user_id == request.user.pk:
            told.append(_("You have this article open in another window too, since %(time)s.") % {"time": when})
        else:
            told.append(_("%(name)s has this article open too, since %(time)s.") % {"name": name, "time": when})
    return list(dict.fromkeys(told))


def _told_of_news(article: Article, form: Mapping[str, str]) -> list[str]:
    """What was done to the article since the form was opened, if anything was."""
    seen = form.get("seen", "")
    if not seen or seen == article.changed_at.isoformat():
        return []
    return [" ".join([happened(article, form.get("base", "")), _("When you save, you are shown what has changed.")])]
