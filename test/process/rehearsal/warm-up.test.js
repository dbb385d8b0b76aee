import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { systemClock as clock } from '../../../src/base/common/clock.js'
import { systemRandom as random } from '../../../src/base/common/random.js'
import { certificate } from '../../helpers/balancer.js'
import { holdTime } from '../../helpers/held-time.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'
import { loadConfig } from '../../../src/config/load.js'
import { loadDoors } from '../../../src/gateway/doors.js'
import { openSandbox } from '../../../src/gateway/rehearsal/sandbox.js'
import { makeHandshakes, QUICK, warmUp } from '../../../src/gateway/rehearsal/warm-up.js'
import { createNullRedis } from '../../../src/gateway/rehearsal/null-redis.js'
import { Takeovers } from '../../../src/gateway/takeovers.js'
import { RedisDevices } from '../../../src/people/devices/redis-devices.js'
import { createRedisParts, createWorkerSessions } from '../../../src/gateway/redis-parts.js'

const PRODUCTION = {
  NODE_ENV: 'production',
  REDIS_URL: 'redis://127.0.0.1:1',
  AUTH_JWT_SECRET: 'x'.repeat(40),
  API_TOKENS: 'name:0123456789abcdef',
  ALLOWED_ORIGINS: 'https://example.com'
}
const EXTENT = { handshakes: 100, time: 600_000 }
/** A busy machine may stop the process for seconds: a response is late only after a minute. @type {typeof clock} */
const patient = { ...clock, timer: (ms, run) => clock.timer(12 * ms, run) }
const worker = { number: 5, incarnation: 1 }

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<{ url: string, connections: number }>} a port that accepts connections and sends nothing
 */
async function startSilent (t) {
  /** @type {Set<net.Socket>} */
  const sockets = new Set()
  const server = net.createServer((socket) => { sockets.add(socket.on('error', () => {})) }).listen(0, '127.0.0.1')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await once(server, 'listening')
  const { port } = /** @type {net.AddressInfo} */ (server.address())
  return { url: `redis://127.0.0.1:${port}`, get connections () { return sockets.size } }
}

const rules = { historyOf: () => ({ size: 10, ttl: 60 }) }

/** @param {Parameters<typeof createRedisParts>[1] & Omit<Parameters<typeof createWorkerSessions>[0], 'store'>
 *   & import('../../../src/observe/services.js').Services} own */
function partsOf (own) {
  const shared = createRedisParts(own, own)
  return { shared, sessions: createWorkerSessions({ ...own, store: shared.sessionStore }) }
}

/**
 * @param {import('../../../src/config/load.js').Config} config
 * @returns {import('../../../src/gateway/rehearsal/sandbox.js').CreateParts}
 */
const nothingFor = (config) => (own) => partsOf({
  ...own, redis: createNullRedis({ urls: config.redis.urls, log: own.log, clock, random }), config, rules, worker
})

describe('the warm-up of a worker', () => {
  for (const [name, env] of Object.entries({
    'over TCP': {},
    'over TLS': { TLS_FILES: `cert:${certificate.certFile},key:${certificate.keyFile}` }
  })) {
    test(`runs the code of its clients ${name}, sends nothing to Redis and leaves nothing behind`, async (t) => {
      const redis = await startSilent(t)
      const config = loadConfig({ env: { ...PRODUCTION, ...env, REDIS_URL: redis.url } })
      const { log, lines } = recordingLog()
      /** @type {Record<string, number>} */
      const calls = { users: 0, hold: 0, hset: 0 }
      const count = await warmUp({
        config,
        extent: EXTENT,
        createParts (own) {
          const nothing = createNullRedis({ urls: config.redis.urls, log: own.log, clock, random })
          const client = /** @type {any} */ (nothing.client)
          const names = Object.fromEntries(
            ['users', 'hold'].map((script) => [client.scriptsSet[`inkcast_${script}`].sha, script])
          )
          const send = client.sendCommand
          client.sendCommand = (/** @type {any} */ command) => {
            const name = names[command.args[0]] ?? command.name
            if (name in calls) calls[name]++
            return send(command)
          }
          return partsOf({ ...own, redis: nothing, config, rules, worker })
        },
        log,
        clock: patient,
        random
      })
      assert.equal(count, EXTENT.handshakes)
      assert.deepEqual(lines, [])
      assert.deepEqual(
        Object.entries(calls).filter(([, times]) => !(times > 0)),
        [],
        'state was not written to Redis'
      )
      assert.equal(redis.connections, 0)
      await waitFor(
        () => process.getActiveResourcesInfo().filter((resource) => /TCP|TLS|Immediate/.test(resource)).length === 1,
        { message: () => process.getActiveResourcesInfo() }
      )
    })
  }

  test('has clients of the listeners for devices, as Redis sees them as well', async () => {
    const config = loadConfig({ env: {
      ...PRODUCTION, LISTENERS: 'ws:/websocket/handshake,mqtt://127.0.0.1:1883,mqtt+ws:/mqtt,socketio://127.0.0.1:3100'
    } })
    const { log, lines } = recordingLog()
    const classes = await loadDoors(config.gateway.listeners)
    /** @type {Record<string, number>} */
    const admitted = {}
    let claims = 0
    const count = await warmUp({
      config,
      extent: EXTENT,
      createParts (own) {
        const redis = createNullRedis({ urls: config.redis.urls, log: own.log, clock, random })
        const { metrics } = own
        const note = metrics.handshakes.count.bind(metrics.handshakes)
        metrics.handshakes.count = (result, listener) => {
          admitted[`${listener} ${result}`] = (admitted[`${listener} ${result}`] ?? 0) + 1
          note(result, listener)
        }
        const devices = new RedisDevices({ redis, clock })
        const claim = devices.claim.bind(devices)
        devices.claim = async (...args) => {
          const answer = await claim(...args)
          claims++
          return answer
        }
        return {
          ...partsOf({ ...own, redis, config, rules, worker }),
          devices: {
            classes,
            listen: ({ bus, directory, connectionListeners }) =>
              connectionListeners.add(new Takeovers(own, { devices, bus, directory, workerNumber: 5 }))
          }
        }
      },
      log,
      clock: patient,
      random
    })
    assert.deepEqual([count, lines], [EXTENT.handshakes, []])
    assert.deepEqual(admitted, {
      'socketio ok': 25, 'ws:/websocket/handshake ok': 25, 'mqtt://127.0.0.1:1883 ok': 25, 'mqtt+ws:/mqtt ok': 25
    })
    assert.equal(claims, 75)
  })

  test('queues some handshakes, as in a storm of clients', async (t) => {
    const config = loadConfig({ env: PRODUCTION })
    const sandbox = await openSandbox(config, { clock, random }, nothingFor(config))
    t.after(() => sandbox.close())
    const limit = sandbox.gateway.engine.handshakeLimit
    let waited = 0
    const enter = limit.enter.bind(limit)
    limit.enter = (socket, res, go, req) => {
      let entering = true
      enter(socket, res, () => {
        if (!entering) waited++
        go()
      }, req)
      entering = false
    }
    assert.equal(await makeHandshakes([sandbox], { ...EXTENT, handshakes: 500 }, { clock: patient }), 500)
    assert.ok(waited > 0)
  })

  test('respects its time limit', async (t) => {
    const config = loadConfig({ env: PRODUCTION })
    const { clock: held, pass } = holdTime(t)
    let admitted = 0
    const count = await warmUp({
      config,
      extent: { handshakes: 1_000_000, time: 200 },
      createParts (own) {
        const { handshakes } = own.metrics
        const note = handshakes.count.bind(handshakes)
        handshakes.count = (...args) => {
          note(...args)
          if (++admitted === 200) pass(200)
        }
        return nothingFor(config)(own)
      },
      log: recordingLog().log,
      clock: { ...patient, monotonic: held.monotonic },
      random
    })
    assert.ok(count >= 200 && count < 500, `${count} handshakes`)
  })

  test('that fails does not prevent the start of a worker, and logs the reason', async () => {
    const { log, lines } = recordingLog()
    const config = loadConfig({ env: { ...PRODUCTION, REDIS_URL: 'redis://127.0.0.1:1' } })
    let sandboxes = 0
    /** @type {import('../../../src/gateway/rehearsal/sandbox.js').CreateParts} */
    const partsForOne = (own) => {
      if (++sandboxes === 2) throw new Error('no parts')
      return nothingFor(config)(own)
    }
    assert.equal(await warmUp({ config, extent: EXTENT, createParts: partsForOne, log, clock, random }), 0)
    const refusing = (/** @type {import('../../../src/base/common/log.js').Log} */ silent) => {
      const redis = createNullRedis({ urls: config.redis.urls, log: silent, clock, random })
      Object.assign(redis.client, { sendCommand: async () => { throw new Error('refused') } })
      return redis
    }
    assert.equal(
      await warmUp({
        config,
        extent: EXTENT,
        createParts: (own) => partsOf({ ...own, redis: refusing(own.log), config, rules, worker }),
        log,
        clock,
        random
      }),
      0
    )
    assert.deepEqual(lines.map(({ level }) => level), ['debug', 'debug'])
    for (const [i, reason] of ['no parts', 'another answer than 40{'].entries())
      assert.match(lines[i].text, new RegExp(`${reason}.*the worker was not warmed up$`))
    await waitFor(() => !process.getActiveResourcesInfo().some((resource) => /TCP/.test(resource)), {
      message: () => process.getActiveResourcesInfo()
    })
  })

  test('reports the error when no client is admitted', async (t) => {
    const config = loadConfig({ env: PRODUCTION })
    const sandbox = await openSandbox(config, { clock, random }, nothingFor(config))
    t.after(() => sandbox.close())
    const stranger = { dial: sandbox.dial, secret: 'x'.repeat(32) }
    await assert.rejects(makeHandshakes([stranger], QUICK, { clock }), { message: 'another answer than 40{' })
  })

  test('gives up without a response', async (t) => {
    const { url } = await startSilent(t)
    const dial = () => net.connect({ host: '127.0.0.1', port: Number(new URL(url).port) })
    await assert.rejects(makeHandshakes([{ dial, secret: 'x'.repeat(32) }], EXTENT, { clock, patience: 100 }), {
      message: 'no answer within 100 ms'
    })
  })
})

/** Prints whether a loop that was compiled after the warm-up is still compiled after a collection of metrics. */
const COMPILED = `
  import { createMetrics } from './src/observe/metrics/metrics.js'
  import { warmUp } from './src/gateway/rehearsal/warm-up.js'
  import { systemClock as clock } from './src/base/common/clock.js'
  import { systemRandom as random } from './src/base/common/random.js'
  import { loadConfig } from './src/config/load.js'
  import { createLog } from './src/base/common/log.js'

  const OPTIMIZED = 16 // of V8's OptimizationStatus
  const sum = (list) => { let total = 0; for (const each of list) total += each; return total }
  await warmUp({
    config: loadConfig({ env: {} }),
    extent: { handshakes: 0, time: 0 },
    createParts: () => ({}),
    log: createLog({ level: 'silent', pretty: false, role: 'test' }),
    clock,
    random
  })
  ;%PrepareFunctionForOptimization(sum)
  sum([1, 2]), sum([1, 2])
  ;%OptimizeFunctionOnNextCall(sum)
  sum([1, 2])
  const before = %GetOptimizationStatus(sum) & OPTIMIZED
  await createMetrics().collect()
  const after = %GetOptimizationStatus(sum) & OPTIMIZED
  console.log(JSON.stringify({ before, after }))
  process.exit()
`

test('code that was compiled in the warm-up is kept when metrics are collected', async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath, ['--allow-natives-syntax', '--input-type=module', '--eval', COMPILED],
    { cwd: fileURLToPath(new URL('../../..', import.meta.url)) }
  )
  assert.deepEqual(JSON.parse(stdout), { before: 16, after: 16 })
})
