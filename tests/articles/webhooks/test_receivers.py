"""The receivers of the documentation accept what we sign, and nothing else."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest
from standardwebhooks import WebhookVerificationError

from articles.webhooks.signing import headers, new_secret
from tests.harness import base_dir

FOLDER = base_dir / "docs" / "receivers"
BODY = '{"type": "article.published", "title": "重开"}'
Receive = Callable[[str, str, dict[str, str]], Any]


class Refused(Exception):
    """The receiver does not take it."""


def by_python(secret: str, body: str, given: dict[str, str]) -> Any:
    spec = importlib.util.spec_from_file_location("receiver", FOLDER / "receiver.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        return module.receive(secret, body, given)
    except WebhookVerificationError as error:
        raise Refused from error


def by_program(*command: str) -> Receive:
    if shutil.which(command[0]) is None:
        pytest.skip(f"without {command[0]}")

    def receive(secret: str, body: str, given: dict[str, str]) -> Any:
        sent = json.dumps([secret, body, given])
        done = subprocess.run(command, input=sent, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Refused(done.stderr)
        return json.loads(done.stdout)

    return receive


NODE = (
    "const [secret, body, headers] = JSON.parse(require('fs').readFileSync(0));"
    f"console.log(JSON.stringify(require('{FOLDER}/receiver.js').receive(secret, body, headers)))"
)
PHP = (
    f"require '{FOLDER}/receiver.php'; [$s, $b, $h] = json_decode(file_get_contents('php://stdin'), true);"
    "echo json_encode(receive($s, $b, $h));"
)


@pytest.fixture(params=["python", "node", "php"])
def receive(request: pytest.FixtureRequest) -> Receive:
    commands = {"node": ("node", "-e", NODE), "php": ("php", "-r", PHP)}
    return by_python if request.param == "python" else by_program(*commands[request.param])


def test_a_documented_receiver_accepts_what_we_sign(receive: Receive) -> None:
    old, new, now = new_secret(), new_secret(), int(time.time())
    for secret in (old, new):
        assert receive(secret, BODY, headers("evt_1", now, BODY, [new, old])) == json.loads(BODY)


@pytest.mark.cases(1)
def test_a_documented_receiver_refuses_everything_else(receive: Receive) -> None:
    secret, now = new_secret(), int(time.time())
    signed = headers("evt_1", now, BODY, [secret])
    assert receive(secret, BODY, signed)
    wrong: list[tuple[str, str, dict[str, str]]] = [
        (new_secret(), BODY, signed),
        (secret, BODY.replace("published", "retracted"), signed),
        (secret, BODY, {**signed, "webhook-id": "evt_2"}),
        (secret, BODY, headers("evt_1", now - 600, BODY, [secret])),
        (secret, BODY, {**signed, "webhook-signature": "v1,AAAA"}),
    ]
    for one in wrong:
        with pytest.raises(Refused):
            receive(*one)
