import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, describe, test } from 'node:test'
import { connectClient } from '../helpers/clients.js'
import { startEmbedded } from '../helpers/embedded.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { startRoles } from '../helpers/roles.js'
import { SECRET, signToken } from '../helpers/tokens.js'
import { waitFor } from '../helpers/wait.js'
import { NOT_EXPRESSIBLE, waysIn } from '../helpers/ways-in.js'
import { SECRET as WEBHOOK_SECRET, startWebhookService } from '../helpers/webhook-service.js'

/**
 * Everything that a service can publish, in every way in which it can: the clients must see the same.
 *
 * @typedef {{ guid: string, uid: string, sid: string, client: string }} Target a member of the document
 * @typedef {{ event: string, payload?: any, meta?: Record<string, any>, asks?: true }} Seen
 *
 * @typedef {object} Case
 * @property {string} what
 * @property {(target: Target) => Record<string, any> & { operator: string }} item
 * @property {number} [times] it is published; default 1
 * @property {(target: Target) => Seen[]} [member] what the member of the document sees; default: nothing
 * @property {(target: Target) => Seen[]} [other] what a user without the document sees; default: nothing
 * @property {string} [refused] the code of its error
 * @property {true} [forAll] every client sees it
 */

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const TRACEPARENT = `00-${TRACE}-00f067aa0ba902b7-00`
const MSGPACK = Buffer.from([0x81, 0xa1, 0x61, 0x01]).toString('base64')
const message = (/** @type {any} */ payload, /** @type {any} */ meta = {}) => ({ event: 'message', payload, meta })

const KICKED = [
  { event: 'gateway:disconnect', payload: { code: 'kicked', message: 'disconnected by the service', retryable: false } },
  { event: 'disconnect', payload: 'io server disconnect' }
]

/** @type {Case[]} */
const CASES = [
  {
    what: 'a record of a document',
    item: ({ guid }) => ({ operator: 'broadcast', guid, event: 'edit', value: { text: 'ü 世界' } }),
    member: ({ guid }) => [{ event: 'edit', payload: { text: 'ü 世界' }, meta: { guid, offset: 1 } }]
  },
  {
    what: 'without an event',
    item: ({ guid }) => ({ operator: 'broadcast', guid, value: null }),
    member: ({ guid }) => [message(null, { guid, offset: 1 })]
  },
  {
    what: 'in msgpack',
    item: ({ guid }) => ({ operator: 'broadcast', guid, valueBase64: MSGPACK, contentType: 'application/msgpack' }),
    member: ({ guid }) => [message({ a: 1 }, { guid, offset: 1 })]
  },
  {
    what: 'ephemeral',
    item: ({ guid }) => ({ operator: 'broadcast', guid, value: 1, ephemeral: true }),
    member: ({ guid }) => [message(1, { guid })]
  },
  {
    what: 'with a trace and a time',
    item: ({ guid }) => ({ operator: 'broadcast', guid, value: 1, traceparent: TRACEPARENT, timestamp: 1_700_000_000_000 }),
    member: ({ guid }) => [
      message(1, { guid, offset: 1, traceId: TRACE, traceparent: TRACEPARENT, ts: 1_700_000_000_000 })
    ]
  },
  {
    what: 'with a trace id of its own',
    item: ({ guid }) => ({ operator: 'broadcast', guid, value: 1, traceId: 'one of mine' }),
    member: ({ guid }) => [message(1, { guid, offset: 1, traceId: 'one of mine' })]
  },
  { what: 'except for the member', item: ({ guid, client }) => ({ operator: 'broadcast', guid, value: 1, except: [client] }) },
  {
    what: 'that asks for a receipt',
    item: ({ guid }) => ({ operator: 'broadcast', guid, value: 1, receipt: true }),
    member: ({ guid }) => [{ ...message(1, { guid, offset: 1 }), asks: true }]
  },
  {
    what: 'with a key, twice',
    times: 2,
    item: ({ guid }) => ({ operator: 'broadcast', guid, value: 1, key: 'slide' }),
    member: ({ guid }) => [message(1, { guid, offset: 1 }), message(1, { guid, offset: 2 })]
  },
  {
    what: 'twice with one idempotency key',
    times: 2,
    item: ({ guid }) => ({ operator: 'broadcast', guid, value: 1, idempotencyKey: `once-${guid}` }),
    member: ({ guid }) => [message(1, { guid, offset: 1 })]
  },
  {
    what: 'for a user',
    item: ({ uid }) => ({ operator: 'user', uid, event: 'note', value: 'hello' }),
    member: () => [{ event: 'note', payload: 'hello', meta: {} }]
  },
  {
    what: 'for a user, in the log of the user',
    item: ({ uid }) => ({ operator: 'user', uid, value: 'hello', keep: true }),
    member: () => [message('hello')]
  },
  {
    what: 'for a connection',
    item: ({ sid }) => ({ operator: 'socket', sid, value: [1] }),
    member: () => [message([1])]
  },
  {
    what: 'for everyone',
    forAll: true,
    item: () => ({ operator: 'everyone', value: 1 }),
    member: () => [message(1)],
    other: () => [message(1)]
  },
  {
    what: 'a revoke',
    item: ({ guid, uid }) => ({ operator: 'revoke', guid, uid }),
    member: ({ guid }) => [{ event: 'doc:revoked', payload: { guid } }]
  },
  { what: 'a restore', item: ({ guid, uid }) => ({ operator: 'restore', guid, uid }) },
  {
    what: 'the end of a document',
    item: ({ guid }) => ({ operator: 'close', guid }),
    member: ({ guid }) => [{ event: 'doc:closed', payload: { guid, code: 'closed' } }]
  },
  {
    what: 'the removal of a user from a document',
    item: ({ guid, uid }) => ({ operator: 'leave', guid, uid }),
    member: ({ guid }) => [{ event: 'doc:closed', payload: { guid, code: 'removed' } }]
  },
  { what: 'the kick of a user', item: ({ uid }) => ({ operator: 'kick', uid }), member: () => KICKED },
  {
    what: 'the kick of a connection',
    item: ({ sid }) => ({ operator: 'kick', sid }),
    member: () => KICKED
  },
  {
    what: 'an event of inkcast\'s own',
    item: ({ guid }) => ({ operator: 'broadcast', guid, event: 'doc:joined', value: 1 }),
    refused: 'reserved_event'
  },
  {
    what: 'an event of Socket.IO\'s own',
    item: ({ uid }) => ({ operator: 'user', uid, event: 'disconnect', value: 1 }),
    refused: 'reserved_event'
  },
  {
    what: 'JSON that is none',
    item: ({ guid }) => ({ operator: 'broadcast', guid, valueBase64: Buffer.from('{"a":').toString('base64') }),
    refused: 'bad_value'
  },
  {
    what: 'msgpack that is none',
    item: ({ guid }) =>
      ({ operator: 'broadcast', guid, valueBase64: Buffer.from([0x93, 1]).toString('base64'), contentType: 'application/msgpack' }),
    refused: 'bad_value'
  },
  {
    what: 'text that is no UTF-8',
    item: ({ guid }) => ({ operator: 'broadcast', guid, valueBase64: Buffer.from([0x22, 0xff, 0x22]).toString('base64') }),
    refused: 'bad_utf8'
  },
  { what: 'no value', item: ({ guid }) => ({ operator: 'broadcast', guid }), refused: 'bad_value' },
  {
    what: 'a value above the limit',
    item: ({ guid }) => ({ operator: 'broadcast', guid, value: 'x'.repeat(20_000) }),
    refused: 'value_too_large'
  },
  {
    what: 'a guid that is too long',
    item: () => ({ operator: 'broadcast', guid: 'x'.repeat(257), value: 1 }),
    refused: 'bad_target'
  },
  {
    what: 'a content type that is neither',
    item: ({ guid }) => ({
      operator: 'broadcast', guid, valueBase64: Buffer.from('1').toString('base64'), contentType: 'text/plain'
    }),
    refused: 'bad_content_type'
  },
  { what: 'no document', item: () => ({ operator: 'broadcast', value: 1 }), refused: 'missing_target' },
  { what: 'no operator that there is', item: ({ guid }) => ({ operator: 'shout', guid, value: 1 }), refused: 'unknown_operator' }
]

/** Events of the protocol that any client sees. */
const USUAL = new Set(['doc:joined', 'doc:presence', 'gateway:user', 'doc:position'])

/** @typedef {Awaited<ReturnType<typeof connectUser>>} User */

/** @param {string} url @param {import('../helpers/file-scope.js').Scope} t @param {string} client */
async function connectUser (url, t, client) {
  const uid = `user-${randomUUID()}`
  const iat = Math.floor(Date.now() / 1000) - 5
  const socket = await connectClient(t, url, { auth: { token: await signToken({ sub: uid, iat }), client } })
  /** @type {any[]} */
  const seen = []
  socket.onAny((event, payload, meta, acknowledge) => {
    if (USUAL.has(event)) return
    acknowledge?.()
    seen.push({ event, payload, meta, asks: acknowledge !== undefined })
  })
  socket.on('disconnect', (reason) => { seen.push({ event: 'disconnect', payload: reason }) })
  return { socket, uid, seen }
}

/** @param {any[]} seen @param {Seen[]} expected @returns {Seen[]} what was seen, reduced to what is expected */
const reduced = (seen, expected) => seen.map(({ event, payload, meta, asks }, i) => ({
  event,
  payload,
  ...(meta !== undefined && {
    meta: Object.fromEntries(Object.entries(meta).filter(([name]) =>
      ['guid', 'offset', 'traceparent'].includes(name) || name in (expected[i]?.meta ?? {})))
  }),
  ...(asks && { asks })
}))

const scope = fileScope()

/** @typedef {import('../helpers/ways-in.js').Inkcast & { urls: string[] }} Inkcast `urls`: of the workers */

/** @param {Record<string, string>} settings @returns {Promise<Inkcast>} two workers, api and ingest */
async function severalRoles (settings) {
  const REDIS_URL = await ownRedisUrl(scope)
  const roles = await startRoles(scope, { WORKERS: '2', REDIS_URL, GRPC_PORT: '0', ...settings })
  return { ...roles, grpcPort: roles.grpcPort() }
}

/** @param {Record<string, string>} settings @returns {Promise<Inkcast>} */
async function oneProcess (settings) {
  const { url, apiUrl, grpcPort, post, metrics } = await startEmbedded(scope, { GRPC_PORT: '0', ...settings })
  return { url, urls: [url], apiUrl, grpcPort: grpcPort(), post, metrics: () => metrics.registry.metrics() }
}

for (const withKafka of [true, false]) {
  describe(`everything published behaves the same in every way, ${withKafka ? 'with' : 'without'} Kafka`, () => {
    /** @type {Inkcast} */
    let cluster
    /** @type {Record<string, import('../helpers/ways-in.js').Way>} */
    let ways
    before(async () => {
      /** @type {Map<string, any>} */
      const answers = new Map()
      const { url } = await startWebhookService(scope, {
        answer (events) {
          const publish = events.filter(({ event }) => event === 'answer').map(({ data }) => answers.get(data))
          return publish.length === 0 ? undefined : { body: { publish } }
        }
      })
      const settings = {
        UPLINK_URL: url, UPLINK_SECRETS: WEBHOOK_SECRET, AUTH_JWT_SECRET: SECRET, MAX_RECORD_BYTES: '16384'
      }
      const topics = withKafka ? freshTopics(scope) : undefined
      cluster = topics === undefined
        ? await oneProcess(settings)
        : await severalRoles({ ...settings, ...topics.env })
      const token = await signToken({ sub: 'who sends messages to the service' })
      ways = await waysIn(scope, cluster, { service: { answers, token }, topics })
      // orders are refused for a moment after the first worker in an empty Redis
      await waitFor(async () => await ways.HTTP({ operator: 'kick', uid: 'nobody' }) === undefined)
    }, { timeout: 120_000 })

    /** Of each way; they stay until a case ends one of them. @type {Map<string, { inside: User, outside: User }>} */
    const pairs = new Map()

    /** @param {string} name of the way @returns {Promise<{ inside: User, outside: User }>} they have seen nothing */
    async function pairOf (name) {
      let pair = pairs.get(name)
      if (!pair?.inside.socket.connected || !pair.outside.socket.connected) {
        pair?.inside.socket.disconnect()
        pair?.outside.socket.disconnect()
        pair = {
          inside: await connectUser(cluster.urls[0], scope, `tab-${randomUUID()}`),
          outside: await connectUser(/** @type {string} */ (cluster.urls.at(-1)), scope, 'another tab')
        }
        pairs.set(name, pair)
      }
      pair.inside.seen.length = pair.outside.seen.length = 0
      return pair
    }

    for (const { what, item, times = 1, member = () => [], other = () => [], refused, forAll } of CASES) {
      test(what, { timeout: 120_000 }, async () => {
        /** @param {[name: string, publish: import('../helpers/ways-in.js').Way]} way */
        const check = async ([name, publish]) => {
          const guid = `doc-${randomUUID()}`
          const { inside, outside } = await pairOf(name)
          await inside.socket.ask('doc:join', { guid })
          const { client } = /** @type {any} */ (inside.socket.auth)
          const target = { guid, uid: inside.uid, sid: String(inside.socket.id), client }
          /** @type {any} */
          let code
          for (let time = 0; time < times; time++) code = await publish(item(target))
          if (code === NOT_EXPRESSIBLE) return
          assert.equal(code, refused, `${name}: the error`)
          const expected = { member: member(target), other: other(target) }
          const seen = () => ({
            member: reduced(inside.seen, expected.member), other: reduced(outside.seen, expected.other)
          })
          const arrived = () =>
            inside.seen.length >= expected.member.length && outside.seen.length >= expected.other.length
          await waitFor(arrived, { timeout: 10_000, message: () => `${name}: ${JSON.stringify(seen())}` })
          // what comes after it shows that there is nothing more
          const end = randomUUID()
          if (inside.socket.connected) {
            await cluster.post(`/v1/sockets/${target.sid}/send`, 1, { 'x-event': end })
            await waitFor(() => inside.seen.at(-1)?.event === end)
            inside.seen.pop()
          }
          assert.deepEqual(seen(), expected, name)
        }
        if (!forAll) return void await Promise.all(Object.entries(ways).map(check))
        // the others would see it, too, and perhaps only in a later case
        const end = () => { for (const { inside } of pairs.values()) inside.socket.disconnect() }
        end()
        for (const way of Object.entries(ways)) {
          await check(way)
          end()
        }
      })
    }
  })
}
