"""A stub OpenID Connect provider, over HTTP, whose answers a test chooses."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CLIENT, SECRET = "headline", "a secret of the client"


class IdentityProvider:
    """Confirms every log-in as the user with `claims`; `broken` replaces parts of its answers."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.claims: dict[str, Any] = {
            "sub": "42",
            "email": "eva@example.org",
            "email_verified": True,
            "name": "Eva Editor",
            "groups": ["news-editors"],
        }
        self.broken: dict[str, Any] = {}
        self.challenges: dict[str, str] = {}

    def settings(self) -> dict[str, Any]:
        """The project's `OIDC`."""
        return {"client_id": CLIENT, "secret": SECRET, "settings": {"server_url": self.issuer}}

    def authorize(self, query: dict[str, str]) -> str:
        """The redirect URI with a code or an error."""
        if self.broken.get("error"):
            return f"{query['redirect_uri']}?{urlencode({'error': self.broken['error'], 'state': query['state']})}"
        code = f"code{len(self.challenges)}"
        self.challenges[code] = query["code_challenge"]
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def answer(self, path: str, form: dict[str, str]) -> tuple[int, Any]:
        """The status and the JSON of an endpoint."""
        if path.endswith("/.well-known/openid-configuration"):
            return 200, {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
                "jwks_uri": f"{self.issuer}/keys",
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
                **self.broken.get("metadata", {}),
            }
        if path.endswith("/token"):
            if self.challenges.pop(form.get("code", ""), None) is None or not form.get("code_verifier"):
                return 400, {"error": "invalid_grant"}
            return 200, {"access_token": "access", "token_type": "Bearer", "id_token": self._id_token()}
        if path.endswith("/userinfo"):
            return 200, {**self.claims, **self.broken.get("userinfo", {})}
        if path.endswith("/keys"):
            key = jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True)
            return 200, {"keys": [{**key, "kid": "first", "use": "sig", "alg": "RS256"}]}
        return 404, {}

    def _id_token(self) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "sub": self.claims["sub"], "iat": now, "exp": now + 300}
        claims |= self.broken.get("id_token", {})
        given = {name: value for name, value in claims.items() if value is not None}
        signature = {"key": KEY, "algorithm": "RS256", "headers": {"kid": "first"}, **self.broken.get("signature", {})}
        return jwt.encode(given, **signature)


@contextmanager
def identity_provider() -> Iterator[IdentityProvider]:
    """A provider on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._reply({name: values[0] for name, values in parse_qs(body).items()})

        def _reply(self, form: dict[str, str]) -> None:
            url = urlsplit(self.path)
            if url.path.endswith("/authorize"):
                self.send_response(302)
                self.send_header("Location", provider.authorize({k: v[0] for k, v in parse_qs(url.query).items()}))
                self.end_headers()
                return
            status, content = provider.answer(url.path, form)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider = IdentityProvider(f"http://127.0.0.1:{server.server_port}/realm")
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield provider
        server.shutdown()
