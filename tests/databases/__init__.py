"""The tests of database, queue and caches on other servers, run by `make databases`."""
