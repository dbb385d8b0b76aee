import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { after, describe, test } from 'node:test'
import { planOf } from '../../../packages/load/plan.js'
import { runLoad } from '../../../packages/load/run.js'
import { commandFolder } from '../../helpers/command.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { startRelay } from '../../helpers/relay.js'
import { SECRET, signToken } from '../../helpers/tokens.js'

/**
 * Light clients of each protocol at a real gateway: one suite, whose faults each of them must find. A busy machine
 * stops processes for less time than a client has for an answer: a quarter of the timeout, half an interval of MQTT.
 */
const MQTT = 'mqtt://127.0.0.1:0'
const inkcast = await startEmbedded({ after }, {
  LISTENERS: `ws:/websocket/handshake,${MQTT}`, AUTH_JWT_SECRET: SECRET, AUTH_ALLOW_ANONYMOUS: 'true',
  NETWORK: '1000:1000:20000'
})
const port = Number(new URL(inkcast.url).port)
const heartbeat = { interval: 10_000, timeout: 20_000 }

/** ADMIN_PORT, whose processes have measured something since the last call. */
const admin = http.createServer(async ({ url = '' }, response) => {
  const status = { processes: [], samples: [{ at: performance.now(), values: { cpuSeconds: 0 } }] }
  response.end(url.startsWith('/metrics') ? await inkcast.metrics.registry.metrics() : JSON.stringify(status))
})
admin.listen(0, '127.0.0.1')
await once(admin, 'listening')
const adminUrl = `http://127.0.0.1:${/** @type {import('net').AddressInfo} */ (admin.address()).port}`
after(() => {
  admin.close()
  admin.closeAllConnections()
})

/** @typedef {import('../../../packages/load/plan.js').Plan} Plan */

const WS = { protocol: /** @type {const} */ ('ws'), port: () => port, path: '/websocket/handshake', receipts: true }
const MQTT_5 = { protocol: /** @type {const} */ ('mqtt'), port: () => inkcast.gateway.port(MQTT), receipts: false }
/**
 * @type {{ name: string, protocol: Plan['protocol'], port: () => number, path?: string, receipts: boolean,
 *   msgpack?: number, anonymous?: boolean }[]}
 */
const CLIENTS = [
  { name: 'Socket.IO', protocol: 'socketio', port: () => port, receipts: true },
  { name: 'plain WebSocket', ...WS },
  { name: 'plain WebSocket with msgpack', ...WS, msgpack: 100 },
  { name: 'MQTT with sessions', ...MQTT_5 },
  { name: 'MQTT of anonymous users', ...MQTT_5, anonymous: true }
]

/**
 * @param {import('node:test').TestContext} t
 * @param {typeof CLIENTS[number]} clients
 * @param {Partial<Plan>} plan
 * @param {object} [faults]
 * @param {(chunk: Buffer, client: import('node:net').Socket) => Buffer[]} [faults.pass] what arrives of bytes of the
 *   gateway
 * @param {(sample: import('../../../packages/load/samples.js').Sample) => boolean} [faults.cutsAfter] true: all
 *   connections are cut; the run ends when as many came again
 */
async function load (t, { protocol, port: portOf, path, msgpack, anonymous }, plan, { pass, cutsAfter } = {}) {
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  /** Connections after the cut. */
  let again = 0
  const ending = new AbortController()
  const line = await startRelay(portOf(), (client, upstream) => {
    sockets.add(client)
    if (cut && ++again === 10) ending.abort()
    client.pipe(upstream)
    upstream.on('data', (chunk) => { for (const bytes of pass?.(chunk, client) ?? [chunk]) client.write(bytes) })
    return () => { sockets.delete(client) }
  })
  t.after(() => line.stop())
  let cut = false
  return runLoad({
    plan: planOf('hold', { protocol, msgpack, connections: 10, ramp: 100, documents: 2, records: 20, ...plan }),
    processes: 1,
    target: { host: '127.0.0.1', port: line.port, secure: false, insecure: false, heartbeat, ...(path && { path }) },
    loopback: false,
    sources: [],
    tokenOf: async (index) =>
      anonymous ? undefined : signToken({ sub: `user-${index}`, exp: Math.floor(Date.now() / 1000) + 600 }),
    api: { url: inkcast.apiUrl, token: undefined },
    admin: { url: adminUrl, token: undefined },
    // the gateway counts the acknowledgements of a record when it has all of them, or at RECEIPT_TIMEOUT (10 s): a
    // client that left may owe one
    settle: 15_000,
    signal: ending.signal,
    onSample (sample) {
      if (cut || cutsAfter?.(sample) !== true) return
      cut = true
      for (const socket of sockets) socket.destroy()
    }
  })
}

for (const clients of CLIENTS) {
  describe(clients.name, () => {
    test('clients get everything once and in order, leave, come back, and expire', async (t) => {
      const { problems, published, summary } = await load(t, clients, {
        hold: 4, churn: 30, everyone: 1000, receipts: clients.receipts, silent: 4, activity: 20
      })
      assert.deepEqual(problems, [])
      assert.deepEqual(summary.errors, {})
      assert.ok(published.everyone > 0 && published.documents > 0, JSON.stringify(published))
      // half of the clients have a document open; those that left miss records to everyone
      const toDocuments = 5 * published.documents
      assert.ok(summary.deliveries > toDocuments && summary.deliveries <= toDocuments + 10 * published.everyone)
      if (clients.receipts) assert.ok(summary.acknowledged >= summary.deliveries - toDocuments)
      assert.ok(summary.left > 0 && summary.reconnects === summary.left, `${summary.left} left`)
      assert.deepEqual([summary.held, summary.expired], [10, 4])
      assert.ok(summary.latency.p50 !== null && summary.handshake.p50 !== null)
    })

    test('clients whose connections are cut continue, and a record that is lost or doubled is found', async (t) => {
      /** The client with both faults: when the second one is found, it has had the first. @type {unknown} */
      let unlucky
      let lost = false
      const { problems, summary } = await load(t, clients, { hold: 120 }, {
        pass (chunk, client) {
          // msgpack has other bytes
          if (lost || (unlucky ?? client) !== client || !chunk.includes('"n":')) return [chunk]
          lost = unlucky !== undefined
          unlucky = client
          return lost ? [ofOtherRun(chunk)] : [chunk, chunk]
        },
        cutsAfter: ({ deliveriesPerSecond, holes }) => clients.msgpack ? deliveriesPerSecond > 0 : holes > 0
      })
      // a chunk may have several records
      assert.match(problems.join(), clients.msgpack ? /^$/ : /^1 records of documents were skipped,\d+ deliveries came twice$/)
      assert.equal(summary.reconnects, 10)
      assert.equal(Object.values(summary.errors).reduce((sum, count) => sum + count, 0), 10)
    })
  })
}

/** @param {Buffer} chunk @returns {Buffer} its first record is none of the run */
function ofOtherRun (chunk) {
  const bytes = Buffer.from(chunk)
  bytes[bytes.indexOf('"run":"') + '"run":"'.length] = 'z'.charCodeAt(0)
  return bytes
}

describe('inkcast load', () => {
  const { run } = commandFolder({ after })
  for (const [args, message] of /** @type {[string[], RegExp][]} */ ([
    [['--protocol', 'ws'], /LISTENERS has no listener for --protocol ws: add ws:\/websocket\/handshake to it, or give --url/],
    [['--protocol', 'mqtt'], /LISTENERS has no listener for --protocol mqtt: add mqtt:\/\/0\.0\.0\.0:1883 to it/],
    [['--protocol', 'mqtt', '--url', 'http://localhost:1883'], /needs a URL that begins with mqtt:\/\/ or mqtts:\/\//],
    [['--protocol', 'mqtt', '--url', 'mqtt://localhost', '--scenario', 'churn'], /--protocol mqtt has no --receipts: .*Use --everyone/],
    [['--protocol', 'mqtt', '--url', 'mqtt://localhost', '--msgpack', '5'], /--protocol mqtt has no --msgpack: MQTT clients get JSON/],
    [['--protocol', 'ws', '--url', 'ws://localhost/devices', '--polling', '5'], /--protocol ws has no --polling/]
  ])) {
    test(`says what is missing: ${args.join(' ')}`, async () => {
      const { code, stderr } = await run(['load', '-n', '1', '--hold', '1s', ...args])
      assert.equal(code, 1)
      assert.match(stderr, message)
    })
  }

  for (const option of ['--json', '--report']) {
    test(`shows its figures before it says that ${option} cannot be written`, async () => {
      const { code, stdout, stderr } = await run([
        'load', '-n', '1', '--hold', '1s', '--url', inkcast.url, '--api', inkcast.apiUrl, '--admin', adminUrl,
        option, 'missing/load'
      ])
      assert.match(stdout, /no delivery and no receipt is missing/)
      assert.match(stderr, new RegExp(`^inkcast: ${option} missing/load: ENOENT: .*\n$`))
      assert.equal(code, 1)
    })
  }
})
