"""A Django database backend for MariaDB and MySQL with fewer round trips."""
