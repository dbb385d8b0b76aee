import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { holdableTime } from '../../helpers/held-time.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'
import { kConnection } from '../../../src/gateway/socketio-connection.js'

/**
 * A document to which a user sends a message has keys in Redis afterwards, so a user begins to send to a limited number
 * of documents, over whatever connections. Time is held, so nothing is refilled while a user tries.
 */

const BURST = 1000
/** Part of the burst that is taken at the beginning, so that the test is quick. */
const TAKEN = 900
/** Above the burst. */
const TRIES = BURST - TAKEN + 50
const EVERY = 10_000

/** @typedef {Awaited<ReturnType<typeof connectClient>>} Client */

/** @typedef {(client: Client, guid: string) => Promise<any>} Send */

/** Messages of a connection that wait for their answers. */
const AT_ONCE = 25
/** Documents in which each of several connections sends. */
const EACH = 25

/** @param {Client} client @param {Send} send @param {string} name @param {number} count @returns {Promise<any[]>} */
async function sendIn (client, send, name, count) {
  const answers = []
  for (let at = 0; at < count; at += AT_ONCE)
    answers.push(...await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => send(client, `${name}-${at + i}`))))
  return answers
}

/** @typedef {(connect: (transport?: string) => Promise<Client>, send: Send) => Promise<any[]>} Way */

/** Ways to send to TRIES documents. @type {Record<string, Way>} */
const WAYS = {
  async 'over one connection, which leaves them again' (connect, send) {
    return sendIn(await connect(), send, 'd', TRIES)
  },
  async 'over many connections, on both transports' (connect, send) {
    const transports = Array.from({ length: TRIES / EACH }, (_, i) => i % 3 === 0 ? 'polling' : 'websocket')
    const clients = await Promise.all(transports.map(connect))
    const answers = []
    for (const [i, client] of clients.entries()) answers.push(...await sendIn(client, send, `d-${i}`, EACH))
    return answers
  },
  async 'over a new connection each time' (connect, send) {
    const answers = []
    for (let i = 0; i < TRIES / EACH; i++) {
      const client = await connect()
      answers.push(...await sendIn(client, send, `d-${i}`, EACH))
      client.disconnect()
    }
    return answers
  }
}

describe(`a user who sends messages and edits of queues to many documents`, () => {
  for (const [how, way] of Object.entries(WAYS)) {
    test(`${how} is limited, and others are not`, async (t) => {
      const time = holdableTime(t)
      const server = await startEmbedded(t, {
        AUTH_JWT_SECRET: SECRET, MAX_CONNECTIONS_PER_USER: '0', MAX_EVENTS_PER_SECOND: '100000'
      }, undefined, { clock: time.clock })
      const connect = async (/** @type {string} */ uid, transport = 'websocket') =>
        connectClient(t, server.url, { auth: { token: await signToken({ sub: uid }) }, transports: [transport] })
      let count = 0
      const send = async (/** @type {Client} */ client, /** @type {string} */ guid) => {
        assert.equal((await client.ask('doc:join', { guid })).ok, true)
        const queue = { id: `queue-of-a-user-${count}`, seq: 1 + count % 3 }
        const answer = await client.ask('doc:send', { guid, data: 1, ...count++ % 2 === 0 && { queue } })
        // later ones are free
        if (answer.ok && count % 10 === 0) assert.equal((await client.ask('doc:send', { guid, data: 2 })).ok, true)
        await client.ask('doc:leave', { guid })
        return answer
      }
      time.hold()
      const first = await connect('ada')
      const socket = /** @type {any} */ (server.gateway.io.sockets.sockets.get(String(first.id)))
      for (let i = 0; i < TAKEN; i++) socket[kConnection].beginsSending()
      first.disconnect()
      const answers = await way((transport) => connect('ada', transport), send)
      const refused = answers.filter(({ ok }) => !ok)
      assert.deepEqual([answers.length, refused.length], [TRIES, TRIES + TAKEN - BURST])
      for (const { error } of refused)
        assert.deepEqual([error.code, error.retryable, error.retryInMs], ['rate_limited', true, EVERY])
      assert.equal((await send(await connect('bob'), 'of-bob')).ok, true)
      const { values: [{ value }] } = await server.metrics.documents_written.get()
      assert.equal(value, BURST - TAKEN + 1)
      // a new connection does not renew the budget
      const again = await connect('ada')
      assert.equal((await send(again, 'later')).ok, false)
      time.pass(EVERY)
      // the worker has had no answer of Redis meanwhile, and asks it first
      await waitFor(async () => (await again.ask('doc:join', { guid: 'again' })).ok)
      assert.equal((await send(again, 'later')).ok, true)
      assert.equal((await send(again, 'last')).ok, false)
    })
  }
})
