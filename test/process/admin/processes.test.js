import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { systemClock } from '../../../src/base/common/clock.js'
import { askPrivately, createPrivateListener } from '../../../src/operate/admin/private-listener.js'
import { createProcesses } from '../../../src/operate/admin/processes.js'
import { AdminServer } from '../../../src/operate/admin/server.js'
import { readingOf } from '../../../src/operate/admin/figures/reading.js'
import { createStatus } from '../../../src/operate/admin/status.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'
import { makeDirectory, removeDirectory } from '../../services/directory.js'

/** @typedef {import('../../../src/operate/admin/status.js').ProcessStatus} ProcessStatus */

const { log } = recordingLog()

/**
 * A run directory, and processes that listen in it.
 * @param {import('node:test').TestContext} t
 */
function machine (t) {
  const directory = makeDirectory('run')
  t.after(() => removeDirectory(directory))
  return {
    directory,
    /** @param {string} name role and slot @param {number} pid @param {() => Promise<string[]>} notReady */
    async process (name, pid, notReady) {
      const status = /** @type {any} */ ({ read: async () => ({ name, notReady: await notReady(), metrics: [] }) })
      const listener = createPrivateListener({ path: path.join(directory, `${name}.${pid}.sock`), status, log, clock: systemClock })
      t.after(() => listener.stop())
      await listener.start()
      return listener
    }
  }
}

const ready = async () => []

test('an api that ends during a request, because its successor is ready, leaves the machine ready', async (t) => {
  const { directory, process: add } = machine(t)
  const old = await add('api-0', 1, async () => {
    await add('api-0', 2, ready)
    await old.stop()
    return []
  })
  const { reasons, processes } = await createProcesses({ directory, expected: { api: 1 } }).read()
  assert.deepEqual(reasons, [])
  assert.deepEqual(processes, [{ id: 'api-0.2.sock', name: 'api-0', notReady: [], metrics: [] }], 'the new one, once')
})

test('an api that reports its stop, because its successor is ready, leaves the machine ready', async (t) => {
  const { directory, process: add } = machine(t)
  await add('api-0', 1, async () => {
    await add('api-0', 2, ready)
    return ['stopping']
  })
  assert.deepEqual((await createProcesses({ directory, expected: { api: 1 } }).read()).reasons, [])
})

test('a gateway that answered before it was ready, and the old one after that, leave the machine ready', async (t) => {
  const { directory, process: add } = machine(t)
  let starting = true
  await add('gateway-0', 1, async () => ['stopping'])
  await add('gateway-0', 2, async () => {
    const answer = starting ? ['starting'] : []
    starting = false
    return answer
  })
  assert.deepEqual((await createProcesses({ directory, expected: { gateway: 1 } }).read()).reasons, [])
})

test('one worker that starts does not stand for another one that stops: they are asked once', async (t) => {
  const { directory, process: add } = machine(t)
  let asked = 0
  await add('gateway-0', 1, async () => ['stopping'])
  await add('gateway-1', 2, async () => {
    asked++
    return ['starting']
  })
  const { reasons } = await createProcesses({ directory, expected: { gateway: 2 } }).read()
  assert.deepEqual([reasons[0], asked], ['gateway: 0 of 2 ready', 1])
})

test('a process is asked only for the metrics that are wanted', async (t) => {
  const { directory } = machine(t)
  const metrics = createMetrics({ role: 'gateway' })
  const status = createStatus({ name: 'gateway-0', metrics })
  metrics.connections.set(3)
  const listener = createPrivateListener({ path: path.join(directory, 'gateway-0.1.sock'), status, log, clock: systemClock })
  t.after(() => listener.stop())
  await listener.start()
  const processes = createProcesses({ directory, expected: { gateway: 1 } })
  const namesOf = async (/** @type {import('../../../src/operate/admin/private-listener.js').Wanted} */ wanted) =>
    (await processes.read(wanted)).processes[0].metrics.map(({ name }) => name)
  assert.deepEqual(await namesOf('none'), [])
  const [figures, all] = [await namesOf('figures'), await namesOf('all')]
  assert.ok(figures.includes('inkcast_connections') && figures.length < all.length / 3, `${figures.length} of ${all.length}`)
  const { processes: [values] } = await processes.read('figures')
  const { startedAt, cpuSeconds, connections } = /** @type {any} */ (readingOf([values], 0).processes.get('gateway-0'))
  assert.ok(startedAt > 0 && cpuSeconds > 0, 'prom-client has set them')
  assert.equal(connections, 3)
})

test('a process that is known to hang is not waited for', async (t) => {
  const { directory, process: add } = machine(t)
  await add('gateway-0', 1, ready)
  await add('gateway-1', 2, () => new Promise(() => {}))
  const processes = createProcesses({ directory, expected: { gateway: 2 }, isHung: (pid) => pid === 2 })
  // after a timeout the reason would name it
  assert.deepEqual((await processes.read()).reasons, ['gateway: 1 of 2 ready', 'gateway-1: does not answer'])
})

test('a process that never answers is waited for until the timeout', async (t) => {
  const { directory, process: add } = machine(t)
  await add('gateway-0', 1, () => new Promise(() => {}))
  // without an end, the test would wait until it is stopped
  await assert.rejects(askPrivately(path.join(directory, 'gateway-0.1.sock'), '/status', { timeout: 50 }), /no answer within 50 ms/)
})

test('an answer that came while the asking process did not run is read, although its time is over', async (t) => {
  const socket = path.join(machine(t).directory, 'gateway-0.1.sock')
  const state = new Int32Array(new SharedArrayBuffer(4))
  const [asked, goOn, answered] = [1, 2, 3]
  const worker = new Worker(`
    const { workerData: { socket, state } } = require('node:worker_threads')
    require('node:http').createServer((req, res) => {
      Atomics.store(state, 0, ${asked})
      Atomics.wait(state, 0, ${asked})
      res.end('{"text":"' + 'x'.repeat(50_000) + '"}', () => Atomics.store(state, 0, ${answered}))
    }).listen(socket, () => Atomics.store(state, 0, 0))
  `, { eval: true, workerData: { socket, state: state.fill(-1) } })
  t.after(() => worker.terminate())
  await waitFor(() => state[0] === 0)
  // again if the machine stops this process before the question has left
  await waitFor(async () => {
    state[0] = 0
    const answer = askPrivately(socket, '/status', { timeout: 100 })
    answer.catch(() => {})
    await waitFor(() => state[0] === asked)
    // Node runs its timers next
    await new Promise((resolve) => { setImmediate(resolve) })
    Atomics.store(state, 0, goOn)
    Atomics.notify(state, 0)
    const end = performance.now() + 150
    while (performance.now() < end || Atomics.load(state, 0) !== answered);
    return (await answer).text.length === 50_000
  })
})

test('an api that ends without a successor is reported as missing', async (t) => {
  const { directory, process: add } = machine(t)
  const old = await add('api-0', 1, async () => {
    await old.stop()
    return []
  })
  assert.deepEqual((await createProcesses({ directory, expected: { api: 1 } }).read()).reasons, ['api: 0 of 1 ready'])
})

test(
  'while processes start and end all the time, requests are still answered',
  { timeout: 15_000 },
  async (t) => {
    const { directory, process: add } = machine(t)
    let pid = 1
    const another = async () => {
      await add('api-0', pid++, another)
      return ['starting']
    }
    await another()
    const { reasons } = await createProcesses({ directory, expected: { api: 1 } }).read()
    assert.equal(reasons[0], 'api: 0 of 1 ready')
  }
)

test('/ready reports the warnings of serving processes, with their names', async (t) => {
  const { directory } = machine(t)
  const status = createStatus({ name: 'ingest-0', metrics: createMetrics({ processMetrics: false }) })
  status.addWarnings(() => ['partition 3 lost records'])
  status.started()
  const listener = createPrivateListener({ path: path.join(directory, 'ingest-0.1.sock'), status, log, clock: systemClock })
  t.after(() => listener.stop())
  await listener.start()
  const processes = createProcesses({ directory, expected: { ingest: 1 } })
  const server = new AdminServer({
    settings: { host: '127.0.0.1', port: 0 },
    production: false,
    processes,
    log,
    clock: systemClock
  })
  t.after(() => server.stop())
  await server.start()
  const answer = await fetch(`http://127.0.0.1:${server.port()}/ready`)
  assert.equal(answer.status, 200)
  assert.deepEqual(/** @type {any} */ (await answer.json()).warnings, ['ingest-0: partition 3 lost records'])
})

test('/metrics keeps what a process has counted that ended', async (t) => {
  const { directory } = machine(t)
  const start = async (/** @type {number} */ pid) => {
    const metrics = createMetrics({ role: 'gateway' })
    const status = createStatus({ name: `gateway-${pid}`, metrics })
    const listener = createPrivateListener({ path: path.join(directory, `gateway-${pid}.${pid}.sock`), status, log, clock: systemClock })
    t.after(() => listener.stop())
    await listener.start()
    return { metrics, listener }
  }
  const [first, second] = [await start(1), await start(2)]
  first.metrics.connections_shed.inc(5)
  second.metrics.connections_shed.inc(7)
  const server = new AdminServer({
    settings: { host: '127.0.0.1', port: 0 },
    production: false,
    processes: createProcesses({ directory, expected: { gateway: 1 } }),
    log,
    clock: systemClock
  })
  t.after(() => server.stop())
  await server.start()
  const shed = async () => {
    const text = await (await fetch(`http://127.0.0.1:${server.port()}/metrics`)).text()
    return Number(/^inkcast_connections_shed_total\{role="gateway"\} (\d+)$/m.exec(text)?.[1])
  }
  assert.equal(await shed(), 12)
  await first.listener.stop()
  assert.equal(await shed(), 12)
  second.metrics.connections_shed.inc()
  assert.equal(await shed(), 13)
})
