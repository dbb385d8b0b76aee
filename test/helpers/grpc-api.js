import { once } from 'node:events'
import { connect } from 'node:http2'
import { loadSync } from '@grpc/proto-loader'
import { systemRandom } from '../../src/base/common/random.js'
import { Callers } from '../../src/services/api/callers/callers.js'
import { PROTO } from '../../src/services/api/grpc/rpcs.js'
import { GrpcApi } from '../../src/services/api/grpc/server.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { manualClock } from './manual-clock.js'
import { withRealTimers } from './real-timers.js'
import { recordingLog } from './recording-log.js'

/** @type {any} */
export const { 'inkcast.v1.Gateway': METHODS } = loadSync(PROTO, { longs: Number })

/**
 * The gRPC api alone, with a clock that the test advances by `pass`.
 *
 * @param {import('node:test').TestContext} t
 * @param {object} [options]
 * @param {string[]} [options.tokens]
 * @param {string} [options.callersFile]
 * @param {import('../../src/services/api/publish-lane.js').PublishLane} [options.publishLane]
 * @param {Record<string, any>} [options.services]
 * @param {import('../../src/services/api/grpc/server.js').Parts['openEvents']} [options.openEvents]
 * @param {import('../../src/services/api/grpc/server.js').Parts['certificate']} [options.certificate]
 * @param {ConstructorParameters<typeof GrpcApi>[2]} [options.times]
 */
export async function startGrpcApi (t, {
  tokens = [], callersFile, publishLane = async (entries) => entries.map((entry) => entry instanceof Error
    ? entry
    : { traceId: 't' }), services = {}, openEvents = () => ({ async start () {}, async stop () {} }), certificate, times
} = {}) {
  const clock = manualClock()
  const timers = withRealTimers(clock)
  const { log } = recordingLog()
  const metrics = createMetrics({ processMetrics: false })
  const callers = new Callers({
    settings: { tokens, callersFile }, production: false, log, metrics, clock: timers, reloadEvery: 20,
    random: systemRandom
  })
  await callers.start()
  t.after(() => callers.stop())
  // the test ends what has used up its time
  const api = new GrpcApi({ log, metrics, clock: { ...timers, sleep: clock.sleep }, random: systemRandom }, {
    settings: { host: '127.0.0.1', grpcPort: 0 },
    limits: { maxRecordBytes: 2 ** 20 },
    callers,
    backend: /** @type {any} */ ({ publishLane, ...services }),
    openEvents, certificate
  }, { stop: 1000, ...times })
  await api.start()
  t.after(() => api.stop())
  return {
    api, callers, clock, metrics,
    port: api.port(),
    /** @param {number} ms */
    async pass (ms) {
      for (let left = ms; left > 0; left -= 1000) {
        clock.advance(Math.min(1000, left))
        // the last bytes arrive, and answers to pings do, too
        await new Promise((resolve) => { setTimeout(resolve, 2) })
      }
    }
  }
}

/**
 * A client that speaks HTTP/2 itself, so that it can do what no library of gRPC does.
 *
 * @param {import('node:test').TestContext} t
 * @param {number} port
 * @param {object} [options]
 * @param {string} [options.token]
 * @param {import('node:http2').Settings} [options.settings]
 */
export function rawGrpc (t, port, { token, settings } = {}) {
  const session = connect(`http://127.0.0.1:${port}`, { settings, maxSessionMemory: 1000 })
  session.on('error', () => {})
  t.after(() => session.destroy())
  return {
    session,
    ended: once(session, 'close'),
    /**
     * @param {string} path
     * @param {import('node:http2').OutgoingHttpHeaders} [headers]
     */
    call (path, headers = {}) {
      const stream = session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
        ...token === undefined ? {} : { authorization: `Bearer ${token}` },
        ...headers
      })
      stream.on('error', () => {})
      /** @type {Promise<{ status: number, code: string, message: string, reset: number }>} */
      const ended = new Promise((resolve) => {
        /** @type {any} */
        let last = {}
        stream.on('response', (given) => { last = { ...last, ...given } })
        stream.on('trailers', (given) => { last = { ...last, ...given } })
        stream.on('close', () => resolve({
          status: Number(last['grpc-status'] ?? NaN), code: last['inkcast-code'], message: last['grpc-message'],
          reset: stream.rstCode ?? 0
        }))
      })
      return { stream, ended }
    }
  }
}

/** @param {Buffer} bytes @param {number} [claimed] @returns {Buffer} a message as it is on the wire */
export function framed (bytes, claimed = bytes.length) {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(claimed, 1)
  return Buffer.concat([head, bytes])
}
