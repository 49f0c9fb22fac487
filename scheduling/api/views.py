"""REST API of the engine, for programs in other languages whose user may operate tasks.

Task types with a handler in this process belong to the application that registered it. A program could complete such
tasks without their effect, so it may only read them.
"""

from __future__ import annotations

import re
from typing import Any, cast

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.exceptions import APIException, NotFound, PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.settings import api_settings
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from scheduling import registry, services
from scheduling.api.serializers import (
    FailedSerializer,
    FailureSerializer,
    LeasedTaskSerializer,
    LeaseSerializer,
    NewTaskSerializer,
    PollSerializer,
    RescheduleSerializer,
    TaskFilterSerializer,
    TaskSerializer,
)
from scheduling.api.strict import EmptyBody
from scheduling.api.versions import VersionedView
from scheduling.conf import conf
from scheduling.exceptions import InvalidTask, LeaseLost, SchedulingError, TaskNotPending
from scheduling.models import TaskInfo, TaskInfoLog, TaskInfoLogQuerySet, topics_with_tasks

STATUS_OF: dict[type[SchedulingError], int] = {
    InvalidTask: status.HTTP_400_BAD_REQUEST,
    TaskNotPending: status.HTTP_409_CONFLICT,
    LeaseLost: status.HTTP_409_CONFLICT,
}


class EngineError(APIException):
    """An engine error as a response: its message, and its class name as the code."""

    def __init__(self, error: SchedulingError) -> None:
        self.status_code = next(STATUS_OF[kind] for kind in type(error).mro() if kind in STATUS_OF)
        super().__init__(str(error), code=re.sub(r"(?<!^)(?=[A-Z])", "_", type(error).__name__).lower())


class MayOperateTasks(BasePermission):
    """The permission "scheduling.operate_tasks", in addition to the project's default permissions."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Whether the user has it."""
        return request.user.has_perm("scheduling.operate_tasks")


_BY_ID = [
    OpenApiParameter("task_id", str, OpenApiParameter.PATH, description=_("As text, as in bodies: it has 63 bits."))
]


@extend_schema_view(
    list=extend_schema(summary="List tasks, oldest id first", parameters=[TaskFilterSerializer]),
    retrieve=extend_schema(summary="One task, pending or closed", parameters=_BY_ID),
)
class TaskViewSet(VersionedView, mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[TaskInfoLog]):
    """Tasks that run at a given time."""

    permission_classes = (*cast(Any, api_settings.DEFAULT_PERMISSION_CLASSES), MayOperateTasks)
    scope = "tasks"  # for a project whose tokens have scopes
    serializer_class = TaskSerializer
    filter_class = TaskFilterSerializer
    queryset = TaskInfoLog.objects.all()
    lookup_field = "task_id"
    lookup_value_converter = "int"
    is_versioned = True
    ordering = ("task_id",)

    def handle_exception(self, exc: Exception) -> Response:
        """Turn the engine's errors into responses."""
        return super().handle_exception(EngineError(exc) if isinstance(exc, SchedulingError) else exc)

    def retrieve(self, request: Request, task_id: int) -> Response:
        """The task; its `ETag` can be sent as `If-Match` with changes."""
        return self.respond_with(task_id)

    def filter_queryset(self, queryset: Any) -> Any:
        """In a list, apply the filters."""
        return queryset.filter(**self.asked()) if self.action == "list" else queryset

    @extend_schema(
        summary="Add a task",
        request=NewTaskSerializer,
        responses={
            201: TaskSerializer,
            200: OpenApiResponse(TaskSerializer, "A task with this key was pending and has been changed."),
        },
    )
    def create(self, request: Request) -> Response:
        """Add a task, or change the pending one with this type and key."""
        values = self.checked(NewTaskSerializer)
        _refuse_handled(values["task_type"])
        _refuse_many_topics(values["task_type"], values["priority"])
        task_type, key = values["task_type"], values["key"]
        is_pending = key is not None and TaskInfo.objects.filter(task_type=task_type, key=key).exists()
        task = services.add_task(**values)
        return Response(self._represent(task.task_id), status.HTTP_200_OK if is_pending else status.HTTP_201_CREATED)

    @extend_schema(summary="Reschedule a pending task", request=RescheduleSerializer, parameters=_BY_ID)
    def partial_update(self, request: Request, task_id: int) -> Response:
        """Reschedule a pending task; a program that had leased it loses the lease."""
        moment = self.checked(RescheduleSerializer)["execute_time"]
        self._log(task_id)
        self.if_match(TaskInfo(pk=task_id), lambda: services.reschedule_task(task_id, moment))
        return self.respond_with(task_id)

    @extend_schema(summary="Cancel a pending task", responses={204: None}, parameters=_BY_ID)
    def destroy(self, request: Request, task_id: int) -> Response:
        """Cancel a pending task. 204 means that it will not run, 409 that it was no longer pending."""
        self._log(task_id)
        if not self.if_match(TaskInfo(pk=task_id), lambda: services.cancel_task(task_id)):
            raise TaskNotPending
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="tasks_retry", summary="Retry a task", request=None, responses=TaskSerializer, parameters=_BY_ID
    )
    @action(detail=True, methods=["post"], is_versioned=False)
    def retry(self, request: Request, task_id: int) -> Response:
        """Give a failed or cancelled task all its attempts again, from now on; also one that this application runs."""
        self.checked(EmptyBody)
        if not self.get_queryset().filter(task_id=task_id).exists():
            raise NotFound
        services.retry_task(task_id)
        return Response(self._represent(task_id))

    @extend_schema(
        operation_id="tasks_poll",
        summary="Lease due tasks",
        request=PollSerializer,
        responses=LeasedTaskSerializer(many=True),
        filters=False,
    )
    @action(detail=False, methods=["post"], pagination_class=None)
    def poll(self, request: Request) -> Response:
        """Lease due tasks, oldest due first. Unless completed or failed by `leased_until`, each is due again."""
        values = self.checked(PollSerializer)
        _refuse_handled(values["task_type"])
        return Response(LeasedTaskSerializer(services.poll(**values), many=True).data)

    @extend_schema(
        operation_id="tasks_complete",
        summary="Report a leased task as done",
        request=LeaseSerializer,
        responses=TaskSerializer,
        parameters=_BY_ID,
    )
    @action(detail=True, methods=["post"], is_versioned=False)  # the lease says more than a version
    def complete(self, request: Request, task_id: int) -> Response:
        """Close a leased task as executed; 409 `lease_lost` if the program no longer holds it."""
        values = self.checked(LeaseSerializer)
        self._log(task_id)
        services.complete_task(task_id, **values)
        return Response(self._represent(task_id))

    @extend_schema(
        operation_id="tasks_fail",
        summary="Report that a leased task failed",
        request=FailureSerializer,
        responses=FailedSerializer,
        parameters=_BY_ID,
    )
    @action(detail=True, methods=["post"], is_versioned=False)
    def fail(self, request: Request, task_id: int) -> Response:
        """Record a failed attempt; the task is retried after a backoff, until its attempts are used up."""
        values = self.checked(FailureSerializer)
        self._log(task_id)
        return Response({"retried": services.fail_task(task_id, **values)})

    def _log(self, task_id: int) -> TaskInfoLog:
        """The record of a task that programs may change. Raises `NotFound` and `PermissionDenied`."""
        log = cast("TaskInfoLogQuerySet", self.get_queryset()).filter(task_id=task_id).first()
        if log is None:
            raise NotFound
        _refuse_handled(log.task_type)
        return log

    def _represent(self, task_id: int) -> Any:
        """The current task as JSON."""
        return TaskSerializer(self.get_queryset().get(task_id=task_id)).data


def _refuse_handled(task_type: str) -> None:
    if registry.get(task_type) is not None:
        message = _("Tasks of the type “%(type)s” are run by this application itself; programs may only look at them.")
        raise PermissionDenied(message % {"type": task_type}, code="handled_here")


def _refuse_many_topics(task_type: str, priority: int) -> None:
    """Workers, probes and the admin query each topic, so thousands of topics would slow all of them down."""
    topics = {(found, at) for found, at, _first in topics_with_tasks()}
    if len(topics) >= conf.MAX_TOPICS and (task_type, priority) not in topics:
        message = _(
            "Tasks of %(most)d types and priorities are pending: use one of these, or wait until some are done."
        )
        raise InvalidTask(message % {"most": conf.MAX_TOPICS})


router = SimpleRouter(use_regex_path=False)
router.register("", TaskViewSet, basename="task")
