"""The former place of `scheduling.database.mysql`, for settings that still name it as `ENGINE`."""
