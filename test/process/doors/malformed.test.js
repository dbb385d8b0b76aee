import assert from 'node:assert/strict'
import { connect } from 'node:net'
import path from 'node:path'
import { describe, test } from 'node:test'
import { createAgent } from '../../../src/admin/agent.js'
import { createPrivateListener } from '../../../src/admin/private-listener.js'
import { systemClock } from '../../../src/common/clock.js'
import { createPeerListener } from '../../../src/peers/peer-listener.js'
import { createSessionListener } from '../../../src/peers/session-listener.js'
import { TIMES } from '../../../src/process/socket-times.js'
import { createMetrics } from '../../../src/metrics/metrics.js'
import { startAdmin } from '../../helpers/admin.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { fileScope } from '../../helpers/file-scope.js'
import { malformedRequests, sendAll } from '../../helpers/malformed.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { makeDirectory, removeDirectory } from '../../services/directory.js'

/** @typedef {import('node:net').NetConnectOpts} Address */

const REQUESTS = malformedRequests(2000)
/** Ports that do not speak HTTP/1. */
const OTHERS = ['gRPC', 'the load agent']
const scope = fileScope()
const { log, lines } = recordingLog()
const metrics = createMetrics({ processMetrics: false })
const directory = makeDirectory('malformed')
scope.after(() => removeDirectory(directory))
const at = (/** @type {number} */ port) => ({ host: '127.0.0.1', port })
const portOf = (/** @type {string} */ url) => at(Number(new URL(url).port))

/** @param {{ start: () => unknown, stop: () => unknown }} part */
async function started (part) {
  await part.start()
  scope.after(() => part.stop())
}

const development = await startEmbedded(scope, { GRPC_PORT: '0' }, log)
const production = await startEmbedded(scope, {
  NODE_ENV: 'production', HOST: '127.0.0.1', AUTH_ALLOW_ANONYMOUS: 'true', API_TOKENS: 'test:0123456789abcdef',
  COMPRESS_FROM: '1024', LOG_LEVEL: 'silent'
}, log)
const { engine } = development.gateway
const sessions = path.join(directory, 'sessions')
await started(createSessionListener({
  path: sessions, engine, secrets: () => ['secret'], times: TIMES, metrics, log, clock: systemClock
}))
const control = path.join(directory, 'control')
await started(createPrivateListener({ path: control, status: development.status, log, clock: systemClock }))
const peers = createPeerListener({ address: { host: '127.0.0.1', ports: [0] }, metrics, log, clock: systemClock })
await started(peers)
peers.serve(engine, () => ['secret'])
const agent = createAgent({
  settings: { host: '127.0.0.1', agentPort: 0 }, capacity: 1,
  processes: { read: async () => ({ processes: [], reasons: [] }) }, log, clock: systemClock
})
await started(agent)

/** @type {Record<string, Address>} */
const LISTENERS = {
  'the gateway': portOf(development.url),
  'the gateway in production, with compression': portOf(production.url),
  'the api': portOf(development.apiUrl),
  'the api with tokens': portOf(production.apiUrl),
  gRPC: at(development.grpcPort()),
  'the admin port': portOf((await startAdmin(scope)).url),
  'the private socket': { path: control },
  'the socket for requests of other workers': { path: sessions },
  'the listener for other machines': at(peers.port()),
  'the load agent': at(agent.port())
}

describe('2,000 malformed requests', () => {
  for (const [name, address] of Object.entries(LISTENERS)) {
    test(`are each answered or closed by ${name}, which goes on`, async (t) => {
      const before = lines.length
      const answers = await sendAll(address, REQUESTS)
      t.diagnostic(JSON.stringify(answers))
      assert.deepEqual(lines.slice(before).filter(({ level }) => level === 'error' || level === 'fatal'), [])
      if (OTHERS.includes(name)) return
      assert.equal(answers.other, undefined, 'no answer that is not HTTP')
      assert.ok(answers[400] > 500, 'what is no HTTP is 400')
      const alive = connect(/** @type {any} */ (address)).setEncoding('latin1')
      alive.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
      let text = ''
      for await (const chunk of alive) text += chunk
      assert.match(text, /^HTTP\/1\.1 \d{3} /)
    })
  }
})
