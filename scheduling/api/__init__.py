"""REST for programs that add, change and run tasks."""
