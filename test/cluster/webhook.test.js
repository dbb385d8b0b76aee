import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { startClient } from '../helpers/inkcast-client.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { childrenOf } from '../helpers/processes.js'
import { seededRandom } from '../helpers/random.js'
import { waitFor } from '../helpers/wait.js'
import { SECRET, startWebhookService } from '../helpers/webhook-service.js'
import { freePort } from '../services/ports.js'

const REDIS_URL = await ownRedisUrl(fileScope())

/** Messages per second and their number; WEBHOOK_SECONDS for a longer run. */
const RATE = Number(process.env.WEBHOOK_RATE ?? 400)
const SECONDS = Number(process.env.WEBHOOK_SECONDS ?? 20)
/** How long the service is down, s. */
const OUTAGE = Number(process.env.WEBHOOK_OUTAGE ?? 5)
const CLIENTS = 20
const DOCUMENTS = 40

test(
  `no message is lost or out of order when the service is down for ${OUTAGE} s, answers 500 to one in ten, and the sending process is killed`,
  { timeout: (SECONDS + OUTAGE + 120) * 1000 },
  async (t) => {
    const random = seededRandom(18)
    const port = await freePort()
    let service = await startWebhookService(t, { answer, port })
    function answer () { return random() < 0.1 ? { status: 500 } : {} }
    const cluster = await startCluster(t, {
      WORKERS: '2', REDIS_URL, UPLINK_URL: service.url, UPLINK_SECRETS: SECRET, MAX_EVENTS_PER_SECOND: '10000'
    })
    const clients = Array.from({ length: CLIENTS }, () => startClient(t, cluster.url))
    const docs = await Promise.all(Array.from({ length: DOCUMENTS }, (_, i) =>
      /** @type {any} */ (clients[i % CLIENTS]).open(`doc-${i}`)))

    /** Messages that the gateway has acknowledged, by document. @type {number[][]} */
    const acknowledged = docs.map(() => [])
    let refused = 0
    /** @param {number} d */
    async function write (d) {
      const pause = DOCUMENTS / RATE * 1000
      for (let i = 0, next = performance.now(); i < RATE * SECONDS / DOCUMENTS; i++, next += pause) {
        const sent = docs[d].send(i).then(() => acknowledged[d].push(i), () => { refused++ })
        // one at a time: the order of those that are refused and sent again would be the client's
        await sent
        await delay(Math.max(0, next - performance.now()))
      }
    }
    /** @type {any[]} */
    const received = []
    async function breakThings () {
      const part = SECONDS * 1000 / 5
      await delay(part)
      const before = service
      await before.stop()
      received.push(...before.events)
      await delay(OUTAGE * 1000)
      service = await startWebhookService(t, { answer, port })
      for (let i = 0; i < 2; i++) {
        await delay(part)
        const [api] = (await childrenOf(cluster.pid)).filter(({ role }) => role === 'api')
        process.kill(api.pid, 'SIGKILL')
      }
    }
    await Promise.all([breakThings(), ...docs.map((_, d) => write(d))])

    const all = () => [...received, ...service.events].filter(({ operator }) => operator === 'message')
    const expected = acknowledged.reduce((sum, { length }) => sum + length, 0)
    const known = () => new Set(all().map(({ id }) => id)).size
    await waitFor(() => known() >= expected, { timeout: 60_000, message: () => `${known()} of ${expected}` })
    /** @type {Map<string, number[]>} each event once, where it came first */
    const firsts = new Map(docs.map((_, d) => [`doc-${d}`, []]))
    const seen = new Set()
    for (const { id, guid, data } of all()) {
      if (seen.has(id)) continue
      seen.add(id)
      firsts.get(guid)?.push(data)
    }
    for (const [d, sent] of acknowledged.entries()) {
      const got = /** @type {number[]} */ (firsts.get(`doc-${d}`))
      assert.deepEqual(got, [...got].sort((a, b) => a - b), `doc-${d} in order`)
      assert.deepEqual(sent.filter((i) => !got.includes(i)), [], `doc-${d} complete`)
    }
    t.diagnostic(`${expected} acknowledged, ${refused} refused, ${all().length - seen.size} twice, of ${RATE}/s`)
    assert.deepEqual([...service.wrong], [])
    assert.ok(expected > RATE * SECONDS * 0.5, `${expected} acknowledged`)
  }
)
