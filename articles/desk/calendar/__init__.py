"""The calendar: what goes out when, by month, week and day; moving it; and the feed for calendar programs."""
