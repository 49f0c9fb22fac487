"""Single sign-on with a stub SAML identity provider: who gets in, and which responses are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import time_machine
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from lxml import etree

from articles.models import AuditEntry
from headline import env
from headline.accounts import saml, saml_messages
from headline.accounts.checks import check_saml
from headline.accounts.rate_limits import Limit
from tests.headline.authenticator import code, connect_app
from tests.headline.saml_provider import (
    ACS,
    ENTITY_ID,
    ISSUER,
    NAMES,
    SITE,
    SSO_URL,
    Answer,
    Published,
    Signing,
    encoded,
    metadata,
    published,
    request_at,
    saml_settings,
)
from tests.headline.sign_in_results import groups_of, is_signed_in, reasons

pytestmark = pytest.mark.django_db

LIST = "/admin/articles/article/"
COOKIE = "saml-acs-session"


@pytest.fixture(autouse=True)
def provider(settings: Any, tmp_path: Path) -> None:
    settings.SITE_URL = SITE
    settings.SAML = saml_settings(tmp_path)
    settings.SSO_ROLES = {"news-editors": "Editor", "news-chiefs": "Editor-in-chief"}
    settings.SSO_TRUST_EMAIL = True
    use_app(settings, [{"client_id": "saml", "name": "SAML"}])


def use_app(settings: Any, apps: list[dict[str, str]]) -> None:
    own = {**settings.SOCIALACCOUNT_PROVIDERS["saml"], "APPS": apps}
    settings.SOCIALACCOUNT_PROVIDERS = {**settings.SOCIALACCOUNT_PROVIDERS, "saml": own}


def ask(client: Client, next_url: str = LIST) -> Answer:
    """Start the sign-in, and prepare the response to the request."""
    start = client.get("/admin/sso/saml/login/", {"next": next_url})
    assert start.status_code == 302, start.text
    return Answer(to=request_at(start.headers["Location"]).get("ID"))


def send(client: Client, response: str, **fields: str) -> Any:
    """As browsers do: the provider's form comes without cookies and CSRF token, the redirect with both."""
    form = Client(enforce_csrf_checks=True)
    answer = form.post("/admin/sso/saml/acs/", {"SAMLResponse": response, **fields})
    if answer.status_code != 302:
        return answer
    client.cookies[COOKIE] = form.cookies[COOKIE].value
    return client.get(answer.headers["Location"])


def sign_in(client: Client, **changes: Any) -> Any:
    return send(client, ask(client).but(**changes).encoded())


def assert_refused(client: Client, response: Any, reason: str) -> None:
    assert (response.status_code, is_signed_in(client), reasons()) == (403, False, [reason]), response.text


def attributes(**changes: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {**Answer(to=None).attributes, **changes}


def test_a_new_user_gets_an_account_with_the_mapped_roles() -> None:
    client = Client()
    response = sign_in(client)
    user = User.objects.get()
    assert (response.status_code, response.headers["Location"]) == (302, LIST)
    assert (user.username, user.email, user.first_name) == ("eva@example.org", "eva@example.org", "Eva Editor")
    assert (user.is_staff, user.is_superuser, user.has_usable_password()) == (True, False, False)
    assert groups_of(user) == ["Editor"]
    assert client.get(LIST).status_code == 200
    account = SocialAccount.objects.get()
    assert (account.provider, account.extra_data) == ("saml", {"issuer": ISSUER})
    entry = AuditEntry.objects.get(action="logged_in")
    assert (entry.user_id, entry.details["methods"]) == (user.pk, ["socialaccount"])
    assert sign_in(Client(), signs_response=True).status_code == 302
    assert (User.objects.count(), SocialAccount.objects.count()) == (1, 1)


def test_the_log_in_page_offers_it_only_when_it_is_configured(settings: Any) -> None:
    assert "/admin/sso/saml/login/?next=" in Client().get("/admin/login/").text
    settings.SAML = {}
    use_app(settings, [])
    assert "/admin/sso/" not in Client().get("/admin/login/").text
    for path in ("login/", "acs/finish/", "metadata/"):
        assert Client().get(f"/admin/sso/saml/{path}").status_code == 404
    assert Client().post("/admin/sso/saml/acs/").status_code == 404


def test_the_provider_learns_where_and_how_to_answer(settings: Any) -> None:
    request = request_at(Client().get("/admin/sso/saml/login/").headers["Location"])
    assert request.get("AssertionConsumerServiceURL") == ACS
    assert request.get("Destination") == SSO_URL
    assert request.findtext("saml:Issuer", namespaces=NAMES) == ENTITY_ID
    document = etree.fromstring(Client().get("/admin/sso/saml/metadata/", headers={"Host": "localhost"}).content)
    assert document.get("entityID") == ENTITY_ID
    assert (document[0].get("WantAssertionsSigned"), document[0][0].get("Location")) == ("true", ACS)
    settings.SAML["sp_entity_id"] = "urn:example:news"
    assert 'entityID="urn:example:news"' in Client().get("/admin/sso/saml/metadata/").text
    assert sign_in(Client(), audiences=("urn:example:news",)).status_code == 302


def test_roles_follow_the_provider_and_others_stay() -> None:
    sign_in(Client())
    user = User.objects.get()
    user.groups.create(name="Chess club")
    sign_in(Client(), attributes=attributes(groups=("news-chiefs", "others"), email=("eva.new@example.org",)))
    assert groups_of(user) == ["Chess club", "Editor-in-chief"]
    client = Client()
    assert_refused(client, sign_in(client, attributes=attributes(groups=("others",))), "no_role")
    assert groups_of(user) == ["Chess club"]


def test_attributes_have_configurable_names(settings: Any) -> None:
    settings.SAML |= {"email_attribute": "urn:oid:0.9.2342.19200300.100.1.3", "groups_attribute": "Role"}
    found = {"urn:oid:0.9.2342.19200300.100.1.3": ("eva@example.org",), "Role": ("news-chiefs",)}
    assert sign_in(Client(), attributes=found).status_code == 302
    assert groups_of(User.objects.get()) == ["Editor-in-chief"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"groups": ()}, "no_role"),
        ({"groups": ("News-Editors", "Editor")}, "no_role"),
        ({"email": ()}, "no_email"),
        ({"email": ("eva@example.org", "root@example.org")}, "no_email"),
    ],
)
def test_without_role_or_address_there_is_no_account(changes: Any, reason: str) -> None:
    client = Client()
    assert_refused(client, sign_in(client, attributes=attributes(**changes)), reason)
    assert not User.objects.exists()


def test_an_account_with_the_address_is_linked_unless_it_is_an_administrator_s() -> None:
    eva = User.objects.create_superuser("eva", "Eva@example.org", "correct horse")
    client = Client()
    assert_refused(client, sign_in(client), "email_taken")
    User.objects.update(is_superuser=False)
    sign_in(client)
    assert client.session["_auth_user_id"] == str(eva.pk)
    other = Client()
    sign_in(other, name_id="another subject")
    assert (is_signed_in(other), reasons()) == (False, ["email_taken", "email_reused"])


def test_an_account_of_another_kind_of_provider_with_the_same_name_is_linked() -> None:
    """Keycloak has one name for both of its kinds."""
    eva = User.objects.create_user("eva", "eva@example.org")
    SocialAccount.objects.create(user=eva, provider="oidc", uid="1", extra_data={"issuer": ISSUER})
    assert sign_in(Client()).status_code == 302


@pytest.mark.parametrize(
    "changes",
    [
        {"name_format": "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"},
        {"name_format": "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified"},
        {"name_id": "eva-42\u00a0"},
        {"name_id": "EVA-42"},
    ],
    ids=str,
)
def test_a_similar_name_is_of_another_user(changes: dict[str, str]) -> None:
    """Mallory may ask for another format, and choose a user name that is Eva's persistent NameID."""
    sign_in(Client())
    eva, client = User.objects.get(), Client()
    sign_in(client, attributes=attributes(email=("mallory@example.org",)), **changes)
    assert client.session["_auth_user_id"] != str(eva.pk)
    assert sign_in(Client(), name_id="\n eva-42\t").status_code == 302
    assert User.objects.count() == 2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"groups": ("news-editors\u00a0",)}, "no_role"), ({"email": ("eva@example.org\u3000",)}, "no_email")],
)
def test_spaces_of_other_kinds_are_kept(changes: Any, reason: str) -> None:
    client = Client()
    assert_refused(client, sign_in(client, attributes=attributes(**changes)), reason)


def test_a_deactivated_user_gets_no_session() -> None:
    sign_in(Client())
    User.objects.update(is_active=False)
    client = Client()
    assert_refused(client, sign_in(client), "deactivated")


def test_a_second_factor_is_asked_for_unless_the_provider_does_that(settings: Any) -> None:
    sign_in(client := Client())
    settings.SECOND_FACTOR_ROLES = ["Editor"]
    assert client.get("/admin/").headers["Location"] == "/admin/security/"
    settings.SECOND_FACTOR_AT_PROVIDER = True
    assert client.get("/admin/").status_code == 200
    connect_app(User.objects.get())
    assert sign_in(other := Client()).headers["Location"] == "/admin/login/code/"
    assert other.post("/admin/login/code/", {"code": code()}).headers["Location"] == LIST


STRANGER = "stranger"


@pytest.mark.parametrize(
    "changes",
    [
        {"signing": None},
        {"signing": Signing(key=STRANGER)},
        {"signing": Signing(method="RSA_SHA1")},
        {"signing": Signing(method="RSA_MD5")},
        {"signing": Signing(digest="SHA1")},
        {"signing": Signing(method="HMAC_SHA256")},
        {"signing": Signing(canonical="EXCL_C14N_COMMENTS")},
        {"signing": Signing(transforms=("ENVELOPED", "C14N"))},
        {"audiences": ("https://another.example.org",)},
        {"audiences": (ENTITY_ID, "https://another.example.org")},
        {"audiences": ()},
        {"recipient": "https://another.example.org/acs/"},
        {"recipient": f"https://another.example.org/?to={ACS}"},
        {"recipient": None},
        {"destination": f"{ACS}finish/"},
        {"destination": "https://another.example.org/acs/"},
        {"issuer": "https://evil.example.org/saml"},
        {"issuer": ""},
        {"valid": (-7200, -3600)},
        {"valid": (3600, 7200)},
        {"confirmed_for": -1},
        {"confirmed_for": None},
        {"confirmed_to": "_another"},
        {"confirmed_to": None},
        {"name_id": " "},
        {"name_format": "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"},
        {"status": "urn:oasis:names:tc:SAML:2.0:status:Responder"},
        {"to": None},
        {"to": None, "confirmed_to": None},
    ],
    ids=str,
)
def test_wrong_responses_are_refused(changes: dict[str, Any]) -> None:
    client = Client()
    response = sign_in(client, **changes)
    assert_refused(client, response, "provider")
    assert "answer was invalid" in response.text
    assert (User.objects.exists(), Session.objects.count()) == (False, 1)


def forge(assertion: Any) -> Any:
    """Another user, under another ID, unsigned."""
    forged = deepcopy(assertion)
    forged.set("ID", "_forged")
    forged.remove(forged.find("ds:Signature", NAMES))
    forged.find("saml:Subject/saml:NameID", NAMES).text = "root-1"
    for value in forged.iterfind("saml:AttributeStatement/saml:Attribute/saml:AttributeValue", NAMES):
        value.text = value.text.replace("eva@", "root@").replace("editors", "chiefs")
    return forged


def inside(parent: Any, path: str, child: Any) -> Any:
    """`parent` with `child` in a new element."""
    prefix, name = path.split(":")
    around = etree.SubElement(parent, f"{{{NAMES[prefix]}}}{name}")
    around.append(child)
    return parent


def wrap_before(root: Any, signed: Any) -> None:
    signed.addprevious(forge(signed))


def wrap_after(root: Any, signed: Any) -> None:
    signed.addnext(forge(signed))


def wrap_around(root: Any, signed: Any) -> None:
    forged = forge(signed)
    root.replace(signed, forged)
    forged.append(signed)


def wrap_with_its_id(root: Any, signed: Any) -> None:
    forged = forge(signed)
    forged.set("ID", signed.get("ID"))
    signed.addprevious(forged)


def wrap_with_its_signature(root: Any, signed: Any) -> None:
    forged, signature = forge(signed), signed.find("ds:Signature", NAMES)
    forged.insert(1, signature)
    root.replace(signed, forged)
    root.append(signed)


def wrap_in_its_signature(root: Any, signed: Any) -> None:
    forged, signature = forge(signed), signed.find("ds:Signature", NAMES)
    forged.insert(1, signature)
    root.replace(signed, forged)
    inside(signature, "ds:Object", signed)


def wrap_in_extensions(root: Any, signed: Any) -> None:
    root.replace(signed, forge(signed))
    extensions = etree.Element(f"{{{NAMES['samlp']}}}Extensions")
    extensions.append(signed)
    root.find("saml:Issuer", NAMES).addnext(extensions)


def wrap_the_response(root: Any, signed: Any) -> None:
    whole = deepcopy(root)
    root.replace(signed, forge(signed))
    root.set("ID", "_outer")
    extensions = etree.Element(f"{{{NAMES['samlp']}}}Extensions")
    extensions.append(whole)
    root.find("saml:Issuer", NAMES).addnext(extensions)


def wrap_the_response_in_its_signature(root: Any, signed: Any) -> None:
    whole, signature = deepcopy(root), root.find("ds:Signature", NAMES)
    whole.remove(whole.find("ds:Signature", NAMES))
    root.replace(signed, forge(signed))
    inside(signature, "ds:Object", whole)


def hide_under_another_name(root: Any, signed: Any) -> None:
    """The reference leads to an element that is no assertion, and has its ID."""
    root.replace(signed, forged := forge(signed))
    forged.insert(1, signed.find("ds:Signature", NAMES))
    forged.set("ID", signed.get("ID"))
    signed.tag = f"{{{NAMES['samlp']}}}Extensions"
    root.find("saml:Issuer", NAMES).addnext(signed)


def change_the_subject(root: Any, signed: Any) -> None:
    signed.find("saml:Subject/saml:NameID", NAMES).text = "root-1"


def add_an_attribute(root: Any, signed: Any) -> None:
    statement = signed.find("saml:AttributeStatement", NAMES)
    statement.append(deepcopy(statement[-1]))


def refer_to_nothing(root: Any, signed: Any) -> None:
    signed.find(".//ds:Reference", NAMES).set("URI", "")


def refer_to_a_file(root: Any, signed: Any) -> None:
    signed.find(".//ds:Reference", NAMES).set("URI", "file:///etc/hostname")


def refer_twice(root: Any, signed: Any) -> None:
    reference = signed.find(".//ds:Reference", NAMES)
    reference.addnext(deepcopy(reference))


def sign_the_response_alone(root: Any, signed: Any) -> None:
    signed.remove(signed.find("ds:Signature", NAMES))


OF_THE_RESPONSE = (wrap_the_response, wrap_the_response_in_its_signature, sign_the_response_alone)


@pytest.mark.parametrize(
    "change",
    [
        *(wrap_before, wrap_after, wrap_around, wrap_with_its_id, wrap_with_its_signature, wrap_in_its_signature),
        *(wrap_in_extensions, hide_under_another_name, change_the_subject, add_an_attribute),
        *(refer_to_nothing, refer_to_a_file, refer_twice, *OF_THE_RESPONSE),
    ],
)
def test_changed_and_wrapped_responses_are_refused(change: Callable[[Any, Any], None]) -> None:
    tree = ask(client := Client()).but(signs_response=change in OF_THE_RESPONSE).tree()
    change(tree, tree.find("saml:Assertion", NAMES))
    assert_refused(client, send(client, encoded(tree)), "provider")
    assert not User.objects.exists()


def test_a_program_in_a_signature_is_not_run(caplog: pytest.LogCaptureFixture) -> None:
    """The library runs it before it knows whether the signature is valid."""
    tree = ask(client := Client()).tree()
    tree.find(".//ds:Transform", NAMES).set("Algorithm", "http://www.w3.org/TR/1999/REC-xslt-19991116")
    assert_refused(client, send(client, encoded(tree)), "provider")
    assert "a signature uses 'http://www.w3.org/TR/1999/REC-xslt-19991116' as Transform" in caplog.text


def test_a_signature_cannot_make_the_check_long(caplog: pytest.LogCaptureFixture) -> None:
    """Each prefix is looked up for each element: 256 kB would take hours."""
    tree = ask(client := Client()).tree()
    transform = tree.findall(".//ds:Transform", NAMES)[-1]
    included = etree.SubElement(transform, f"{{{transform.get('Algorithm')}}}InclusiveNamespaces")
    included.set("PrefixList", "x " * 11)
    assert_refused(client, send(client, encoded(tree)), "provider")
    assert "a signature names too many prefixes" in caplog.text


def test_a_signature_has_no_more_transforms_than_saml_allows(caplog: pytest.LogCaptureFixture) -> None:
    """Each goes through all elements: 300 of them took three seconds."""
    tree = ask(client := Client()).tree()
    transform = tree.findall(".//ds:Transform", NAMES)[-1]
    transform.addnext(deepcopy(transform))
    assert_refused(client, send(client, encoded(tree)), "provider")
    assert "a signature names too many transforms" in caplog.text


def test_a_response_adds_no_long_lines_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    tree = ask(client := Client()).tree()
    tree.find(".//ds:Transform", NAMES).set("Algorithm", "x" * 10_000)
    assert send(client, encoded(tree)).status_code == 403
    assert len(caplog.text) < 1000


def test_a_response_adds_no_lines_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    sign_in(Client(), issuer="x\nERROR forged")
    assert "forged" in caplog.text
    assert "\nERROR forged" not in caplog.text


@pytest.mark.parametrize("comment", ["<!-- x -->", "<?x?>", "<![CDATA[]]>"])
def test_a_comment_does_not_cut_a_name_or_an_address(comment: str) -> None:
    """Signatures ignore comments: if they cut texts, Mallory could become Eva."""
    User.objects.create_user("eva", "eva@example.org")
    sign_in(Client())
    found = attributes(email=("eva@example.org.evil.test",))
    text = etree.tostring(ask(client := Client()).but(name_id="eva-42.evil", attributes=found).tree())
    text = text.replace(b"eva-42", f"eva-42{comment}".encode()).replace(
        b"example.org.", f"example.org{comment}.".encode()
    )
    send(client, encoded(text))
    signed_in = client.session.get("_auth_user_id")
    assert signed_in is None or User.objects.get(pk=signed_in).email == "eva@example.org.evil.test"
    assert User.objects.filter(email="eva@example.org").count() == 1


BOMB = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 9}">' for n in range(1, 10))


GARBAGE = {
    "nothing": "",
    "no base64": "?",
    "no XML": "AAAA",
    "empty": encoded(b""),
    "the beginning of XML": encoded(b"<"),
    "another element": encoded(b"<a/>"),
    "document type": encoded(b"<!DOCTYPE a><a/>"),
    "file": encoded(b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><a ID="_1">&x;</a>'),
    "address": encoded(b'<!DOCTYPE a SYSTEM "http://127.0.0.1:9/x.dtd"><a/>'),
    "bomb": encoded(f'<!DOCTYPE a [<!ENTITY e0 "0123456789">{BOMB}]><a x="&e9;">&e9;</a>'.encode()),
    "UTF-16": encoded('<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE a [<!ENTITY x "y">]><a/>'.encode("utf-16")),
    "depth": encoded(b"<a>" * 20_000 + b"</a>" * 20_000),
    "attributes": encoded(b"<a " + b" ".join(b"a%d=''" % n for n in range(20_000)) + b"/>"),
    "empty response": encoded(f'<p:Response xmlns:p="{NAMES["samlp"]}" Version="2.0" ID="_1"/>'.encode()),
}


@pytest.mark.parametrize("response", GARBAGE.values(), ids=GARBAGE)
def test_garbage_and_entities_are_refused(response: str) -> None:
    client = Client()
    refused = send(client, response)
    assert not Session.objects.exists()
    assert_refused(client, refused, "provider")


def test_a_document_type_before_a_signed_response_is_refused() -> None:
    text = etree.tostring(ask(client := Client()).tree())
    assert_refused(client, send(client, encoded(b"<!DOCTYPE x [<!ENTITY y 'z'>]>" + text)), "provider")


def test_responses_of_an_address_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """To check a forged one costs much."""
    monkeypatch.setattr(saml, "RESPONSES", Limit("test", burst=1, every=timedelta(minutes=1)))
    responses = [Client().post("/admin/sso/saml/acs/", {"SAMLResponse": "forged"}) for _ in range(2)]
    assert [response.status_code for response in responses] == [403, 429]
    assert responses[1].headers["Retry-After"] == "60"


def test_a_long_body_is_not_read() -> None:
    class Body(BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise AssertionError("it was read")

    form: dict[str, Any] = {"CONTENT_TYPE": "application/x-www-form-urlencoded", "CONTENT_LENGTH": "300000"}
    response = Client().generic("POST", "/admin/sso/saml/acs/", **form | {"wsgi.input": Body()})
    assert (response.status_code, reasons()) == (403, ["provider"])
    long = ask(client := Client()).but(attributes=attributes(name=("x" * 200_000,)))
    assert send(client, long.encoded()).status_code == 403
    assert send(client, long.but(attributes=attributes(name=("x" * 100_000,))).encoded()).status_code == 302


def test_an_encrypted_assertion_is_refused() -> None:
    tree = ask(client := Client()).tree()
    tree.find("saml:Assertion", NAMES).tag = f"{{{NAMES['saml']}}}EncryptedAssertion"
    assert_refused(client, send(client, encoded(tree)), "provider")


def test_only_the_browser_that_asked_may_answer() -> None:
    mine, other = Client(), Client()
    ask(other)
    response = ask(mine).encoded()
    assert_refused(other, send(other, response), "expired")
    assert send(mine, response).status_code == 302


def test_an_unknown_request_is_not_answered() -> None:
    ask(client := Client())
    response = send(client, Answer(to="_guessed").encoded())
    assert "Start again" in response.text
    assert_refused(client, response, "expired")
    assert Client().get("/admin/sso/saml/acs/finish/").status_code == 403


def test_a_response_works_once() -> None:
    response = ask(client := Client()).encoded()
    assert send(client, response).status_code == 302
    assert Session.objects.count() == 1
    client.post("/admin/logout/")
    assert_refused(client, send(client, response), "expired")


def test_an_assertion_id_works_once() -> None:
    sign_in(client := Client(), assertion_id="_one")
    client.post("/admin/logout/")
    assert_refused(client, sign_in(client, assertion_id="_one"), "expired")


def test_a_request_is_forgotten_after_ten_minutes() -> None:
    with time_machine.travel("2030-01-01T12:00:00Z", tick=False):
        answer = ask(client := Client())
    with time_machine.travel("2030-01-01T12:11:00Z", tick=False):
        assert_refused(client, send(client, answer.encoded()), "expired")


def test_an_accepted_response_has_to_be_used_within_a_minute() -> None:
    client, form = Client(), Client()
    with time_machine.travel("2030-01-01T12:00:00Z", tick=False):
        form.post("/admin/sso/saml/acs/", {"SAMLResponse": ask(client).encoded()})
    client.cookies[COOKIE] = form.cookies[COOKIE].value
    assert (form.cookies[COOKIE]["httponly"], form.cookies[COOKIE]["samesite"]) == (True, "Lax")
    with time_machine.travel("2030-01-01T12:01:01Z", tick=False):
        assert_refused(client, client.get("/admin/sso/saml/acs/finish/"), "expired")


@pytest.mark.parametrize("target", ["https://evil.example.org/", "//evil.example.org", "/admin/password_change/"])
def test_the_relay_state_leads_nowhere(target: str) -> None:
    client = Client()
    assert send(client, ask(client).encoded(), RelayState=target).headers["Location"] == LIST


@pytest.mark.parametrize("target", ["https://evil.example.org/", "//evil.example.org", "javascript:alert(1)"])
def test_it_redirects_only_within_the_site(target: str) -> None:
    client = Client()
    assert send(client, ask(client, target).encoded()).headers["Location"] == "/admin/"
    assert client.get("/admin/sso/saml/login/", {"next": target}).headers["Location"] == "/admin/"


def test_other_methods_are_refused() -> None:
    assert Client().get("/admin/sso/saml/acs/").status_code == 405
    assert Client(enforce_csrf_checks=True).post("/admin/sso/saml/acs/finish/").status_code == 403


def test_metadata_in_a_file_name_all_keys(settings: Any, tmp_path: Path) -> None:
    file = tmp_path / "metadata.xml"
    file.write_bytes(metadata("provider", STRANGER))
    settings.SAML |= {"metadata": str(file), "sso_url": "", "certificate": ""}
    assert sign_in(Client()).status_code == 302
    assert sign_in(Client(), signing=Signing(key=STRANGER)).status_code == 302
    client = Client()
    assert_refused(client, sign_in(client, signing=Signing(key="another")), "provider")


@pytest.fixture(scope="module")
def file_server() -> Iterator[Published]:
    with published() as file:
        yield file


@pytest.fixture
def running(file_server: Published) -> Published:
    """A file of metadata on a web server, without text, and not read yet."""
    file_server.text, file_server.count, file_server.length = b"", 0, 0
    return file_server


def test_metadata_are_fetched_again_and_used_while_they_cannot_be(
    running: Published, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saml_messages, "_fetched", {})
    settings.SAML |= {"metadata": running.url, "sso_url": "", "certificate": ""}
    for _number in range(2):
        assert Client().get("/admin/sso/saml/login/").status_code == 403
    assert running.count == 1
    monkeypatch.setattr(saml_messages, "_fetched", {})
    running.text = metadata("provider")
    for _number in range(2):
        assert sign_in(Client()).status_code == 302
    assert running.count == 2
    monkeypatch.setattr(saml_messages, "METADATA_LIFETIME", 0)
    monkeypatch.setattr(saml_messages, "_fetched", {})
    sign_in(Client())
    running.text = metadata(STRANGER)
    assert sign_in(Client(), signing=Signing(key=STRANGER)).status_code == 302
    monkeypatch.setattr(saml_messages, "RETRY_AFTER", 0)
    for wrong in (b"", b"<html>Maintenance</html>", metadata(STRANGER)[:-9]):
        running.text = wrong
        assert sign_in(Client(), signing=Signing(key=STRANGER)).status_code == 302
    running.text, running.length = metadata(STRANGER), 100_000  # the connection ends too early
    assert sign_in(Client(), signing=Signing(key=STRANGER)).status_code == 302


def test_a_new_key_is_known_at_once_but_forged_responses_fetch_nothing(
    running: Published, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saml_messages, "_fetched", {})
    settings.SAML |= {"metadata": running.url, "sso_url": "", "certificate": ""}
    running.text = metadata("provider")
    sign_in(Client())
    before = running.count
    running.text = metadata("provider", STRANGER)
    assert sign_in(Client(), signing=Signing(key=STRANGER)).status_code == 403
    assert running.count == before
    monkeypatch.setattr(saml_messages, "RETRY_AFTER", 0)
    assert sign_in(Client(), signing=Signing(key=STRANGER)).status_code == 302
    assert sign_in(Client()).status_code == 302
    assert running.count == before + 1


def test_metadata_are_used_no_longer_than_they_say(
    running: Published, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SAML |= {"metadata": running.url, "sso_url": "", "certificate": ""}
    monkeypatch.setattr(saml_messages, "RETRY_AFTER", 0)
    monkeypatch.setattr(saml_messages, "_fetched", {})
    running.text = metadata("provider", cached_for="PT0S")
    for _number in range(2):
        assert sign_in(Client()).status_code == 302
    assert running.count > 1
    running.text = metadata("provider", valid_for=600)
    assert sign_in(Client()).status_code == 302
    running.text = b""
    with time_machine.travel(timedelta(seconds=700)):
        assert Client().get("/admin/sso/saml/login/").status_code == 403


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (lambda: metadata("provider", valid_for=-1), "SAML_METADATA has expired"),
        (lambda: b"<", "SAML_METADATA is no valid XML."),
        (lambda: b"<!DOCTYPE a [<!ENTITY x 'y'>]><a/>", "SAML_METADATA is no valid XML."),
        (lambda: metadata(STRANGER, entity_id="https://other.example.org"), "no HTTP-Redirect address for the entity"),
        (lambda: metadata(), "SAML_METADATA has no certificate"),
        (lambda: metadata("short"), "an RSA key of less than 2048 bits"),
        (lambda: metadata(STRANGER).replace(b">MII", b">AAA"), "an invalid certificate"),
    ],
)
def test_the_check_says_what_is_wrong_with_metadata(
    content: Callable[[], bytes], sentence: str, settings: Any, tmp_path: Path
) -> None:
    assert faults() == []
    file = tmp_path / "metadata.xml"
    file.write_bytes(content())
    settings.SAML |= {"metadata": str(file), "sso_url": "", "certificate": ""}
    (fault,) = faults()
    assert sentence in fault


def test_the_check_says_what_is_wrong_with_a_certificate(settings: Any, tmp_path: Path) -> None:
    Path(settings.SAML["certificate"]).write_text("no certificate")
    assert faults() == ["SAML_CERTIFICATE names a file without certificates in PEM format."]
    assert Client().get("/admin/sso/saml/login/").status_code == 403
    settings.SAML = {}
    assert faults() == []


def faults() -> list[str]:
    return [message.msg for message in check_saml(None)]


VALUES: dict[str, Any] = {
    "idp_entity_id": ISSUER,
    "roles": {"a": "b"},
    "trusts_email": True,
    "has_open_id": False,
    "metadata": "https://login.example.org/saml/metadata",
    "sso_url": "",
    "certificate": "",
    "sp_entity_id": "",
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"has_open_id": True}, "SAML_IDP_ENTITY_ID is set beside OIDC_ISSUER"),
        ({"idp_entity_id": "'] | //*['"}, "SAML_IDP_ENTITY_ID has an unknown format"),
        ({"sp_entity_id": "<x>"}, "SAML_SP_ENTITY_ID has an unknown format"),
        ({"metadata": ""}, "set SAML_METADATA, or SAML_SSO_URL and SAML_CERTIFICATE"),
        ({"sso_url": SSO_URL}, "set SAML_METADATA, or SAML_SSO_URL and SAML_CERTIFICATE"),
        ({"metadata": "http://login.example.org/"}, "SAML_METADATA does not use https"),
        ({"metadata": "/none"}, "SAML_METADATA names no file"),
        ({"metadata": "", "sso_url": "http://login.example.org"}, "SAML_SSO_URL does not use https"),
        ({"metadata": "", "certificate": __file__}, "SAML_SSO_URL has an unknown format"),
        ({"metadata": "", "sso_url": SSO_URL}, "SAML_CERTIFICATE names no file"),
        ({"roles": {}}, "SSO_ROLES is missing"),
        ({"trusts_email": False}, "SSO_TRUST_EMAIL is off"),
    ],
)
def test_incomplete_settings_stop_the_start(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(env.WrongEnvironment, match=message):
        env.saml(**VALUES | changes)
    assert env.saml(**VALUES)["idp_entity_id"] == ISSUER
    assert env.saml(**VALUES | {"idp_entity_id": ""}) == {}


def test_without_the_packages_the_start_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "find_spec", lambda name: None)
    with pytest.raises(env.WrongEnvironment, match="install requirements-saml.lock"):
        env.saml(**VALUES)
