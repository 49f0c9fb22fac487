"""Sign-in with the passwords of an LDAP directory, a real slapd: who gets in, with which roles, and who is refused."""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import ldap
import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.test import Client

from articles.models import AuditEntry
from headline import env
from headline.accounts import directory as directory_module
from headline.accounts.directory import MAX_CHECKS
from headline.accounts.links import is_invited
from headline.accounts.login_throttle import Attempt
from tests.harness import Process, free_port
from tests.headline.sign_in_results import groups_of, reasons

pytestmark = pytest.mark.django_db

BASE = "dc=example,dc=org"
SERVICE = f"cn=service,{BASE}"
ENTRIES = f"""\
dn: {BASE}
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: ou=people,{BASE}
objectClass: organizationalUnit
ou: people

dn: uid=eva,ou=people,{BASE}
objectClass: inetOrgPerson
uid: eva
cn: Eva Editor
sn: Editor
mail: eva@example.org
userPassword: correct horse

dn: uid=tim,ou=people,{BASE}
objectClass: inetOrgPerson
uid: tim
cn: Tim
sn: Tim
mail: tim@example.org
userPassword: correct horse

dn: cn=news-editors,{BASE}
objectClass: groupOfNames
cn: news-editors
member: uid=eva,ou=people,{BASE}
"""


class Directory:
    """A running slapd with `ENTRIES`."""

    def __init__(self, port: int, certificate: Path) -> None:
        self.server = f"ldap://127.0.0.1:{port}"
        self.certificate = certificate

    def change(self, ldif: str) -> None:
        """Apply changes as the administrator of the directory."""
        connection = ldap.initialize(self.server)
        connection.simple_bind_s(SERVICE, "secret")
        dn, values = ldif.split(": ", 1)
        connection.modify_s(dn, [(ldap.MOD_REPLACE, "member", values.encode())])
        connection.unbind_s()


@contextmanager
def slapd(directory: Path) -> Iterator[Directory]:
    port, (key, certificate) = free_port(), (directory / "key.pem", directory / "certificate.pem")
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run([*new, "-days", "2", *subject, *files], check=True, capture_output=True)
    (directory / "data").mkdir()
    lines = [*(f"include /etc/ldap/schema/{name}.schema" for name in ("core", "cosine", "inetorgperson"))]
    lines += [f"TLSCertificateFile {certificate}", f"TLSCertificateKeyFile {key}", "database ldif"]
    lines += [f'suffix "{BASE}"', f"directory {directory}/data", f'rootdn "{SERVICE}"', "rootpw secret"]
    (directory / "slapd.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (directory / "entries.ldif").write_text(ENTRIES, encoding="utf-8")
    options = ["-f", str(directory / "slapd.conf")]
    subprocess.run(["/usr/sbin/slapadd", *options, "-l", str(directory / "entries.ldif")], check=True)
    with Process(["/usr/sbin/slapd", *options, "-d", "256", "-h", f"ldap://127.0.0.1:{port}"]) as process:
        process.wait_for("slapd starting")
        yield Directory(port, certificate)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Directory]:
    with slapd(tmp_path_factory.mktemp("slapd")) as directory:
        yield directory


@pytest.fixture
def directory(running: Directory, settings: Any) -> Iterator[Directory]:
    settings.SSO_ROLES = {"news-editors": "Editor"}
    settings.SSO_TRUST_EMAIL = True
    settings.LDAP = {
        "server": running.server,
        "start_tls": "on",
        "ca_file": str(running.certificate),
        "bind_dn": SERVICE,
        "bind_password": "secret",
        "user_dn": "",
        "user_base": f"ou=people,{BASE}",
        "user_filter": "(uid=%(user)s)",
        "group_base": BASE,
        "group_type": "groupOfNames",
    }
    yield running
    running.change(f"cn=news-editors,{BASE}: uid=eva,ou=people,{BASE}")


def log_in(name: str, password: str = "correct horse", client: Client | None = None) -> Any:
    return (client or Client()).post("/admin/login/?next=/admin/", {"username": name, "password": password})


@pytest.mark.parametrize("template", ["", f"uid=%(user)s,ou=people,{BASE}"], ids=["search", "template"])
def test_a_user_of_the_directory_gets_an_account_with_the_mapped_roles(
    directory: Directory, settings: Any, template: str
) -> None:
    settings.LDAP |= {"user_dn": template}
    client = Client()
    response = log_in("eva", client=client)
    assert (response.status_code, response.headers.get("Location")) == (302, "/admin/"), response.text
    user = User.objects.get()
    assert (user.username, user.email, user.first_name) == ("eva@example.org", "eva@example.org", "Eva Editor")
    assert (user.is_staff, user.is_superuser, user.has_usable_password()) == (True, False, False)
    assert groups_of(user) == ["Editor"]
    assert client.get("/admin/articles/article/").status_code == 200
    assert AuditEntry.objects.get(action="logged_in").details["methods"] == ["password"]
    assert AuditEntry.objects.filter(action="link_identity").count() == 1
    assert log_in("eva").status_code == 302
    assert (User.objects.count(), SocialAccount.objects.count()) == (1, 1)


def test_a_lost_group_removes_the_role_at_the_next_sign_in(directory: Directory) -> None:
    log_in("eva")
    user = User.objects.get()
    user.groups.create(name="Chess club")
    directory.change(f"cn=news-editors,{BASE}: uid=tim,ou=people,{BASE}")
    refused = log_in("eva")
    assert "None of your groups has a role in the newsroom" in refused.text
    assert (groups_of(user), reasons()) == (["Chess club"], ["no_role"])


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    ("name", "password"),
    [
        *(("eva", "another password"), ("eva", ""), ("unknown", "correct horse"), ("", "correct horse")),
        *(("*", "correct horse"), ("ev*", "correct horse"), ("eva)(uid=*", "correct horse")),
        *(("eva)(|(uid=*", "correct horse"), ("eva,ou=people", "correct horse"), ("eva\x00", "correct horse")),
    ],
)
@pytest.mark.parametrize("template", ["", f"uid=%(user)s,ou=people,{BASE}"], ids=["search", "template"])
def test_wrong_passwords_and_forged_names_are_refused(
    directory: Directory, settings: Any, name: str, password: str, template: str
) -> None:
    settings.LDAP |= {"user_dn": template}
    log_in(name, password, client := Client())
    assert ("_auth_user_id" in client.session, User.objects.exists()) == (False, False)


def test_a_deactivated_user_is_refused(directory: Directory) -> None:
    log_in("eva")
    User.objects.update(is_active=False)
    refused = log_in("eva", client=(client := Client()))
    assert ("deactivated" in refused.text, "_auth_user_id" in client.session) == (True, False)
    assert reasons() == ["deactivated"]


def test_a_local_account_of_the_same_name_is_not_taken_over(directory: Directory) -> None:
    root = User.objects.create_superuser("eva", "eva@example.org", "local password")
    refused = log_in("eva", client=(client := Client()))
    assert ("_auth_user_id" in client.session, reasons()) == (False, ["email_taken"]), refused.text
    assert log_in("eva", "local password", client).status_code == 302
    assert client.session["_auth_user_id"] == str(root.pk)


def test_an_account_of_single_sign_on_says_how_to_sign_in(directory: Directory, settings: Any) -> None:
    settings.OIDC = {"settings": {"server_url": "https://login.example.org"}}
    eva = User.objects.create_user("eva@example.org", "eva@example.org")
    SocialAccount.objects.create(
        user=eva, provider="oidc", uid="1", extra_data={"issuer": settings.OIDC["settings"]["server_url"]}
    )
    assert "linked to another identity of single sign-on or of the directory" in log_in("eva").text
    assert not groups_of(eva)


def test_a_required_second_factor_is_asked_for(directory: Directory, settings: Any) -> None:
    settings.SECOND_FACTOR_ROLES, settings.SECOND_FACTOR_AT_PROVIDER = ["Editor"], True
    log_in("eva", client=(client := Client()))
    assert client.get("/admin/").headers["Location"] == "/admin/security/"


def test_an_unreachable_or_untrusted_directory_stops_no_local_account(directory: Directory, settings: Any) -> None:
    User.objects.create_superuser("root", "root@example.org", "local password")
    right = settings.LDAP
    for wrong in ({"ca_file": ""}, {"bind_password": "wrong"}, {"server": f"ldap://127.0.0.1:{free_port()}"}):
        settings.LDAP = {**right, **wrong}
        assert "could not be reached" in log_in("eva").text
    assert reasons() == ["provider"] * 3
    assert log_in("root", "local password").status_code == 302


def answer_start_tls(server: socket.socket) -> None:
    """Agree to StartTLS, and say nothing in the handshake."""
    with suppress(OSError):
        while connection := server.accept()[0]:
            connection.recv(1024)
            connection.sendall(bytes.fromhex("300c02010178070a010004000400"))
            threading.Thread(target=connection.recv, args=[1], daemon=True).start()


@pytest.mark.parametrize(("scheme", "start_tls"), [("ldap", ""), ("ldap", "on"), ("ldap", "answered"), ("ldaps", "")])
def test_a_directory_that_does_not_answer_holds_up_few_threads(
    directory: Directory, settings: Any, monkeypatch: pytest.MonkeyPatch, scheme: str, start_tls: str
) -> None:
    """In a handshake without an answer, libldap would run forever."""
    monkeypatch.setattr(directory_module, "TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        if start_tls == "answered":
            threading.Thread(target=answer_start_tls, args=[silent], daemon=True).start()
        settings.LDAP |= {"server": f"{scheme}://127.0.0.1:{silent.getsockname()[1]}", "start_tls": start_tls}
        assert "could not be reached" in log_in("eva").text
        for _check in range(MAX_CHECKS):
            assert directory_module._checks.acquire(blocking=False)
        try:
            assert log_in("eva").status_code == 429
        finally:
            directory_module._checks.release(MAX_CHECKS)


def test_a_sign_in_leaves_no_connection(directory: Directory) -> None:
    log_in("eva")
    gc.collect()
    gc.disable()
    try:
        before = len(os.listdir("/proc/self/fd"))
        for name in ("eva", "unknown"):
            log_in(name)
        assert len(os.listdir("/proc/self/fd")) == before
    finally:
        gc.enable()


def test_what_was_typed_as_the_name_is_not_logged(
    directory: Directory, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """It may be a password."""
    log_in("tim")
    settings.LDAP |= {"bind_password": "wrong"}
    log_in("my-secret-password", "x")
    assert "INVALID_CREDENTIALS" in caplog.text
    assert "my-secret-password" not in caplog.text


def test_spellings_that_a_directory_may_take_for_one_name_share_their_limits() -> None:
    names = ("Eva Editor", " eva  editor ", "eva\ufe0f editor", "\uff25va editor", "e\u034fva\u00adeditor")
    assert len({Attempt.of(None, name)._pair for name in names}) == 1


def test_a_token_for_a_password_of_the_directory_invites_to_no_password_of_headline(directory: Directory) -> None:
    got = Client().post(
        "/api/v1/token/", {"username": "eva", "password": "correct horse"}, content_type="application/json"
    )
    assert (got.status_code, is_invited(User.objects.get())) == (200, False)


VALUES: dict[str, Any] = {
    "server": "ldaps://ldap.example.org",
    "is_plain": False,
    "roles": {"a": "b"},
    "trusts_email": True,
    "ca_file": "",
    "bind_dn": SERVICE,
    "bind_password": "secret",
    "user_dn": "",
    "user_base": BASE,
    "user_filter": "(uid=%(user)s)",
    "group_base": BASE,
    "group_type": "groupOfNames",
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"server": "http://ldap.example.org"}, "AUTH_LDAP_SERVER has an unknown format"),
        ({"bind_password": ""}, "AUTH_LDAP_BIND_PASSWORD is missing"),
        ({"group_base": "", "user_dn": "uid=%(user)s"}, "AUTH_LDAP_GROUP_BASE is missing"),
        ({"user_filter": "(uid=*)"}, "AUTH_LDAP_USER_FILTER has no place for the name"),
        ({"user_dn": "uid=%(name)s"}, "AUTH_LDAP_USER_DN has no place for the name"),
        ({"ca_file": "/none"}, "AUTH_LDAP_CA_FILE names no file"),
        ({"roles": {}}, "SSO_ROLES is missing"),
        ({"trusts_email": False}, "SSO_TRUST_EMAIL is off"),
    ],
)
def test_incomplete_settings_stop_the_start(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(env.WrongEnvironment, match=message):
        env.ldap(**VALUES | changes)


def test_traffic_is_encrypted_unless_that_is_turned_off() -> None:
    assert env.ldap(**VALUES)["start_tls"] == ""
    assert env.ldap(**VALUES | {"server": "ldap://ldap"})["start_tls"] == "on"
    assert env.ldap(**VALUES | {"server": "ldap://ldap", "is_plain": True})["start_tls"] == ""
    assert env.ldap(**VALUES | {"server": ""}) == {}


def test_without_the_packages_the_start_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "find_spec", lambda name: None)
    with pytest.raises(env.WrongEnvironment, match="install requirements-ldap.lock"):
        env.ldap(**VALUES)
