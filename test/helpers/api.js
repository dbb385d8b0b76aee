import { systemRandom } from '../../src/base/common/random.js'
import { Callers } from '../../src/services/api/callers/callers.js'
import { HttpApi } from '../../src/services/api/http/server.js'
import { createRedisRequests } from '../../src/services/api/idempotency/redis-requests.js'
import { createPublish } from '../../src/services/api/publish.js'
import { createPublishLane } from '../../src/services/api/publish-lane.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { countedBy } from './counted.js'
import { manualClock } from './manual-clock.js'
import { withRealTimers } from './real-timers.js'
import { recordingLog } from './recording-log.js'
import { storeRedis } from './store-redis.js'

/** @typedef {import('../../src/wire/publication.js').Publication} Publication */
/** @typedef {import('../../src/services/api/operations/operation.js').Backend} Backend */

/**
 * Takes one publication.
 * @typedef {(publication: import('../../src/wire/publication.js').Publication) =>
 *   Promise<import('../../src/wire/position.js').Position | null | undefined | void>} OneSink
 */

/**
 * The HTTP api on a port of its own, with a sink that records publications and a scripted bus.
 *
 * @param {import('node:test').TestContext} t stops it
 * @param {object} [options]
 * @param {number} [options.port]
 * @param {string[]} [options.tokens]
 * @param {string} [options.callersFile]
 * @param {number} [options.maxRecordBytes]
 * @param {OneSink} [options.sink]
 * @param {Backend['bus']} [options.bus]
 * @param {Partial<Backend['sessions']>} [options.sessions]
 * @param {import('../../src/watch/overview/contract.js').ProcessReport[]} [options.reports]
 * @param {import('../../src/services/api/http/server.js').Parts['certificate']} [options.certificate]
 * @param {ConstructorParameters<typeof HttpApi>[2]} [options.times]
 */
export async function startApi (
  t,
  {
    port = 0, tokens = [], callersFile, maxRecordBytes = 1000, sink = async () => {}, bus, sessions, reports = [],
    certificate, times
  } = {}
) {
  /** @type {Publication[]} */
  const published = []
  const clock = withRealTimers(manualClock())
  const { log, lines } = recordingLog()
  const metrics = createMetrics({ processMetrics: false })
  const limits = { maxRecordBytes }
  const callers = new Callers({
    settings: { tokens, callersFile }, production: false, log, metrics, clock, reloadEvery: 20, random: systemRandom
  })
  await callers.start()
  t.after(() => callers.stop())
  /** @type {import('../../src/services/api/publish.js').Sink} */
  const takeAll = (publications) => Promise.all(publications.map(async (publication) => {
    published.push(publication)
    return { position: await sink(publication) ?? null }
  }))
  const { redis } = await storeRedis(t, { clock })
  const requests = createRedisRequests({ redis, clock, random: systemRandom })
  const api = new HttpApi(
    { log, metrics, clock, random: systemRandom },
    {
      settings: { host: '127.0.0.1', port },
      limits,
      callers,
      backend: {
        publish: createPublish({ limits, requests, sink: takeAll }),
        publishLane: createPublishLane({ requests, sink: takeAll }),
        bus: bus ?? {
          positions: async (guids) => guids.map(() => null),
          history: () => Promise.reject(new Error('no history in this test')),
          cut: async () => null
        },
        presence: { page: async () => ({ version: 0, count: 0, countOnly: false, members: [] }) },
        sessions: {
          sessions: async () => [], lastSeen: async () => null, session: async () => null, documents: async () => [],
          ...sessions
        },
        overview: { read: async () => [...reports] }
      },
      certificate
    },
    times
  )
  await api.start()
  t.after(() => api.stop())
  const url = `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${api.port()}`

  return {
    api, callers, clock, lines, metrics, published, url,

    /**
     * @param {string} method
     * @param {string} path
     * @param {{ body?: string | Uint8Array, headers?: Record<string, string> }} [options] a string is sent as JSON
     *   unless headers say otherwise
     */
    async call (method, path, { body, headers = {} } = {}) {
      const sent = typeof body === 'string' ? { 'content-type': 'application/json', ...headers } : headers
      const response = await fetch(url + path, { method, body: /** @type {string} */ (body), headers: sent })
      const text = await response.text()
      return {
        status: response.status,
        headers: response.headers,
        text,
        body: text === '' ? undefined : JSON.parse(text)
      }
    },

    /** @returns {Promise<Record<string, number>>} requests by `operation status` */
    counted: () => countedBy(metrics.api_requests)
  }
}
