"""Admin screens that stay fast with a million rows, and retry on deadlocks.

Counting stops at `COUNT_LIMIT`. The keys of a page are read first, without joins, so that the database walks an index
as far as the page needs. An order without an index sorts only the first `COUNT_LIMIT` rows of an order with one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

from articles.desk.opened_form import OpenedForm
from articles.desk.typed import gone_page, typed_in
from articles.exceptions import ArticleError
from articles.limits import MOST_WORDS, PALETTE_LENGTH
from articles.permissions import lock_account
from scheduling.database import COUNT_LIMIT, CappedPaginator, duplicates_collide, in_any, lock_by_ids, retried


class BoundedChangeList(ChangeList):
    """Reads a page by its keys, and bounds what is sorted."""

    model_admin: BoundedAdmin

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        """After an indexed field only the key, in the same direction, so that the index has this order."""
        ordering = super().get_ordering(request, queryset)
        if _name(ordering[0]) not in self.model_admin.indexed_orders:
            return ordering
        return [ordering[0], "-pk" if str(ordering[0]).startswith("-") else "pk"]

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """The rows; only `COUNT_LIMIT` if no index has their order, or for a bulk action on all counted rows."""
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        heads = self.model_admin.heads(request, rows, _name(rows.query.order_by[0]))
        if request.method == "POST":
            heads = (heads or [rows]) if request.POST.get("select_across") == "1" else []
        if not heads:
            return rows
        first = in_any(*(head.values("pk")[:COUNT_LIMIT] for head in heads))
        return self._whole_rows().filter(pk__in=first).order_by(*rows.query.order_by)

    def get_results(self, request: HttpRequest) -> None:
        """Read the rows of the page by their keys."""
        super().get_results(request)
        keys = list(self.result_list.values_list("pk", flat=True))
        found = self._whole_rows().in_bulk(keys)
        self.result_list = [found[key] for key in keys if key in found]

    def _whole_rows(self) -> QuerySet[Any]:
        return self.model_admin.whole(self.apply_select_related(self.root_queryset))


class SearchedScreens(ModelAdmin):
    """Searches for a bounded number of words, each of which costs a condition for each column."""

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        return super().get_search_results(request, queryset, first_words(search_term))


def first_words(text: str) -> str:
    """The words of a search that are looked for."""
    return " ".join(text[:PALETTE_LENGTH].split()[:MOST_WORDS])


class BoundedAdmin(SearchedScreens):
    """An admin whose list stays fast with a million rows."""

    paginator = CappedPaginator
    show_full_result_count = False
    indexed_orders: ClassVar[Sequence[str]] = ()
    """Fields with an index. Its first one, descending, selects the rows that are sorted by any other field."""

    def get_changelist(self, request: HttpRequest, **options: Any) -> Any:
        return BoundedChangeList

    def heads(self, request: HttpRequest, rows: QuerySet[Any], order: str) -> list[QuerySet[Any]]:
        """Queries whose first `COUNT_LIMIT` rows are sorted by `order`; empty if an index sorts all of `rows`."""
        return [] if order in self.indexed_orders else [rows.order_by(f"-{self.indexed_orders[0]}", "-pk")]

    def whole(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """The rows of a page as the list shows them."""
        return rows


def _name(part: Any) -> Any:
    return part.lstrip("-") if isinstance(part, str) else part


class RefusedForm:
    """Mixin of a form that is shown again with what a service has refused."""

    refusal: ClassVar[ArticleError]

    def clean(self) -> Any:
        """Repeat the refusal."""
        super().clean()  # type: ignore[misc]
        raise ValidationError(str(self.refusal), code=self.refusal.code)


class RetriedScreens(SearchedScreens):
    """Runs saving and deleting as one retried transaction each.

    When a service refuses, nothing is stored, and the form is shown again with its input and the reason.
    """

    answers_refusals = False
    """Whether the screen itself answers what a service refuses."""
    names_related = True
    """Whether a deletion reads and lists what goes with the chosen rows; not where that may be a million others."""

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """What is named before a deletion."""
        if self.names_related:
            return super().get_deleted_objects(objs, request)
        names = [str(one) for one in objs]
        are_allowed = all(self.has_delete_permission(request, one) for one in objs)
        missing = set() if are_allowed else {self.opts.verbose_name}
        return names, {self.opts.verbose_name_plural: len(names)}, missing, []

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        show = retried_view(self._locked_form, request, object_id, form_url, extra_context)
        try:
            return show()
        except ArticleError as refusal:
            if self.answers_refusals:
                raise
            request.refusal = refusal  # type: ignore[attr-defined]
            return show()

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """The list; what a service refuses to do with chosen rows is said above it."""
        try:
            return super().changelist_view(request, extra_context)
        except ArticleError as refusal:
            if request.method != "POST":  # it would lead to itself
                raise
            self.message_user(request, str(refusal), messages.ERROR)
            return redirect(request.get_full_path())

    def _locked_form(self, request: HttpRequest, object_id: str | None, *arguments: Any) -> Any:
        """The form; what it is compared with stays until it is stored."""
        if request.method == "POST" and object_id and issubclass(self.form, OpenedForm):
            with suppress(ValidationError, ValueError):  # no such row, as the form says
                self.lock_row(self.opts.pk.to_python(unquote(object_id)))
        return super().changeform_view(request, object_id, *arguments)

    def lock_row(self, pk: Any) -> Any:
        """The row, locked until the end of the transaction; none if there is none."""
        return lock_by_ids(self.model, [pk]).first()

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> Any:
        """The answer if another user has deleted the row; what was typed is shown."""
        if request.method == "POST" and typed_in(request):
            return gone_page(request)
        return super()._get_obj_does_not_exist_redirect(request, opts, object_id)  # type: ignore[misc]

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        """The form, with the reason if a service has refused it."""
        form: Any = super().get_form(request, obj, change=change, **options)
        refusal = getattr(request, "refusal", None)
        if refusal is None or self.answers_refusals:
            return form
        refused: Any = type(form.__name__, (RefusedForm, form), {"refusal": refusal})
        refused.base_fields = form.base_fields  # the metaclass would make new ones, without what others changed
        return refused

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        """Above a refused form is the name of the stored row, not the one that was typed."""
        row = context.get("original")
        stored = self.get_object(request, str(row.pk)) if row is not None and context.get("errors") else None
        if stored is not None:
            context |= {"original": stored, "subtitle": str(stored)}
        page: HttpResponse = super().render_change_form(request, context, *args, **options)
        return page

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        try:
            return retried_view(super().delete_view, request, object_id, extra_context)()
        except ArticleError as refusal:
            self.message_user(request, str(refusal), messages.ERROR)
            return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")


def one_at_a_time(view: Callable[[Any, HttpRequest], HttpResponse]) -> Callable[[Any, HttpRequest], HttpResponse]:
    """Decorator of a view of what each user has once: of two windows that save it, one waits for the other."""

    def locked(admin: Any, request: HttpRequest) -> HttpResponse:
        lock_account(request.user)
        return view(admin, request)

    @wraps(view)
    def run(admin: Any, request: HttpRequest) -> HttpResponse:
        return retried(locked)(admin, request) if request.method == "POST" else view(admin, request)

    return run


def retried_view(view: Callable[..., Any], request: HttpRequest, *arguments: Any) -> Callable[[], Any]:
    """The view as a retried transaction; what an attempt that was rolled back has said is not shown."""
    # Django has no name of its own for what is said and not stored yet.
    said: list[Any] = getattr(messages.get_messages(request), "_queued_messages", [])
    before = len(said)

    def attempt() -> Any:
        del said[before:]
        with duplicates_collide():  # the next attempt finds the other row, and the form says so
            return view(request, *arguments)

    return retried(attempt)
