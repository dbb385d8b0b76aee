import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { findToken, namesPage, readCookie } from '../../../src/people/auth/credentials.js'

describe('the token of a handshake', () => {
  test('is in auth, the Authorization header, the query or the cookie, in this order', () => {
    const headers = { authorization: 'bearer  header ', cookie: 'jwt=cookie' }
    const query = { token: 'query' }
    assert.deepEqual(findToken('auth', { headers, query }, 'jwt'), { token: 'auth', from: 'auth' })
    assert.deepEqual(findToken(null, { headers, query }, 'jwt'), { token: 'header', from: 'authorization' })
    assert.deepEqual(findToken(undefined, { headers: { cookie: 'jwt=cookie' }, query }, 'jwt'), { token: 'query', from: 'query' })
    assert.deepEqual(findToken(undefined, { headers, query: {} }, 'jwt')?.from, 'authorization')
    assert.deepEqual(findToken(undefined, { headers: { cookie: 'jwt=cookie' }, query: {} }, 'jwt'), { token: 'cookie', from: 'cookie' })
    assert.equal(findToken(undefined, { headers: { cookie: 'jwt=cookie', authorization: 'Basic eDp5' }, query: { token: '' } }), undefined)
    // an empty token of `auth` is one, and not valid
    assert.equal(findToken('', { headers, query })?.from, 'auth')
  })

  test('in a cookie is the whole value of one name, without quotes', () => {
    for (const [header, value] of /** @type {[string | undefined, string | undefined][]} */ ([
      [undefined, undefined], ['', undefined], ['other=x', undefined], ['jwt=', undefined], ['jwt', undefined],
      ['jwt=a.b.c', 'a.b.c'], ['x=1;jwt=a', 'a'], ['x=1;  jwt = a=b ; y=2', 'a=b'], ['jwt="a.b"', 'a.b'], ['jwt="', '"'],
      ['xjwt=a', undefined], ['JWT=a', undefined], ['jwt2=b; jwt=a', 'a'], ['x="1; jwt=a"', 'a"']
    ])) assert.equal(readCookie(header, 'jwt'), value, header)
  })

  test('in two cookies of one name is refused, also if they are the same', () => {
    for (const header of ['jwt=a; jwt=b', 'jwt=a; x=1; jwt=a', 'jwt=; jwt=a', 'jwt=a; "jwt"=b; jwt="c"'])
      assert.throws(() => readCookie(header, 'jwt'), { code: 'unauthorized' })
  })
})

test('a page is named by an origin, or by the browser as one of the gateway itself', () => {
  assert.deepEqual(
    [{ origin: 'https://x' }, { origin: 'null' }, { 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': 'same-site' }, { 'sec-fetch-site': 'cross-site' }, {}].map(namesPage),
    [true, true, true, false, false, false, false]
  )
})
