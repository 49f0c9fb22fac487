"""Runs Python programs in copies of a process that has imported the libraries of the project, but not its settings.

A request is a JSON object, with the two files for the output and a socket, sent to standard input, a socket. On its
socket the client gets the process id and, at the end, the exit status. All copies end with the client.

A command of `manage.py` that ran in this environment before starts from a copy that has set Django up for both.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
from contextlib import suppress
from typing import Any

OWN = {"__main__", "articles", "headline", "scheduling", "tests"}
READS_ENVIRONMENT = {"django_prometheus", "prometheus_client"}
"""Libraries that read variables when they are imported."""
SIZE_LIMIT = 1 << 20  # of a request
GARBAGE = 50_000
"""New objects between two collections of garbage; Python's 700 would cost copies a tenth of their processor time."""
PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serve until the client closes its socket; returns in a copy that ran its program."""
    gc.set_threshold(GARBAGE)
    os.environ.pop("DJANGO_SETTINGS_MODULE", None)
    for name in _used_libraries():
        with suppress(Exception):  # what needs settings
            importlib.import_module(name)
    _copy(socket.socket(fileno=os.dup(0)), sets_up=True)


def _copy(requests: socket.socket, *, sets_up: bool) -> None:
    """Serve requests until the client closes its socket; returns in a copy that ran its program."""
    gc.freeze()  # the pages of the copies stay shared
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the copies need no wait
    seen, set_up = set[str](), dict[str, socket.socket | None]()
    while True:
        text, files, _, _ = socket.recv_fds(requests, SIZE_LIMIT, 3)
        if not text:
            return
        request = json.loads(text)
        environment, arguments = request["environment"], request["arguments"]
        # The settings depend on the command, too: some commands have timeouts.
        place = json.dumps([arguments[:2], {**environment, "PYTEST_CURRENT_TEST": ""}], sort_keys=True)
        sockets = [requests, *filter(None, set_up.values())]
        if sets_up and arguments[0] == "manage.py" and place in seen and place not in set_up:
            set_up[place] = _set_up(environment, arguments, [*(other.fileno() for other in sockets), *files])
        seen.add(place)
        if copy := set_up.get(place):
            socket.send_fds(copy, [text], files)
        elif not os.fork():
            for other in sockets:
                other.close()
            return _serve(request, *files)
        for file in files:
            os.close(file)


def _set_up(environment: dict[str, str], arguments: list[str], open_files: list[int]) -> socket.socket | None:
    """A socket to a copy that has set Django up for this command, None if that fails; the copy closes `open_files`."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork():
        theirs.close()
        return ours if ours.recv(1) else None
    ours.close()
    for file in open_files:
        os.close(file)
    _die_with_parent()
    os.environ.clear()
    os.environ |= {"DJANGO_SETTINGS_MODULE": "headline.settings", **environment}
    sys.argv = arguments
    try:
        importlib.import_module("django").setup()
        management = importlib.import_module("django.core.management")
        for name, app in management.get_commands().items():
            if app.partition(".")[0] in OWN:
                management.load_command_class(app, name)
        importlib.import_module("django.urls").reverse("home")
    except Exception:  # the program itself will say why
        os._exit(1)
    theirs.send(b"1")
    _copy(theirs, sets_up=False)
    sys.exit()


def _used_libraries() -> list[str]:
    """Names of the modules that a process of the project imports, found out by a copy."""
    reader, writer = os.pipe()
    if not os.fork():
        os.environ |= {"DJANGO_SETTINGS_MODULE": "headline.settings", "DJANGO_DEBUG": "on"}
        importlib.import_module("django").setup()
        importlib.import_module("headline.urls")
        names = [name for name in sys.modules if name.partition(".")[0] not in OWN | READS_ENVIRONMENT]
        with open(writer, "w", encoding="utf-8") as pipe:
            json.dump(names, pipe)
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as pipe:
        names = json.load(pipe)
    os.wait()
    return list(names)


def _serve(request: dict[str, Any], output: int, errors: int, responses: int) -> None:
    """Start the program and report on it; returns in the program's process, when that has ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _die_with_parent()
    pid = os.fork()
    if not pid:
        os.close(responses)
        return _run(output, errors, **request)
    os.close(output)
    os.close(errors)
    os.write(responses, b"%d\n" % pid)
    _, status = os.waitpid(pid, 0)
    os.write(responses, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _run(output: int, errors: int, *, environment: dict[str, str], arguments: list[str]) -> None:
    """Become `python -u ARGUMENTS`: a file, `-m` and a module, or `-c` and code."""
    os.setsid()
    _die_with_parent()
    for file, standard in ((os.open(os.devnull, os.O_RDONLY), 0), (output, 1), (errors, 2)):
        os.dup2(file, standard)
        os.close(file)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(write_through=True)  # type: ignore[union-attr]
    os.environ.clear()
    os.environ |= environment
    match arguments:
        case ["-m", name, *_]:
            sys.argv = arguments[1:]
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        case ["-c", code, *_]:
            sys.argv = ["-c", *arguments[2:]]
            exec(code, {"__name__": "__main__"})
        case _:
            sys.argv = arguments
            runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
