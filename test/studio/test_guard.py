"""Who reaches the page: with the token, from this site, by the name of this server."""

import asyncio

import pytest

from sysid_ros.studio.guard import TokenGuard

TOKEN, HOST = 'a-token-of-these-tests', '127.0.0.1:8421'


async def page(scope, receive, send):
    if scope['type'] == 'websocket':
        await send({'type': 'websocket.accept'})
        return
    headers = [(b'x-page', b'yes')]
    if scope['path'] == '/own':
        headers.append((b'Content-Security-Policy', b'sandbox'))
    await send({'type': 'http.response.start', 'status': 200, 'headers': headers})
    await send({'type': 'http.response.body', 'body': b'page'})


def asked(path='/', *, query='', method='GET', kind='http', hosts=(HOST,), **headers):
    """Messages that are sent back, the first one with its headers as a mapping."""
    sent = []
    headers = {'host': HOST} | {name.replace('_', '-'): value for name, value in headers.items()}
    scope = {
        'type': kind, 'path': path, 'query_string': query.encode(), 'method': method,
        'headers': [(name.encode(), value.encode()) for name, value in headers.items()]}

    async def send(message):
        sent.append(message)

    guard = TokenGuard(page, TOKEN, 'sysid_studio_8421', hosts)
    asyncio.run(guard(scope, None, send))
    first = sent[0]
    if 'headers' in first:
        first['headers'] = {name.lower().decode(): value.decode()
                            for name, value in first['headers']}
    return sent


def cookie(token=TOKEN):
    return f'other=1; sysid_studio_8421={token}'


def test_the_address_with_the_token_gives_a_cookie_and_leads_to_the_address_without_it():
    first, *_ = asked('/fit', query=f'a=1&token={TOKEN}')
    assert first['status'] == 303
    assert first['headers']['location'] == '/fit?a=1'
    said = first['headers']['set-cookie']
    assert said.startswith(f'sysid_studio_8421={TOKEN};')
    assert 'HttpOnly' in said and 'SameSite=Lax' in said
    answer, body = asked('/fit', cookie=cookie())
    assert (answer['status'], body['body']) == (200, b'page')


@pytest.mark.parametrize(('query', 'headers'), [
    ('', {}), ('token=wrong', {}), ('token=', {}), ('', {'cookie': cookie('wrong')}),
    ('', {'cookie': 'sysid_studio_9000=' + TOKEN}), ('', {'cookie': '\x00;;='}),
    ('token=wrong', {'cookie': cookie()}), ('', {'cookie': cookie('é')})])
def test_who_has_no_token_or_a_wrong_one_is_told_where_it_is(query, headers):
    first, body = asked(query=query, **headers)
    assert first['status'] == 401
    assert b'sysid studio' in body['body'] and TOKEN.encode() not in body['body']


@pytest.mark.parametrize('path', ['//evil.example/x', '/\\evil.example', '/%2f/evil.example'])
def test_no_address_with_a_token_leads_to_another_host(path):
    first, *_ = asked(path, query=f'token={TOKEN}')
    location = first['headers']['location']
    assert location.startswith('/') and not location.startswith(('//', '/\\'))


def test_a_name_that_is_not_the_servers_is_refused_even_with_the_token():
    first, *_ = asked(cookie=cookie(), host='evil.example:8421')
    assert first['status'] == 403
    first, *_ = asked(cookie=cookie(), host='lab.example:8421', hosts=None)
    assert first['status'] == 200


@pytest.mark.parametrize(('origin', 'taken'), [
    (f'http://{HOST}', True), ('http://127.0.0.1:9000', False), ('http://evil.example', False),
    ('null', False), (None, False)])
def test_another_site_neither_opens_a_socket_nor_sends_anything(origin, taken):
    headers = {'cookie': cookie()} | ({} if origin is None else {'origin': origin})
    first, *_ = asked(kind='websocket', **headers)
    assert (first['type'] == 'websocket.accept') == taken
    first, *_ = asked(method='POST', **headers)
    assert (first['status'] == 200) == taken


def test_a_socket_without_the_token_is_refused():
    first, *_ = asked(kind='websocket', origin=f'http://{HOST}')
    assert first['type'] == 'websocket.close'


def test_every_answer_forbids_what_comes_from_elsewhere_unless_it_forbids_more():
    first, *_ = asked(cookie=cookie())
    assert "connect-src 'self'" in first['headers']['content-security-policy']
    assert first['headers']['x-page'] == 'yes'
    assert first['headers']['referrer-policy'] == 'no-referrer'
    first, *_ = asked('/own', cookie=cookie())
    assert first['headers']['content-security-policy'] == 'sandbox'
    refused, *_ = asked()
    assert "default-src 'self'" in refused['headers']['content-security-policy']
