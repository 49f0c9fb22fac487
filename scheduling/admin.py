"""Admin of the engine: pending tasks, task records and workers.

Rows are read-only: tasks change through the services alone, which write a task and its record together. The lists
follow an index and cap their counts, so that they stay fast with a million rows.
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
from django.utils.translation import gettext, gettext_lazy as _, ngettext
from unfold.admin import ModelAdmin
from unfold.decorators import display

from scheduling import registry
from scheduling.admin_lists import OverdueFilter, TaskChangeList, TypeFilter, types_in
from scheduling.database import CappedPaginator, database_now
from scheduling.exceptions import SchedulingError
from scheduling.models import TaskInfo, TaskInfoLog, WorkerHeartbeat
from scheduling.services import cancel_tasks, retry_task
from scheduling.services.measuring import overdue_before

Status = TaskInfoLog.Status

BADGES = {Status.SCHEDULED: "primary", Status.EXECUTED: "success", Status.CANCELLED: "default", Status.FAILED: "danger"}
_ERROR_LENGTH = 100  # characters of an error in a list


class ReadOnlyAdmin(ModelAdmin):
    """A read-only list and detail page."""

    keeps_history = False  # hides the history button; Django's log has no entries for these
    show_facets = ShowFacets.NEVER
    show_full_result_count = False
    list_disable_select_all = True  # a capped count cannot say what "all" means
    sortable_by = ()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Viewers, and users who may operate tasks."""
        return self.has_operate_permission(request) or super().has_view_permission(request, obj)

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Whether the user may cancel and retry tasks."""
        return request.user.has_perm("scheduling.operate_tasks")


class TaskAdmin(ReadOnlyAdmin):
    """Shared by the lists of pending tasks and of records."""

    paginator = CappedPaginator
    list_per_page = 50
    search_fields = ("key",)
    search_help_text = _("The task's number, or how its key begins")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Rows with this id or key prefix; naming the types lets the index on type and key be used."""
        term = search_term.strip()
        if not term:
            return queryset, False
        wanted = Q(task_type__in=types_in(self.model), key__istartswith=term)
        if term.isdecimal() and int(term) < 2**63:
            wanted |= Q(pk=int(term))
        return queryset.filter(wanted), False

    def get_changelist(self, request: HttpRequest, **options: Any) -> Any:
        """The change list that names subjects."""
        return TaskChangeList

    @admin.display(description=_("what"))
    def kind(self, row: TaskInfo | TaskInfoLog) -> str:
        """The label of the task's type."""
        return registry.label_of(row.task_type)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The row, with its label and subject for the heading."""
        row = super().get_object(request, object_id, from_field)
        if row is not None:
            row.kind_name = self.kind(row)
            names = registry.names_of(row.task_type, [row.key], user=request.user) if row.key else {}
            row.subject_name = names.get(row.key, "")
        return row

    @admin.display(description=_("about"))
    def subject(self, row: TaskInfo | TaskInfoLog) -> str:
        """The name of the task's subject."""
        return row.subject_name

    @admin.display(description=_("added"))
    def added(self, row: TaskInfo | TaskInfoLog) -> str:
        """When the task was added."""
        return _format_time(row.created_at)

    @admin.display(description=_("due"))
    def due_time(self, row: TaskInfo | TaskInfoLog) -> str:
        """The due time, to the millisecond, with its offset."""
        return _format_time(row.execute_time)


@admin.register(TaskInfo)
class TaskInfoAdmin(TaskAdmin):
    """Pending tasks, the soonest of each topic first."""

    nothing_yet = _("No tasks are pending.")
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
        """Annotated with the database's time and the last error, which is in the record."""
        error = TaskInfoLog.objects.filter(pk=OuterRef("pk")).values("error")
        tasks: QuerySet[TaskInfo] = super().get_queryset(request)
        return tasks.annotate(read_at=database_now(), last_error=Subquery(error))

    @display(label={"overdue": "danger"})
    @admin.display(description=_("overdue"))
    def is_overdue(self, task: Any) -> tuple[str, str] | None:
        """Whether it is overdue; a leased task is not."""
        is_leased = task.lease_token and task.leased_until and task.leased_until > task.read_at
        is_late = task.execute_time <= overdue_before(task.read_at) and not is_leased
        return ("overdue", gettext("overdue")) if is_late else None

    @admin.display(description=_("last error"))
    def error(self, task: Any) -> str:
        """The last line of the error."""
        return _last_line(task.last_error or "")

    @admin.action(description=_("Cancel selected tasks"), permissions=["operate"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[TaskInfo]) -> None:
        """Cancel the selected tasks and report how many were still pending."""
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
    """The records of all tasks within the retention time, newest first."""

    nothing_yet = _("Executed, cancelled and failed tasks are recorded here.")
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
        """The status as a coloured label."""
        return str(log.status), log.get_status_display()

    @admin.display(description=_("executed"))
    def executed_time(self, log: TaskInfoLog) -> str | None:
        """When it was executed, to the millisecond."""
        return _format_time(log.executed_at) if log.executed_at else None

    @admin.display(description=_("late (ms)"))
    def late_ms(self, log: TaskInfoLog) -> str | None:
        """The lateness in milliseconds."""
        if log.is_unmeasured:
            return gettext("not measured")
        return None if log.lateness_ms is None else f"{log.lateness_ms:.1f}"

    @admin.display(description=_("error"))
    def last_error(self, log: TaskInfoLog) -> str:
        """The last line of the error."""
        return _last_line(log.error)

    @admin.display(description=_("error"))
    def whole_error(self, log: TaskInfoLog) -> str:
        """The error with line breaks."""
        return linebreaksbr(log.error)

    @admin.action(description=_("Retry selected tasks"), permissions=["operate"])
    def retry(self, request: HttpRequest, queryset: QuerySet[TaskInfoLog]) -> None:
        """Retry failed and cancelled tasks, and report which could not be retried and why."""
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
    """The workers, and whether they are alive."""

    nothing_yet = _("No worker has run yet. Start one with: python manage.py poll --forever")
    list_display = ["name", "is_alive", "seen", "started", "queue", "clock_offset_ms", "kinds"]
    fields = ["name", "seen", "started", "queue", "clock_offset_ms", "kinds"]
    readonly_fields = ["seen", "started", "kinds"]
    ordering = ["-seen_at"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkerHeartbeat]:
        """Annotated with the database's time."""
        workers: QuerySet[WorkerHeartbeat] = super().get_queryset(request)
        return workers.annotate(read_at=database_now())

    @admin.display(description=_("alive"), boolean=True)
    def is_alive(self, worker: Any) -> bool:
        """Whether it was not stopped, and its last heartbeat is recent."""
        return bool(worker.is_alive(worker.read_at))

    @admin.display(description=_("last seen"))
    def seen(self, worker: WorkerHeartbeat) -> str:
        """The time of its last heartbeat."""
        return _format_time(worker.seen_at)

    @admin.display(description=_("started"))
    def started(self, worker: WorkerHeartbeat) -> str:
        """When it started."""
        return _format_time(worker.started_at)

    @admin.display(description=_("runs"))
    def kinds(self, worker: WorkerHeartbeat) -> str:
        """The labels of the task types that it runs."""
        return gettext(", ").join(sorted(registry.label_of(task_type) for task_type in worker.task_types))


def _selected(request: HttpRequest) -> list[int]:
    return [int(task_id) for task_id in request.POST.getlist(ACTION_CHECKBOX_NAME)]


def _format_time(moment: datetime) -> str:
    local = timezone.localtime(moment)
    offset = f"{local:%z}"
    zone = f"UTC{offset[:3]}:{offset[3:5]}" if local.utcoffset() else "UTC"
    return f"{local:%Y-%m-%d %H:%M:%S}.{local.microsecond // 1000:03} {zone}"


def _last_line(error: str) -> str:
    return Truncator(error.strip().rpartition("\n")[2]).chars(_ERROR_LENGTH)
