"""The engine's screens: what waits, what became of it, and who works.

Rows are looked at, never typed in: a task and its record only change through the services, which keep both in step.
The lists stay quick at a million rows, so they follow an index and count no further than they must.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import ShowFacets
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.template.defaultfilters import linebreaksbr
from django.utils import timezone
from django.utils.text import Truncator
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import display

from scheduling import registry
from scheduling.clock import database_now
from scheduling.exceptions import SchedulingError
from scheduling.listing import CappedPaginator, OverdueFilter, TaskChangeList, TypeFilter, types_in
from scheduling.models import TaskInfo, TaskInfoLog, WorkerHeartbeat
from scheduling.services import cancel_tasks, retry_task
from scheduling.services.measuring import alive_since, overdue_before

Status = TaskInfoLog.Status

BADGES = {Status.SCHEDULED: "primary", Status.EXECUTED: "success", Status.CANCELLED: "default", Status.FAILED: "danger"}
_ERROR_LENGTH = 100  # characters of an error in a list


class ReadOnlyAdmin(ModelAdmin):
    """A list and a page for each row, without a way to type anything in."""

    keeps_history = False  # in Django's own log, to which a button would lead
    show_facets = ShowFacets.NEVER
    show_full_result_count = False
    list_disable_select_all = True  # a count that stops cannot say what "all" means
    sortable_by = ()

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody."""
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Also whoever may operate tasks."""
        return self.has_operate_permission(request) or super().has_view_permission(request, obj)

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Whether this person may cancel and retry."""
        return request.user.has_perm("scheduling.operate_tasks")


class TaskAdmin(ReadOnlyAdmin):
    """What the lists of pending tasks and of records share."""

    paginator = CappedPaginator
    list_per_page = 50
    search_fields = ("key",)
    search_help_text = _("The task's number, or how its key begins")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Rows with this number or beginning of a key; naming the types lets the index of type and key serve."""
        term = search_term.strip()
        if not term:
            return queryset, False
        wanted = Q(task_type__in=types_in(self.model), key__istartswith=term)
        if term.isdecimal() and int(term) < 2**63:
            wanted |= Q(pk=int(term))
        return queryset.filter(wanted), False

    def get_changelist(self, request: HttpRequest, **options: Any) -> Any:
        """The list that names subjects."""
        return TaskChangeList

    @admin.display(description=_("what"))
    def kind(self, row: TaskInfo | TaskInfoLog) -> str:
        """What people call such a task."""
        return registry.label_of(row.task_type)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The row of a page, which is headed by what it is about."""
        row = super().get_object(request, object_id, from_field)
        if row is not None:
            row.kind_name = self.kind(row)
            names = registry.names_of(row.task_type, [row.key], to=request.user) if row.key else {}
            row.subject_name = names.get(row.key, "")
        return row

    @admin.display(description=_("about"))
    def subject(self, row: TaskInfo | TaskInfoLog) -> str:
        """What it is about."""
        return row.subject_name

    @admin.display(description=_("added"))
    def added(self, row: TaskInfo | TaskInfoLog) -> str:
        """When it was asked for."""
        return _spoken(row.created_at)

    @admin.display(description=_("due"))
    def due_time(self, row: TaskInfo | TaskInfoLog) -> str:
        """When it should run, to the millisecond, with the zone's name."""
        return _spoken(row.execute_time)


@admin.register(TaskInfo)
class TaskInfoAdmin(TaskAdmin):
    """Pending tasks, the soonest of each topic first."""

    nothing_yet = _("Nothing waits for its time.")
    list_display = ["kind", "subject", "due_time", "is_overdue", "attempts", "error", "task_id"]
    fields = [
        "kind", "subject", "due_time", "attempts", "error", "added",
        "task_id", "task_type", "key", "priority", "version", "parameters",
    ]  # fmt: skip
    readonly_fields = ["kind", "subject", "due_time", "error", "added"]
    list_filter = [OverdueFilter, TypeFilter]
    ordering = ["task_type", "priority", "execute_time", "task_id"]  # as the due index has them
    actions = ["cancel"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[TaskInfo]:
        """With the database's time, and with the error of the last attempt, which the record keeps."""
        error = TaskInfoLog.objects.filter(pk=OuterRef("pk")).values("error")
        tasks: QuerySet[TaskInfo] = super().get_queryset(request)
        return tasks.annotate(asked_at=database_now(), last_error=Subquery(error))

    @display(label={"overdue": "danger"})
    @admin.display(description=_("overdue"))
    def is_overdue(self, task: Any) -> tuple[str, str] | None:
        """Whether it should have run by now; a program may have it in hand until its lease ends."""
        is_leased = task.lease_token and task.leased_until and task.leased_until > task.asked_at
        is_late = task.execute_time <= overdue_before(task.asked_at) and not is_leased
        return ("overdue", gettext("overdue")) if is_late else None

    @admin.display(description=_("last error"))
    def error(self, task: Any) -> str:
        """The last line of it."""
        return _last_line(task.last_error or "")

    @admin.action(description=_("Cancel selected tasks"), permissions=["operate"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[TaskInfo]) -> None:
        """Take the selected tasks back and say of how many that came in time."""
        handled = registry.task_types().intersection(queryset.values_list("task_type", flat=True))
        selected = _selected(request)
        done = cancel_tasks(selected, reason=gettext("Cancelled by %(name)s.") % {"name": request.user.get_username()})
        if done:
            message = ngettext("%d task is cancelled.", "%d tasks are cancelled.", done)
            self.message_user(request, message % done, messages.SUCCESS)
        if left := len(selected) - done:
            message = ngettext("%d task was no longer pending.", "%d tasks were no longer pending.", left)
            self.message_user(request, message % left, messages.WARNING)
        if done and handled:
            message = gettext(
                "Tasks of %(types)s are added again while their subject asks for them: change that instead."
            )
            self.message_user(request, message % {"types": gettext(", ").join(sorted(handled))}, messages.WARNING)


@admin.register(TaskInfoLog)
class TaskInfoLogAdmin(TaskAdmin):
    """Every task there was within the retention time, the newest first."""

    nothing_yet = _("What has run, was cancelled or failed is recorded here.")
    list_display = [
        "kind", "subject", "badge", "due_time", "executed_time", "late_ms", "attempts", "last_error", "task_id",
    ]  # fmt: skip
    fields = [
        "kind", "subject", "status", "due_time", "executed_time", "late_ms", "attempts", "worker", "whole_error",
        "added", "task_id", "task_type", "key", "priority", "version", "parameters",
    ]  # fmt: skip
    readonly_fields = ["kind", "subject", "due_time", "executed_time", "late_ms", "whole_error", "added"]
    list_filter = ["status", TypeFilter]
    ordering = ["-task_id"]
    actions = ["retry"]

    @display(label={str(status.value): colour for status, colour in BADGES.items()})
    @admin.display(description=_("status"))
    def badge(self, log: TaskInfoLog) -> tuple[str, str]:
        """The status in its colour."""
        return str(log.status), log.get_status_display()

    @admin.display(description=_("executed"))
    def executed_time(self, log: TaskInfoLog) -> str | None:
        """When it ran, to the millisecond."""
        return _spoken(log.executed_at) if log.executed_at else None

    @admin.display(description=_("late (ms)"))
    def late_ms(self, log: TaskInfoLog) -> str | None:
        """How late it ran."""
        return None if log.lateness_ms is None else f"{log.lateness_ms:.1f}"

    @admin.display(description=_("error"))
    def last_error(self, log: TaskInfoLog) -> str:
        """The last line of it."""
        return _last_line(log.error)

    @admin.display(description=_("error"))
    def whole_error(self, log: TaskInfoLog) -> str:
        """Line by line."""
        return linebreaksbr(log.error)

    @admin.action(description=_("Retry selected tasks"), permissions=["operate"])
    def retry(self, request: HttpRequest, queryset: QuerySet[TaskInfoLog]) -> None:
        """Give failed and cancelled tasks another full set of attempts and say which could not get it, and why."""
        retried = 0
        for log in queryset:
            try:
                retry_task(log.task_id)
            except SchedulingError as error:
                self.message_user(request, f"{log.task_id}: {error}", messages.WARNING)
            else:
                self.log_change(request, log, gettext("Retried"))
                retried += 1
        if retried:
            message = ngettext("%d task is pending again.", "%d tasks are pending again.", retried)
            self.message_user(request, message % retried, messages.SUCCESS)


@admin.register(WorkerHeartbeat)
class WorkerHeartbeatAdmin(ReadOnlyAdmin):
    """The workers, and whether they live."""

    nothing_yet = _("No worker has run yet. Start one with: python manage.py poll --forever")
    list_display = ["name", "is_alive", "seen", "started", "queue", "clock_offset_ms", "kinds"]
    fields = ["name", "seen", "started", "queue", "clock_offset_ms", "kinds"]
    readonly_fields = ["seen", "started", "kinds"]
    ordering = ["-seen_at"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkerHeartbeat]:
        """With the database's time."""
        workers: QuerySet[WorkerHeartbeat] = super().get_queryset(request)
        return workers.annotate(asked_at=database_now())

    @admin.display(description=_("alive"), boolean=True)
    def is_alive(self, worker: Any) -> bool:
        """Whether it has given a sign of life lately."""
        return bool(worker.seen_at >= alive_since(worker.asked_at))

    @admin.display(description=_("last seen"))
    def seen(self, worker: WorkerHeartbeat) -> str:
        """When it last gave one."""
        return _spoken(worker.seen_at)

    @admin.display(description=_("started"))
    def started(self, worker: WorkerHeartbeat) -> str:
        """Since when it works."""
        return _spoken(worker.started_at)

    @admin.display(description=_("runs"))
    def kinds(self, worker: WorkerHeartbeat) -> str:
        """What it runs."""
        return gettext(", ").join(sorted(registry.label_of(task_type) for task_type in worker.task_types))


def _selected(request: HttpRequest) -> list[int]:
    return [int(task_id) for task_id in request.POST.getlist(ACTION_CHECKBOX_NAME)]


def _spoken(moment: datetime) -> str:
    local = timezone.localtime(moment)
    offset = f"{local:%z}"
    zone = f"UTC{offset[:3]}:{offset[3:5]}" if local.utcoffset() else "UTC"
    return f"{local:%Y-%m-%d %H:%M:%S}.{local.microsecond // 1000:03} {zone}"


def _last_line(error: str) -> str:
    return Truncator(error.strip().rpartition("\n")[2]).chars(_ERROR_LENGTH)
