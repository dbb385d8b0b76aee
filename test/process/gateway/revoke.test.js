import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { httpService } from '../../helpers/http-service.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const server = await startEmbedded({ after }, { AUTH_JWT_SECRET: SECRET, AUTH_ALLOW_ANONYMOUS: 'true' })

const seconds = () => Math.floor(Date.now() / 1000)
const documents = [
  { guid: 'minutes', access: 'write' },
  { guid: 'team/*', access: 'write' },
  { guid: 'other', access: 'read' }
]
/** @param {any} answer */
const codeOf = ({ ok, error }) => ok ? 'ok' : error.code

/** @param {string} guid @param {string} uid @param {typeof server} [from] */
async function revoke (guid, uid, from = server) {
  const { status } = await from.post(`/v1/documents/${encodeURIComponent(guid)}/revoke`, { uid })
  assert.equal(status, 202)
}

/**
 * @param {import('node:test').TestContext} t
 * @param {object | undefined} claims
 * @param {string} guid document that the client joins
 */
async function member (t, claims, guid) {
  const token = claims && await signToken({ exp: seconds() + 600, ...claims })
  const client = await connectClient(t, server.url, { auth: { token } })
  assert.equal(codeOf(await client.ask('doc:join', { guid })), 'ok')
  return { client, token }
}

for (const [what, claims, guid] of /** @type {[string, object, string][]} */ ([
  ['a grant', { sub: 'ada', iat: seconds() - 5, documents }, 'minutes'],
  ['a grant of a prefix', { sub: 'ben', iat: seconds() - 5, documents }, 'team/notes'],
  ['a token without a documents claim', { sub: 'cid', iat: seconds() - 5 }, 'minutes'],
  ['a token without an iat', { sub: 'dan', documents }, 'minutes'],
  ['a token with an invalid iat', { sub: 'eve', iat: 'x', documents }, 'minutes']
])) {
  test(`after a revoke ${what} does not open the document: not on the connection, after a reconnect or with a resume`, async (t) => {
    const { client, token } = await member(t, claims, guid)
    const gone = client.next('doc:revoked')
    await revoke(guid, /** @type {any} */ (claims).sub)
    await gone
    assert.equal(codeOf(await client.ask('doc:join', { guid })), 'forbidden')
    assert.equal(codeOf(await client.ask('auth:refresh', { token })), 'ok')
    assert.equal(codeOf(await client.ask('doc:join', { guid })), 'forbidden')
    client.disconnect().connect()
    await client.next('connect')
    assert.equal(codeOf(await client.ask('doc:join', { guid })), 'forbidden')
    const resuming = await connectClient(t, server.url, {
      auth: { token, documents: { [guid]: { epoch: 'e', offset: 1 }, other: null } }
    })
    await waitFor(() => resuming.received.length >= 2, { message: () => resuming.received })
    assert.deepEqual(resuming.received.map(({ event, payload }) => [event, payload.guid, payload.error?.code]).sort(), [
      ['doc:joined', 'other', undefined],
      ['doc:refused', guid, 'forbidden']
    ])
  })
}

test('a token that was issued after the revoke opens the document again, by auth:refresh and by a handshake', async (t) => {
  const { client } = await member(t, { sub: 'flo', iat: seconds() - 5, documents }, 'minutes')
  const gone = client.next('doc:revoked')
  await revoke('minutes', 'flo')
  await gone
  const token = await signToken({ sub: 'flo', iat: seconds() + 1, exp: seconds() + 600, documents })
  assert.equal(codeOf(await client.ask('auth:refresh', { token })), 'ok')
  assert.equal(codeOf(await client.ask('doc:join', { guid: 'minutes' })), 'ok')
  const other = await connectClient(t, server.url, { auth: { token } })
  assert.equal(codeOf(await other.ask('doc:join', { guid: 'minutes' })), 'ok')
})

test('a revoke of an absent user applies when the user connects', async (t) => {
  await revoke('minutes', 'gus')
  const client = await connectClient(t, server.url, {
    auth: { token: await signToken({ sub: 'gus', iat: seconds() - 5, documents }) }
  })
  assert.deepEqual(
    [
      codeOf(await client.ask('doc:join', { guid: 'minutes' })),
      codeOf(await client.ask('doc:join', { guid: 'team/x' }))
    ],
    ['forbidden', 'ok']
  )
})

test('a revoked anonymous user stays excluded', async (t) => {
  const { client } = await member(t, undefined, 'minutes')
  const [uid] = [...server.gateway.io.sockets.sockets.values()]
    .map((socket) => /** @type {any} */ (socket.conn))
    .flatMap((conn) => Object.getOwnPropertySymbols(conn).map((key) => conn[key]?.uid))
    .filter((id) => id?.startsWith('anonymous:'))
  const gone = client.next('doc:revoked')
  await revoke('minutes', uid)
  await gone
  assert.equal(codeOf(await client.ask('doc:join', { guid: 'minutes' })), 'forbidden')
})

test('a kick ends existing connections, not later ones', async (t) => {
  const { client, token } = await member(t, { sub: 'hal', iat: seconds() - 5, documents }, 'minutes')
  const gone = client.next('disconnect')
  await fetch(`${server.apiUrl}/v1/users/hal/connections`, { method: 'DELETE' })
  await gone
  const later = await connectClient(t, server.url, { auth: { token } })
  assert.equal(codeOf(await later.ask('doc:join', { guid: 'minutes' })), 'ok')
})

test('a revoke invalidates earlier responses of the access service, cached and pending', async (t) => {
  let allow = true
  /** @type {(() => void) | undefined} */
  let answer
  /** @type {string[]} */
  const asked = []
  const hook = await httpService(t, async ({ body }) => {
    const { uid, guid, access } = JSON.parse(body)
    asked.push(`${uid} ${guid} ${access}`)
    const said = JSON.stringify({ allow })
    if (uid === 'slow')
      await new Promise((resolve) => { answer = () => resolve(undefined) })
    return { body: said }
  })
  const own = await startEmbedded(t, { AUTH_JWT_SECRET: SECRET, AUTH_ACCESS_URL: hook.url })
  const [ada, slow] = await Promise.all(
    ['ada', 'slow'].map(async (sub) => connectClient(t, own.url, { auth: { token: await signToken({ sub }) } }))
  )
  assert.equal(codeOf(await ada.ask('doc:join', { guid: 'minutes' })), 'ok')
  assert.equal(codeOf(await ada.ask('doc:send', { guid: 'minutes', data: 1 })), 'ok')
  const opening = slow.ask('doc:join', { guid: 'minutes' })
  await waitFor(() => answer)
  // the service withdraws the right, then revokes
  allow = false
  const gone = [ada, slow].map((client) => client.next('doc:revoked'))
  for (const uid of ['ada', 'slow']) await revoke('minutes', uid, own)
  await Promise.all(gone)
  assert.equal(codeOf(await ada.ask('doc:join', { guid: 'minutes' })), 'forbidden')
  const again = slow.ask('doc:join', { guid: 'minutes' })
  await waitFor(() => asked.length === 5, { message: () => asked })
  answer?.()
  assert.equal(codeOf(await again), 'forbidden')
  opening.catch(() => {})
  assert.deepEqual(asked, [
    'ada minutes read',
    'ada minutes write',
    'slow minutes read',
    'ada minutes read',
    'slow minutes read'
  ])
  // the service decides: if it allows access again, no new token is needed
  allow = true
  await revoke('minutes', 'ada', own)
  await waitFor(async () => codeOf(await ada.ask('doc:join', { guid: 'minutes' })) === 'ok')
})
