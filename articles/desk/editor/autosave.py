"""Autosave and presence endpoints of the article form."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from unfold.admin import ModelAdmin

from articles.desk.editor.changes_since import happened
from articles.desk.editor.version import following_of
from articles.desk.parse import instant
from articles.exceptions import ArticleError, NotAllowed
from articles.models import Article, Autosave, Presence, named
from articles.pages import newest_number
from articles.permissions import ADD, CHANGE, allows, reads_articles, require
from articles.publishing import Typed, drop_autosave, is_as_seen, leave, mark_present, save_autosave
from articles.text import zone_label
from scheduling.database import read_database_clock

AUTOSAVE_INTERVAL = 3
"""Seconds after which the script saves what was typed since."""

_MOST_NUMBER = 2**53 - 1  # of a script, which has no larger ones; the database has some
NEVER_SAVED = ("csrfmiddlewaretoken", "window", "merged_with", "asked", "review_stage")
"""Fields of a form that a draft does not contain, as in the script."""


class AutosaveAdmin(ModelAdmin):
    """Adds the autosave and presence endpoints to the article admin."""

    def get_urls(self) -> list[URLPattern]:
        """The endpoints, before those of the article itself."""
        own = [
            path("autosave/<uuid:window>/", self._json_view(self.autosave), name="articles_article_autosave"),
            path("<int:pk>/presence/<uuid:window>/", self._json_view(self.presence), name="articles_article_presence"),
        ]
        return [*own, *super().get_urls()]

    def autosave(self, request: HttpRequest, window: UUID) -> HttpResponse:
        """POST saves the form content of a window, DELETE discards it.

        That of a deleted article is saved for the form of a new one.
        """
        if request.method == "DELETE":
            drop_autosave(window, by=request.user)
            return HttpResponse(status=204)
        sent = _sent(request)
        if sent is None:
            return JsonResponse({"code": "invalid"}, status=400)
        if sent["user"] != request.user.pk:
            return _signed_out()
        article = Article.objects.filter(pk=sent["article"]).first() if sent["article"] else None
        saved_at = save_autosave(window, article, by=request.user, typed=sent["typed"], number=sent["number"])
        if sent["article"] and article is None:
            message = _("The article has been deleted. Your text is still here, and in the form of a new article.")
            return JsonResponse({"code": "gone", "message": message}, status=410)
        belongs_to = Autosave.objects.filter(pk=window).values_list("article_id", flat=True).first()
        time = f"{timezone.localtime(saved_at):%H:%M:%S} {zone_label(saved_at)}"
        return JsonResponse({"saved": time, "article": belongs_to})

    def presence(self, request: HttpRequest, pk: int, window: UUID) -> HttpResponse:
        """Record that a window is open or (`leave`) closed; return messages about other editors and later saves.

        Authors whose article has been approved since may no longer edit it: they are not shown to others.
        """
        if "leave" in request.POST:
            leave(window, by=request.user)
            return HttpResponse(status=204)
        article = get_object_or_404(Article.objects.select_related("update", "soft_lock"), pk=pk)
        require(CHANGE, request.user)
        may_edit = allows(CHANGE, request.user, article)
        others = mark_present(window, article, by=request.user) if may_edit else []
        messages = [*_presence_messages(others, request), *_change_messages(article, request)]
        people = {other.user_id: named(other.user) for other in others if other.user_id != request.user.pk}
        version = following_of(article, request.user, read_database_clock()).version
        return JsonResponse({"messages": messages, "people": list(people.values()), "version": version})

    def _json_view(self, view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        """A view for scripts: 401 in place of a redirect to the sign-in page, and errors as JSON."""

        def respond(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not self.admin_site.has_permission(request):
                return _signed_out()
            try:
                return view(request, *args, **kwargs)
            except ArticleError as refusal:
                error = {"code": refusal.code, "message": str(refusal)}
                return JsonResponse(error, status=403 if isinstance(refusal, NotAllowed) else 400)

        return never_cache(require_http_methods(["POST", "DELETE"])(respond))


def _signed_out() -> JsonResponse:
    """The user who opened the form is not signed in."""
    return JsonResponse({"code": "signed_out"}, status=401)


def window_of(request: HttpRequest) -> UUID:
    """The window of the submitted form; a new one if there is none."""
    return _as_window(request.POST.get("window", "")) or uuid4()


def window_shown(request: HttpRequest, article: Article | None) -> UUID:
    """The window of the form that is shown: the submitted one, that of the restored draft, or a new one.

    Without its draft a restored window is not used again: it may have created an article, or be another user's.
    """
    draft = _restored(request, article)
    return draft.pk if draft else window_of(request)


def last_number(request: HttpRequest, window: UUID) -> int:
    """The number of the draft of this window, which those that follow must exceed; 0 if there is none."""
    if request.method != "POST" and "restore" not in request.GET:
        return 0
    return Autosave.objects.filter(pk=window, user=request.user.pk).values_list("number", flat=True).first() or 0


def _as_window(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def typed_in(request: HttpRequest) -> dict[str, list[str]]:
    """What the form sent, as a script saves it."""
    names = sorted(name for name in request.POST if not name.startswith(("_", "keep_")) and name not in NEVER_SAVED)
    return {name: request.POST.getlist(name) for name in names}


def digest_of(request: HttpRequest) -> str:
    """A digest of what the form sent."""
    return hashlib.sha256(json.dumps(typed_in(request)).encode()).hexdigest()


def keep_typed(request: HttpRequest) -> None:
    """Save what the form of a new article sent as a draft to recover. Raises what `save_autosave` raises."""
    number = int(read_database_clock().timestamp() * 1000)
    save_autosave(window_of(request), None, by=request.user, typed=typed_in(request), number=number)


def restored_draft(request: HttpRequest, article: Article | None) -> Typed | None:
    """The autosaved content of the window in `?restore=`; None without one, or if it no longer exists."""
    left = _restored(request, article)
    if left is None:
        return None
    return {**left.typed, **_version_created(article)} if article and left.typed.get("seen") == [""] else left.typed


def _restored(request: HttpRequest, article: Article | None) -> Autosave | None:
    window = _as_window(request.GET.get("restore", "")) if request.method != "POST" else None
    return Autosave.objects.left_by(request.user, article).filter(pk=window).first() if window else None


def _version_created(article: Article) -> dict[str, list[str]]:
    """Version fields of a draft typed in the form that created the article: later changes of others are conflicts."""
    first = article.revisions.order_by("number")[0]
    seen = article.changed_at if newest_number(article) == first.number else first.created_at
    return {"seen": [seen.isoformat()], "base": [str(first.number)]}


def script_urls(request: HttpRequest, article: Article | None, window: UUID) -> dict[str, str]:
    """URLs for the scripts of a window; read-only users get no autosave and no presence."""
    name, arguments = ("preview", [article.pk]) if article else ("preview_new", [])
    preview = reverse(f"admin:articles_article_{name}", args=arguments)
    times = reverse("admin:articles_article_times")
    checks = reverse("admin:articles_article_checks")
    found = {"checks": f"{checks}?{urlencode({'copy': window, **({'article': article.pk} if article else {})})}"}
    found |= {"signIn": reverse("admin:login"), "preview": f"{preview}?copy={window}", "times": times}
    if reads_articles(request.user):
        found["targets"] = reverse("admin:articles_article_targets")
    if allows(CHANGE if article else ADD, request.user, article):
        found |= {"draft": autosave_url(window), "drafts": autosave_url(UUID(int=0))}
    if request.user.has_perm("articles.add_tag"):
        found["newTag"] = reverse("admin:articles_tag_add")
    if article and "draft" in found:
        found["presence"] = reverse("admin:articles_article_presence", args=[article.pk, window])
    return found


def autosave_url(window: UUID) -> str:
    """Where the content of this window is saved and discarded."""
    return reverse("admin:articles_article_autosave", args=[window])


def _sent(request: HttpRequest) -> dict[str, Any] | None:
    """The autosave request of the script; None if it is malformed."""
    try:
        sent = json.loads(request.body)
        number, typed = int(sent["number"]), sent["typed"]
        article, user = sent["article"] and int(sent["article"]), int(sent["user"])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    if abs(number) > _MOST_NUMBER:
        return None
    if not isinstance(typed, dict) or not all(_are_texts(texts) for texts in typed.values()):
        return None
    whole = {_without_surrogates(name): [_without_surrogates(text) for text in texts] for name, texts in typed.items()}
    return {"number": number, "typed": whole, "article": article, "user": user}


def _without_surrogates(text: str) -> str:
    """Lone surrogates replaced by a question mark; they can be neither stored nor shown."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _are_texts(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(text, str) for text in found)


def _presence_messages(others: list[Presence], request: HttpRequest) -> list[str]:
    """One sentence per other window."""
    messages = []
    for other in others:
        name = named(other.user)
        when = f"{timezone.localtime(other.since):%H:%M}"
        if other.user_id == request.user.pk:
            messages.append(_("You have also opened this article in another window, since %(time)s.") % {"time": when})
        else:
            messages.append(_("%(name)s is also editing, since %(time)s.") % {"name": name, "time": when})
    return list(dict.fromkeys(messages))


def _change_messages(article: Article, request: HttpRequest) -> list[str]:
    """How the article has changed since the form was opened, if it has."""
    seen = request.POST.get("seen", "")
    if not seen or seen == article.changed_at.isoformat():
        return []
    sentences = [happened(article, request.POST.get("base", ""), request.user)]
    since = instant(seen)
    if since is None or not is_as_seen(article, since):
        sentences.append(_("Changes are compared when you save."))
    return [" ".join(sentences)]
