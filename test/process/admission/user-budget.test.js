import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { holdableTime } from '../../helpers/held-time.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'
import { kConnection } from '../../../src/gateway/socketio-connection.js'

/**
 * One user has one budget of bytes and CPU time per worker, over whatever connections. Time is held, so nothing is
 * refilled while a user tries.
 */

const CONNECTIONS = 60
/** CPU time of decoding that is allowed at once, ms: half a second in all, of which decoding is a third. */
const DECODING = 500 / 3
const BURST = 2 * 2 ** 20

/** @typedef {Awaited<ReturnType<typeof connectClient>>} Client */

/**
 * @typedef {(connect: (transport?: string) => Promise<Client>, send: (client: Client) => Promise<any>) =>
 *   Promise<any[]>} Way
 */

/** On both transports. @type {Way} */
async function manyAtOnce (connect, send) {
  const clients = await Promise.all(
    Array.from({ length: CONNECTIONS }, (_, i) => connect(i % 10 === 0 ? 'polling' : 'websocket'))
  )
  return Promise.all(clients.map(send))
}

/** @type {Way} */
async function newEachTime (connect, send) {
  const answers = []
  for (let i = 0; i < CONNECTIONS; i++) {
    const client = await connect()
    answers.push(await send(client))
    client.disconnect()
  }
  return answers
}

/**
 * The values that a user sends, and the way.
 * @type {Record<string, { way: Way, codec: 'json' | 'msgpack', data: unknown, bytes: number }>}
 */
const CASES = {
  'strings of 150 KB over many connections at once':
    { way: manyAtOnce, codec: 'json', data: 'x'.repeat(150_000), bytes: 150_000 },
  'strings of 150 KB as msgpack over a new connection each time':
    { way: newEachTime, codec: 'msgpack', data: 'x'.repeat(150_000), bytes: 150_000 },
  'broad JSON over a new connection each time':
    { way: newEachTime, codec: 'json', data: Array(50_000).fill([]), bytes: 150_000 },
  'broad msgpack over many connections at once':
    { way: manyAtOnce, codec: 'msgpack', data: Array(45_000).fill({}), bytes: 45_000 }
}

for (const [what, { way, codec, data, bytes }] of Object.entries(CASES)) {
  test(`a user who sends ${what} has one budget, and others have theirs`, async (t) => {
    const time = holdableTime(t)
    const server = await startEmbedded(t, { AUTH_JWT_SECRET: SECRET, MAX_CONNECTIONS_PER_USER: '0' }, undefined, { clock: time.clock })
    /** @type {number[]} */
    const charged = []
    /** @param {string} uid @param {string} [transport] */
    const connect = async (uid, transport = 'websocket') => {
      const auth = { token: await signToken({ sub: uid }) }
      const client = await connectClient(t, server.url, { codec, auth, transports: [transport] })
      const socket = /** @type {any} */ (server.gateway.io.sockets.sockets.get(String(client.id)))
      const connection = socket[kConnection]
      const decoded = connection.decoded.bind(connection)
      connection.decoded = (/** @type {number} */ ms) => {
        charged.push(ms)
        decoded(ms)
      }
      // each in a document of its own, so that nobody else gets its signals
      await join(client)
      return client
    }
    const join = (/** @type {Client} */ client) => client.ask('doc:join', { guid: String(client.id) })
    const send = (/** @type {Client} */ client) =>
      client.ask('doc:signal', { guid: String(client.id), event: 'noise', data })
    time.hold()
    const answers = await way((transport) => connect('ada', transport), send)
    const served = answers.filter(({ ok }) => ok).length
    assert.equal(answers.length, CONNECTIONS)
    for (const { ok, error } of answers) if (!ok) assert.equal(error.code, 'rate_limited')
    assert.ok(served >= 1 && served <= Math.ceil(BURST / bytes), `${served} were served`)
    // in the order of decoding: none is served after the budget is spent
    let spent = 0
    const last = charged.findIndex((ms) => (spent += ms) > DECODING)
    assert.ok(last === -1 || served <= last + 1, `${served} were served, decoding took ${charged.map(Math.round)} ms`)
    // another user is not concerned
    const other = await connect('bob')
    assert.equal((await send(other)).ok, true)
    // the budget is refilled
    const client = await connect('ada')
    if (served < CONNECTIONS) assert.equal((await send(client)).ok, false)
    time.pass(9000)
    // the worker has had no answer of Redis meanwhile, and asks it first
    await waitFor(async () => (await join(client)).ok)
    assert.equal((await send(client)).ok, true)
  })
}
