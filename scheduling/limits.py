"""Limits of what programs send to the engine, and to every strict API."""

TASK_TYPE_LENGTH = 64  # characters of a task type
KEY_LENGTH = 191  # characters of a task's key
PARAMETERS_DEPTH = 31  # levels of a task's parameters: MariaDB takes no JSON that is deeper, MySQL and SQLite take more
ERROR_LENGTH = 10_000  # characters of an error that a program reports
LEASE_TOKEN_LENGTH = 100  # characters of a lease token
MOST_LEASED = 1000  # tasks leased by one call
MOST_RELATED = 50  # objects that a list in JSON names, such as roles or permissions, unless it has a limit of its own
MOST_UNKNOWN = 10  # unknown fields or parameters that an error names
UNKNOWN_LENGTH = 80  # characters of an unknown name that an error shows
INSTANT_LENGTH = 64  # characters of a time
JSON_DEPTH = 40  # levels of lists and objects in a body
