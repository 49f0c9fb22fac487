"""Serializers of the task API. The services validate every value, so that all callers get the same errors."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from scheduling.api.bounded_fields import BoundedInstantField
from scheduling.api.strict import Strict
from scheduling.conf import conf
from scheduling.limits import ERROR_LENGTH, KEY_LENGTH, LEASE_TOKEN_LENGTH, MOST_LEASED, TASK_TYPE_LENGTH
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.validation import PRIORITIES, rounded_up

Status = TaskInfoLog.Status


class TaskTimeField(BoundedInstantField):
    """A time as written: one without an offset stays naive, and the services refuse it."""

    def to_internal_value(self, value: Any) -> datetime:
        """Never before what is written, which may have more digits than microseconds. Raises `ValidationError`."""
        return rounded_up(super().to_internal_value(value), value)

    def enforce_timezone(self, value: datetime) -> datetime:
        """Leave a naive time as it is."""
        return value


@extend_schema_field({"type": ["object", "array", "string", "number", "boolean"], "items": {}})
class ParametersField(serializers.JSONField):
    """The task's parameters: any JSON value."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_null=True, **options)


class PriorityField(serializers.IntegerField):
    """A small integer; lower runs first."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=PRIORITIES.start, max_value=PRIORITIES.stop - 1, default=0, **options)


class StatusField(serializers.ChoiceField):
    """A status by word, such as `failed`, or by number."""

    _WORDS: ClassVar = {status.name.lower(): status.value for status in Status}

    def __init__(self, **options: Any) -> None:
        super().__init__(Status.choices, **options)

    def to_internal_value(self, data: Any) -> Any:
        """The number. Raises `ValidationError`."""
        return super().to_internal_value(self._WORDS.get(str(data).lower(), data))


class TaskSerializer(serializers.ModelSerializer[TaskInfoLog]):
    """A task and its status."""

    status_name = serializers.SerializerMethodField(help_text=_("The status as a word."))
    task_id = serializers.CharField(read_only=True)  # JavaScript's numbers are exact to 53 bits, an id has 63
    parameters = ParametersField(read_only=True)
    lateness_ms = serializers.FloatField(
        read_only=True,
        allow_null=True,
        help_text=_(
            "Executed minus due, or minus promised if that was later. "
            "Empty if the worker died between the commit and this measurement."
        ),
    )

    class Meta:
        model = TaskInfoLog
        fields = [
            "task_id", "task_type", "priority", "execute_time", "parameters", "key", "version", "attempts",
            "status", "status_name", "executed_at", "lateness_ms", "error", "created_at",
        ]  # fmt: skip
        read_only_fields = fields

    def get_status_name(self, task: TaskInfoLog) -> str:
        """As the filter takes it."""
        return Status(task.status).name.lower()


class LeasedTaskSerializer(serializers.ModelSerializer[TaskInfo]):
    """A task leased to a program until `leased_until`; the token proves that the program holds it."""

    task_id = serializers.CharField(read_only=True)  # JavaScript's numbers are exact to 53 bits, an id has 63
    parameters = ParametersField(read_only=True)

    class Meta:
        model = TaskInfo
        fields = [
            "task_id", "task_type", "priority", "execute_time", "parameters", "key", "version", "attempts",
            "leased_until", "lease_token", "created_at",
        ]  # fmt: skip
        read_only_fields = fields


class NewTaskSerializer(Strict):
    """A task to be added. A pending task with the same type and key is changed instead."""

    task_type = serializers.CharField(max_length=TASK_TYPE_LENGTH, trim_whitespace=False)
    execute_time = TaskTimeField(help_text=_("With an offset; now or earlier means at once."))
    parameters = ParametersField(default=dict)
    priority = PriorityField()
    key = serializers.CharField(max_length=KEY_LENGTH, trim_whitespace=False, allow_null=True, default=None)


class RescheduleSerializer(Strict):
    """The new due time of a pending task."""

    execute_time = TaskTimeField(help_text=_("With an offset; now or earlier means at once."))


class PollSerializer(Strict):
    """The topic, the number of tasks and the lease in seconds."""

    task_type = serializers.CharField(max_length=TASK_TYPE_LENGTH, trim_whitespace=False)
    priority = PriorityField()
    limit = serializers.IntegerField(min_value=1, max_value=MOST_LEASED, default=1)
    lease = serializers.FloatField(
        min_value=0, max_value=conf.MAX_LEASE, allow_null=True, default=None,
        help_text=_("Seconds until the task is due again; null: the installation's usual time."),
    )  # fmt: skip


class LeaseSerializer(Strict):
    """The token that `poll` returned with the task."""

    lease_token = serializers.RegexField(r"^[!-~]+$", max_length=LEASE_TOKEN_LENGTH)


class FailureSerializer(LeaseSerializer):
    """The token and the error."""

    error = serializers.CharField(max_length=ERROR_LENGTH)


class FailedSerializer(serializers.Serializer[Any]):
    """Whether a failed task is retried."""

    retried = serializers.BooleanField(help_text=_("False: its attempts are used up, and it is recorded as failed."))


class TaskFilterSerializer(serializers.Serializer[Any]):
    """Which tasks to list."""

    task_type = serializers.CharField(max_length=TASK_TYPE_LENGTH, trim_whitespace=False, required=False)
    key = serializers.CharField(max_length=KEY_LENGTH, trim_whitespace=False, required=False)
    status = StatusField(
        default=Status.SCHEDULED, help_text=_("By number or by word, such as `failed`; left out, pending tasks.")
    )
