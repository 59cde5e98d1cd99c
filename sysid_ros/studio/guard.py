"""Nobody reaches the page without its token, from another site, or through another name.

The address that the server prints has the token once; a cookie that no script can read has it from
then on. Every answer says that the page may load nothing from elsewhere.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

#: What is said of every answer that says nothing of its own. Vue compiles templates in the browser.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' "
    "'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; frame-ancestors 'self'; base-uri 'self'; form-action 'self'; "
    "object-src 'none'")
_HEADERS = {
    b'content-security-policy': POLICY.encode(), b'referrer-policy': b'no-referrer',
    b'x-content-type-options': b'nosniff', b'cache-control': b'no-store'}
_REFUSED = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>sysid studio</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<body style="font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem">
<h1 style="font-size: 1.3rem">This page is not open to you yet</h1>
<p>{why}</p>
<p>Open the address that <code>{program}</code> printed when it started: it ends with a token,
which a new server makes anew.</p>
"""  # noqa: E501 (lines of HTML)
# Methods that change nothing, which any page may ask for with.
_READING = ('GET', 'HEAD', 'OPTIONS')
_TOKEN = 'token'  # noqa: S105 (the name of a parameter)


class TokenGuard:
    """An application that is reached with a token alone.

    Args:
        app: What is guarded.
        token: The token.
        cookie: Name of the cookie, which servers on other ports must not share.
        hosts: Values of the header Host that are answered; None for any.
        program: What prints the address with the token, for those who come without.

    Attributes:
        app: What is guarded.
    """

    def __init__(
        self, app: Application, token: str, cookie: str, hosts: Collection[str] | None,
        program: str = 'sysid studio',
    ) -> None:
        self.app, self._program = app, program
        self._token, self._cookie, self._hosts = token.encode(), cookie, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope['type'] not in ('http', 'websocket'):
            await self.app(scope, receive, send)
            return
        headers = {name.lower(): value.decode('latin-1') for name, value in scope['headers']}
        if (why := self._stranger(scope, headers)) is not None:
            await self._refuse(scope, send, 403, why)
        elif scope['type'] == 'http' and (given := _given(scope)) is not None:
            await self._admit(scope, send, given)
        elif not self._is_token(self._of_cookie(headers)):
            await self._refuse(scope, send, 401, 'Your browser did not say the token.')
        else:
            await self.app(scope, receive, _with_headers(send))

    def _stranger(self, scope: Scope, headers: dict[bytes, str]) -> str | None:
        """Why a request comes from elsewhere; None where it does not."""
        host = headers.get(b'host', '')
        if self._hosts is not None and host not in self._hosts:
            return 'It was asked for under a name that is not the name of this server.'
        reads = scope['type'] == 'http' and scope['method'] in _READING
        origin = headers.get(b'origin')
        if not reads and (origin is None or urlsplit(origin).netloc != host):
            return 'Another site asked for it.'
        return None

    async def _admit(self, scope: Scope, send: Send, given: str) -> None:
        """Take the token out of the address, and keep it as a cookie."""
        if not self._is_token(given):
            await self._refuse(scope, send, 401, 'The token is not the one of this server.')
            return
        rest = [(key, value) for key, value in _query(scope) if key != _TOKEN]
        # One slash at the beginning: two would lead to another host.
        path = '/' + quote(scope['path'].lstrip('/\\')) + (f'?{urlencode(rest)}' if rest else '')
        cookie = f'{self._cookie}={given}; HttpOnly; SameSite=Lax; Path=/'
        await _answer(send, 303, b'', {
            b'location': path.encode('latin-1'), b'set-cookie': cookie.encode('latin-1')})

    async def _refuse(self, scope: Scope, send: Send, status: int, why: str) -> None:
        if scope['type'] == 'websocket':
            # Before it is accepted, this is an answer with status 403.
            await send({'type': 'websocket.close', 'code': 1008, 'reason': why})
            return
        page = _REFUSED.format(why=why, program=self._program)
        await _answer(send, status, page.encode(), {
            b'content-type': b'text/html; charset=utf-8'})

    def _of_cookie(self, headers: dict[bytes, str]) -> str:
        try:
            found = SimpleCookie(headers.get(b'cookie', '')).get(self._cookie)
        except CookieError:
            return ''
        return '' if found is None else found.value

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(errors='replace'), self._token)


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope['query_string'].decode('latin-1'), keep_blank_values=True)


def _given(scope: Scope) -> str | None:
    """The token of an address; None where it has none."""
    return dict(_query(scope)).get(_TOKEN)


async def _answer(send: Send, status: int, body: bytes, headers: dict[bytes, bytes]) -> None:
    length = str(len(body)).encode()
    await send({'type': 'http.response.start', 'status': status, 'headers': list(
        (_HEADERS | headers | {b'content-length': length}).items())})
    await send({'type': 'http.response.body', 'body': body})


def _with_headers(send: Send) -> Send:
    """What sends an answer with the policy, unless it has one of its own."""
    async def send_with(message: MutableMapping[str, Any]) -> None:
        if message['type'] == 'http.response.start':
            known = {name.lower() for name, _ in message.get('headers', ())}
            message = dict(message) | {'headers': [*message.get('headers', ()), *(
                (name, value) for name, value in _HEADERS.items() if name not in known)]}
        await send(message)

    return send_with
