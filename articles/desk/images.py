"""Admin of the image library: uploads, focal point and picker."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from articles import images
from articles.desk.opened_form import OpenedForm
from articles.desk.review.proposed_changes import SecondPersonScreens
from articles.exceptions import (
    ArticleError,
    DecodingBusy,
    ImageInUse,
    InvalidImageFile,
    NotAllowed,
    NotStored,
    PixelsUsedUp,
)
from articles.images import ADD, CHANGE, DELETE, EDITABLE, may_change, too_many_bytes
from articles.limits import IMAGE_BYTES
from articles.models import Article, Image
from articles.permissions import allows, reads_articles, require
from articles.review import waits

PER_PAGE = 48
PICKED_FROM = 24
"""Images on a page of the library and the picker."""

USERS_PER_PAGE = 50
"""Articles listed on the page of an image."""

STATUS_OF: dict[type[ArticleError], HTTPStatus] = {
    NotAllowed: HTTPStatus.FORBIDDEN,
    NotStored: HTTPStatus.INSUFFICIENT_STORAGE,
    DecodingBusy: HTTPStatus.SERVICE_UNAVAILABLE,
    PixelsUsedUp: HTTPStatus.TOO_MANY_REQUESTS,
}


class LibraryFilter(admin.SimpleListFilter):
    """Own favourites and uploads, images without alt text, unused images."""

    title = _("show")
    parameter_name = "show"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("favourites", _("My favourites")),  # type: ignore[list-item]
            ("own", _("My uploads")),  # type: ignore[list-item]
            ("undescribed", _("Without alt text")),  # type: ignore[list-item]
            ("unused", _("Unused")),  # type: ignore[list-item]
        ]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        if self.value() == "unused":
            return queryset.unused()
        chosen: dict[str, dict[str, Any]] = {
            "favourites": {"favoured_by": request.user.pk},
            "own": {"uploaded_by": request.user.pk},
            "undescribed": {"alt": ""},
        }
        return queryset.filter(**chosen.get(self.value() or "", {}))


class ImageForm(OpenedForm):
    """Texts and focal point of an image."""

    class Meta:
        model = Image
        fields = ["alt", "title", "caption", "credit", "focus_x", "focus_y"]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "alt" in self.fields:
            self.fields["alt"].required = True


@admin.register(Image)
class ImageAdmin(SecondPersonScreens):
    """The image library."""

    form = ImageForm
    list_filter = [LibraryFilter]
    list_per_page = PER_PAGE
    search_fields = ["title"]
    search_help_text = _("Title, alt text, caption or credit")
    show_full_result_count = False
    ordering = ["-created_at", "-id"]
    actions = None
    change_list_template = "articles/desk/images/library.html"
    list_before_template = "articles/desk/images/upload.html"  # type: ignore[assignment]
    change_form_before_template = "articles/desk/images/focal_point.html"  # type: ignore[assignment]
    change_form_after_template = "articles/desk/images/uses.html"  # type: ignore[assignment]
    warn_unsaved_form = True
    fieldsets = [
        (None, {"fields": ["alt", "caption", "credit", "title"]}),
        (_("Focal point"), {"fields": [("focus_x", "focus_y")]}),
    ]

    class Media:
        css = {"all": ["articles/images/images.css"]}  # noqa: RUF012 (Django's own form)
        js = ["articles/images/upload.js", "articles/images/focal_point.js"]  # noqa: RUF012 (Django's own form)

    def get_urls(self) -> list[URLPattern]:
        """URLs for uploads and the picker, before those of the images."""
        view = self.admin_site.admin_view
        own = [
            path("upload/", view(require_POST(self.upload)), name="articles_image_upload"),
            path("picker/", view(require_safe(self.picker)), name="articles_image_picker"),
            path("<uuid:pk>/describe/", view(require_POST(self.describe)), name="articles_image_describe"),
            path("<uuid:pk>/focus/", view(self.focus), name="articles_image_focus"),
            path("<uuid:pk>/favour/", view(require_POST(self.favour)), name="articles_image_favour"),
        ]
        return [*own, *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Image]:
        """With the data of a tile."""
        mine = Image.favoured_by.through.objects.filter(image=OuterRef("pk"), user=request.user.pk)
        rows: QuerySet[Image] = super().get_queryset(request)
        return rows.select_related("uploaded_by").annotate(
            articles=Count("uses", distinct=True), is_favourite=Exists(mine)
        )

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[QuerySet[Image], bool]:
        """Images that match all words."""
        return queryset.about(search_term), False

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Redirect to the library, where files are uploaded."""
        return redirect("admin:articles_image_changelist")

    def has_change_permission(self, request: HttpRequest, obj: Image | None = None) -> bool:
        """Whether the user may edit the image."""
        return allows(CHANGE, request.user) if obj is None else may_change(obj, request.user)

    def has_delete_permission(self, request: HttpRequest, obj: Image | None = None) -> bool:
        """Whether the user may delete the image, if it is not used."""
        return obj is not None and may_change(obj, request.user, DELETE)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any) -> Any:
        """Add the list of uses."""
        image = context["original"]
        users = Article.objects.filter(image_uses__image=image).order_by("-pk").defer("body")
        hidden = 0 if reads_articles(request.user) else users.count()
        uses = Paginator(users.none() if hidden else users, USERS_PER_PAGE).get_page(request.GET.get("page"))
        fronts = image.fronts()
        shown = {"uses": uses, "hidden_uses": hidden, "fronts": fronts, "is_used": bool(hidden or uses or fronts)}
        context |= {**shown, "show_save_and_add_another": False, "show_delete": not shown["is_used"]}
        return super().render_change_form(request, context, *args, **options)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        typed = {name: form.cleaned_data[name] for name in form.changed_data if name in EDITABLE}
        images.change_image(obj, by=request.user, changes=typed)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        """Refuse, naming the articles and fronts, while the image is used."""
        image = self.get_object(request, object_id)
        if image is not None and not self.has_delete_permission(request, image):
            raise PermissionDenied
        if image is not None and (titles := image.used_in()):
            shown = titles if reads_articles(request.user) else []
            self.message_user(request, str(ImageInUse(shown)), messages.ERROR)
            return redirect("admin:articles_image_change", object_id)
        return super().delete_view(request, object_id, extra_context)

    def delete_model(self, request: HttpRequest, obj: Image) -> None:
        """Delete the image and its files."""
        images.delete_image(obj, by=request.user)

    def upload(self, request: HttpRequest) -> JsonResponse:
        """Upload one file; JSON of its image, or of the error."""
        try:
            require(ADD, request.user)
            file = request.FILES.get("file")
            if file is None:
                raise _nothing(request)
            made = images.upload(file, by=request.user)
        except ArticleError as refusal:
            return _refused(refusal)
        return JsonResponse({**_as_json(made.image), "remark": made.remark}, status=HTTPStatus.CREATED)

    def describe(self, request: HttpRequest, pk: Any) -> JsonResponse:
        """Set the alt text."""
        return _change(request, pk, "alt")

    def focus(self, request: HttpRequest, pk: Any) -> HttpResponse:
        """The dialog in which the focal point is set; a POST sets it."""
        if request.method == "POST":
            return _change(request, pk, "focus_x", "focus_y")
        if not self.has_view_permission(request):
            raise PermissionDenied
        image = get_object_or_404(Image, pk=pk)
        context = {"original": image, "has_change_permission": self.has_change_permission(request, image)}
        return TemplateResponse(request, "articles/desk/images/focus_dialog.html", context)

    def favour(self, request: HttpRequest, pk: Any) -> HttpResponse:
        """Toggle the favourite, and return to the library."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        is_favourite = request.POST.get("is_favourite") == "1"
        images.favour(get_object_or_404(Image, pk=pk), by=request.user, is_favourite=is_favourite)
        back = request.POST.get("back", "")
        is_ours = url_has_allowed_host_and_scheme(back, allowed_hosts=None)
        return redirect(back if is_ours else "admin:articles_image_changelist")

    def picker(self, request: HttpRequest) -> HttpResponse:
        """A page of images to choose from, favourites first."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        found = self.get_queryset(request).about(request.GET.get("q", "")[:100])  # type: ignore[attr-defined]
        rows = Paginator(found.order_by("-is_favourite", "-created_at", "-pk"), PICKED_FROM)
        page = rows.get_page(request.GET.get("page"))
        return TemplateResponse(
            request, "articles/desk/images/choices.html", {"page": page, "query": request.GET.get("q")}
        )


def _change(request: HttpRequest, pk: Any, *names: str) -> JsonResponse:
    """Change these fields of an image to the values sent; JSON of the image, or of the error."""
    image = get_object_or_404(Image, pk=pk)
    try:
        images.change_image(image, by=request.user, changes={name: request.POST.get(name, "") for name in names})
    except ArticleError as refusal:
        return _refused(refusal)
    remark = gettext("Readers see this change once another person has approved it.") if waits(image) else ""
    return JsonResponse({**_as_json(image), "remark": remark})


def _refused(error: ArticleError) -> JsonResponse:
    """JSON of an error for scripts."""
    response = JsonResponse({"error": str(error)}, status=STATUS_OF.get(type(error), HTTPStatus.BAD_REQUEST))
    if error.retry_after is not None:
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _as_json(image: Image) -> dict[str, str]:
    """JSON data of an image for scripts."""
    return {
        "id": str(image.pk),
        "title": image.title,
        "alt": image.alt,
        "caption": image.caption,
        "credit": image.credit,
        "thumbnail": image.thumbnail,
        "focus": image.focus,
        "address": image.in_texts,
    }


def _nothing(request: HttpRequest) -> ArticleError:
    """Error for a missing file: none was sent, or it exceeds the size limit."""
    is_large = request.body_length > IMAGE_BYTES  # type: ignore[attr-defined]
    return too_many_bytes() if is_large else InvalidImageFile(_("No file was received. Upload it again."))
