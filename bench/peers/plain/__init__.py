"""A Django project as in a tutorial, on Headline's table of articles: for django-tasks-db and a loop."""
