"""The publishing calendar: month, week and day views, rescheduling, and an iCalendar feed."""
