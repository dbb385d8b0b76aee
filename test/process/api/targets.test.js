import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { Callers } from '../../../src/services/api/callers/callers.js'
import { createAnswers } from '../../../src/services/webhook/answers.js'
import { route } from '../../../src/ingest/router.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { HEADER } from '../../../src/wire/headers.js'
import { OPERATORS } from '../../../src/wire/operators.js'
import { checkPublication } from '../../../src/wire/publication.js'
import { callersFile } from '../../helpers/callers-file.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { fileScope } from '../../helpers/file-scope.js'
import { grpcClient } from '../../helpers/grpc.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

/**
 * Every operator with every combination of targets, of callers with other rights, in every way in. The tables here are
 * the oracle: they say what an operator acts on, and do not come from the source.
 *
 * @typedef {'guid' | 'uid' | 'sid' | 'device'} Target a device without a user is a user of its own
 * @typedef {{ operator: string } & Partial<Record<Target, string>>} Item
 */

/** Combinations of targets that the operator acts on. @type {Record<string, Target[][]>} */
const ACTS_ON = {
  broadcast: [['guid']],
  user: [['uid']],
  device: [['device'], ['uid', 'device']],
  socket: [['sid']],
  everyone: [[]],
  kick: [['uid'], ['sid'], ['device'], ['uid', 'device']],
  revoke: [['guid', 'uid']],
  restore: [['uid'], ['guid', 'uid']],
  close: [['guid']],
  join: [['guid', 'uid'], ['guid', 'sid'], ['guid', 'device'], ['guid', 'uid', 'device']],
  leave: [['guid', 'uid'], ['guid', 'sid'], ['guid', 'device'], ['guid', 'uid', 'device']]
}
/** @type {Record<Target, string>} */
const TARGETS = { guid: 'notes/1', uid: 'svc-1', sid: 'AAAAAAAAAAAAAAAAAAAA', device: 'board' }
const NAMES = /** @type {Target[]} */ (Object.keys(TARGETS))

/** Rights of each caller, and whether they cover such targets. */
const CALLERS = [
  { name: 'all', rights: {}, covers: () => true },
  {
    name: 'own-documents', rights: { guids: ['notes/*'] },
    covers: (/** @type {Target[]} */ targets) => targets.length > 0
  },
  {
    name: 'other-documents', rights: { guids: ['minutes/*'] },
    covers: (/** @type {Target[]} */ targets) => targets.length > 0 && !targets.includes('guid')
  },
  {
    name: 'own-users', rights: { uids: ['svc-*'] },
    covers: (/** @type {Target[]} */ targets) =>
      targets.length > 0 && !targets.includes('sid') && (!targets.includes('device') || targets.includes('uid'))
  },
  {
    name: 'other-users', rights: { uids: ['team-*'] },
    covers: (/** @type {Target[]} */ targets) => targets.length === 1 && targets[0] === 'guid'
  }
]

/** @type {{ item: Item, targets: Target[], acts: boolean }[]} */
const CASES = [...OPERATORS].flatMap((operator) => Array.from({ length: 2 ** NAMES.length }, (_, bits) => {
  const targets = NAMES.filter((_, i) => bits & 2 ** i)
  const acts = ACTS_ON[operator].some((known) => known.join() === targets.join())
  const item = { operator, ...Object.fromEntries(targets.map((name) => [name, TARGETS[name]])) }
  return { item, targets, acts }
}))

/** @param {Item} item @returns {Record<string, string>} */
const headersOf = (item) =>
  Object.fromEntries(Object.entries(item).map(([field, given]) => [HEADER[/** @type {Target} */ (field)], given]))

/** A request of HTTP for each operator; the targets that are not in its path go into headers. */
const REQUESTS = /** @type {Record<string, [string, string][]>} */ ({
  broadcast: [['POST', '/v1/documents/:guid/broadcast']],
  user: [['POST', '/v1/users/:uid/send']],
  device: [['POST', '/v1/devices/:device/send']],
  socket: [['POST', '/v1/sockets/:sid/send']],
  everyone: [['POST', '/v1/broadcast']],
  kick: [['DELETE', '/v1/users/:uid/connections'], ['DELETE', '/v1/sockets/:sid'], ['DELETE', '/v1/devices/:device']],
  revoke: [['POST', '/v1/documents/:guid/revoke']],
  restore: [['POST', '/v1/documents/:guid/restore'], ['POST', '/v1/users/:uid/restore']],
  close: [['DELETE', '/v1/documents/:guid/connections']],
  join: [['POST', '/v1/users/:uid/documents/:guid']],
  leave: [['DELETE', '/v1/users/:uid/documents/:guid']]
})

/** The operators as rpcs, and the fields of their requests. */
const RPCS = /** @type {Record<string, [string, Target[]][]>} */ ({
  broadcast: [['Broadcast', ['guid']]],
  user: [['SendToUser', ['uid']]],
  device: [['SendToDevice', ['uid', 'device']], ['SendToDevice', ['device']]],
  socket: [['SendToSocket', ['sid']]],
  everyone: [['SendToEveryone', []]],
  kick: [['KickUser', ['uid']], ['KickSocket', ['sid']], ['KickDevice', ['uid', 'device']]],
  revoke: [['Revoke', ['guid', 'uid']]],
  restore: [['Restore', ['guid', 'uid']], ['RestoreUser', ['uid']]],
  close: [['Close', ['guid']]],
  join: [['Join', ['guid', 'uid']]],
  leave: [['Leave', ['guid', 'uid']]]
})

const WITH_VALUE = new Set(['broadcast', 'user', 'device', 'socket', 'everyone'])
/** @param {string} operator */
const bytesOf = (operator) => operator === 'close' || operator === 'leave' ? Buffer.alloc(0) : Buffer.from('1')

const token = (/** @type {string} */ name) => `${name}-token-of-a-test`
const caller = (/** @type {(typeof CALLERS)[number]} */ { name, rights }) =>
  ({ name, tokens: [{ text: token(name) }], operators: ['*'], ...rights })

describe('an operator acts on its own targets, and they decide the right, in every way in', () => {
  const scope = fileScope()
  /** @type {Awaited<ReturnType<typeof startEmbedded>>} */
  let server
  before(async () => {
    const file = callersFile(/** @type {any} */ (scope), { callers: CALLERS.map(caller) })
    server = await startEmbedded(scope, { API_CALLERS_FILE: file.path, GRPC_PORT: '0' })
  })

  /**
   * @param {string} way
   * @param {(typeof CALLERS)[number]} caller
   * @param {(item: Item) => Promise<string | undefined>} publish the code of the refusal
   */
  async function check (way, { name, covers }, publish) {
    await Promise.all(CASES.map(async ({ item, targets, acts }) => {
      const code = await publish(item)
      const about = `${way}, ${name}: ${JSON.stringify(item)}`
      if (!acts) assert.match(String(code), /^(?:missing_target|bad_target|bad_header|forbidden)$/, about)
      else assert.equal(code, covers(targets) ? undefined : 'forbidden', about)
    }))
  }

  for (const given of CALLERS) {
    const authorization = `Bearer ${token(given.name)}`

    test(`HTTP, ${given.name}`, async () => {
      let sent = 0
      const each = CASES.flatMap((one) => REQUESTS[one.item.operator].map((request) => ({ ...one, request })))
      await Promise.all(each.map(async ({ item, targets, acts, request: [method, path] }) => {
        const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => /** @type {Target} */ (name))
        if (inPath.some((name) => !targets.includes(name))) return
        sent++
        const url = server.apiUrl +
          path.replace(/:(\w+)/g, (_, name) => encodeURIComponent(TARGETS[/** @type {Target} */ (name)]))
        const response = await fetch(url, {
          method,
          headers: { authorization, 'content-type': 'application/json', ...headersOf(item) },
          ...(WITH_VALUE.has(item.operator) && { body: '1' })
        })
        const { error } = /** @type {any} */ (await response.json())
        const about = `${method} ${path}, ${given.name}: ${JSON.stringify(item)}`
        // the path of a user's restore has no document
        const ownTargets = targets.every((name) => inPath.includes(name) || (name === 'uid' && /re(voke|store)$|devices/.test(path)))
        if (!acts || !ownTargets) assert.match(String(error?.code), /^(?:missing_target|bad_target|bad_header|forbidden)$/, about)
        else assert.equal(error?.code, given.covers(targets) ? undefined : 'forbidden', about)
      }))
      assert.equal(sent, 112)
    })

    test(`batch, ${given.name}`, () => check('batch', given, async (item) => {
      const value = bytesOf(item.operator).toString('base64')
      const { body } = await server.post('/v1/publish', { publications: [{ ...item, valueBase64: value }] }, { authorization })
      return (body.error ?? body.results[0].error)?.code
    }))

    test(`gRPC, ${given.name}`, async (t) => {
      const client = grpcClient(t, server.grpcPort(), token(given.name))
      const value = Buffer.from('1')
      await Promise.all(CASES.flatMap(({ item, targets }) => RPCS[item.operator].map(async ([rpc, fields]) => {
        if (fields.length !== targets.length || fields.some((name) => !targets.includes(name))) return
        const { inkcast } = await client.call(rpc, { ...item, ...(WITH_VALUE.has(item.operator) && { value }) })
        assert.equal(inkcast, given.covers(targets) ? undefined : 'forbidden', `${rpc}, ${given.name}`)
      })))
      const { results } = await client.call('PublishBatch', {
        publications: CASES.map(({ item }) => ({ ...item, value: bytesOf(item.operator) }))
      })
      // all publications of a document or none: the others get batch_refused, and are sent alone
      await check('PublishBatch', given, async (item) => {
        const { error } = results[CASES.findIndex((one) => one.item === item)]
        if (error?.code !== 'batch_refused') return error?.code
        const alone = await client.call('PublishBatch', { publications: [{ ...item, value: bytesOf(item.operator) }] })
        return alone.results[0].error?.code
      })
    })

    test(`PublishStream, ${given.name}`, async (t) => {
      const call = grpcClient(t, server.grpcPort(), token(given.name)).stream('PublishStream')
      /** @type {any[]} */
      const results = []
      const read = (async () => { for await (const message of call) results.push(...message.results) })()
      for (const { item } of CASES) call.write({ publications: [{ ...item, value: bytesOf(item.operator) }] })
      call.end()
      await read
      assert.equal(results.length, CASES.length)
      await check('PublishStream', given, async (item) =>
        results[CASES.findIndex((one) => one.item === item)].error?.code)
    })

    test(`the answer of a webhook, ${given.name}`, async (t) => {
      const { log } = recordingLog()
      const clock = manualClock()
      const metrics = createMetrics({ processMetrics: false })
      const { path } = callersFile(t, { callers: [{ name: 'webhook', operators: ['*'], ...given.rights }] })
      const settings = { tokens: [], callersFile: path }
      const callers = new Callers({ settings, production: false, log, metrics, clock, random: systemRandom })
      await callers.start()
      t.after(() => callers.stop())
      /** @type {import('../../../src/wire/publication.js').Publication[]} */
      const published = []
      const answers = createAnswers({
        ...callers.forWebhook(async (publication) => {
          published.push(checkPublication(publication, { maxBytes: 100 }))
          return { traceId: publication.traceId }
        }),
        log, metrics, clock, random: systemRandom
      })
      await check('webhook', given, async (item) => {
        const traceId = JSON.stringify(item)
        const publication = { ...item, traceId, valueBase64: bytesOf(item.operator).toString('base64') }
        await answers('batch', { text: JSON.stringify({ publish: [publication] }) }, AbortSignal.timeout(10_000))
        if (published.some((one) => one.traceId === traceId)) return undefined
        return 'forbidden'
      })
    })
  }

  test('Kafka', () => check('Kafka', CALLERS[0], async (item) => {
    const message = /** @type {import('../../../src/kafka/contract.js').KafkaRecord} */ ({
      key: null, value: bytesOf(item.operator), timestamp: '1700000000000', offset: '1', attributes: 0,
      headers: headersOf(item)
    })
    return route([message], { source: 'topic/0', maxBytes: 100, random: systemRandom }).refused[0]?.error.code
  }))
})
