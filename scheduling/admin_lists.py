"""Filters and change list of the engine's admin."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.views import ChangeList

from scheduling import registry
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo, recorded_types, topics_with_tasks
from scheduling.services.measuring import overdue_tasks


class TypeFilter(admin.SimpleListFilter):
    """Filters by task type; reads the types from an index instead of every row."""

    title = _("type")
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The types that have rows."""
        return sorted(
            ((task_type, registry.label_of(task_type)) for task_type in types_in(model_admin.model)),
            key=lambda choice: choice[1],
        )

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Rows of the chosen type."""
        return queryset.filter(task_type=self.value()) if self.value() else queryset


class OverdueFilter(admin.SimpleListFilter):
    """Filters overdue tasks."""

    title = _("overdue")
    parameter_name = "overdue"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """The one choice."""
        return [("yes", _("Overdue"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The overdue rows."""
        return queryset & overdue_tasks(read_database_clock()) if self.value() else queryset


class TaskChangeList(ChangeList):
    """Looks up the subject names of a page of tasks, type by type."""

    def get_results(self, request: HttpRequest) -> None:
        """The rows, each with its `subject_name`."""
        super().get_results(request)
        rows = list(self.result_list)
        for task_type in {row.task_type for row in rows}:
            same_type = [row for row in rows if row.task_type == task_type]
            names = registry.names_of(task_type, [row.key for row in same_type if row.key], user=request.user)
            for row in same_type:
                row.subject_name = names.get(row.key or "", "")
        self.result_list = rows


def types_in(model: type[Model]) -> set[str]:
    """The task types in this table."""
    if model is TaskInfo:
        return {task_type for task_type, _, _ in topics_with_tasks()}
    return recorded_types()
