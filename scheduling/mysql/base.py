"""The backend at its former path: warns, and works until version 2."""

from warnings import warn

from scheduling.database.mysql.base import DatabaseWrapper as DatabaseWrapper

warn('"ENGINE": "scheduling.mysql" is now "scheduling.database.mysql"', DeprecationWarning, stacklevel=2)
