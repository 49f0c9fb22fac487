"""Several hosts, each with web server, workers, a Galera node and Redis servers, on a network that can be cut."""
