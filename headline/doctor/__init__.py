"""Diagnosis of an installation for operators: `manage.py doctor`, the System screen and, in part, `/readyz`."""
