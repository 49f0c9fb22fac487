"""Admin views that retry on deadlocks."""

from __future__ import annotations

from typing import Any

from unfold.admin import ModelAdmin

from scheduling.database import retried


class RetriedScreens(ModelAdmin):
    """Runs saving and deleting as one retried transaction each."""

    def changeform_view(self, *args: Any, **options: Any) -> Any:
        return retried(super().changeform_view)(*args, **options)

    def delete_view(self, *args: Any, **options: Any) -> Any:
        return retried(super().delete_view)(*args, **options)
