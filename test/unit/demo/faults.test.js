import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { launcherControl } from '../../../packages/demo/control/answers.js'
import { Faults } from '../../../packages/demo/control/faults.js'
import * as inkcast from '../../../src/operate/roles/demo-parts.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'

const TIMES = { before: 1, after: 1, patience: 200, gap: 1 }

/**
 * @param {import('node:test').TestContext} t
 * @param {Partial<import('../../../packages/demo/control/faults.js').Machine>} [own]
 * @param {number} [gap] ms
 */
function faultsOf (t, own = {}, gap = TIMES.gap) {
  let pid = 10
  /** @type {string[]} */
  const held = []
  /** @type {import('../../../packages/demo/control/faults.js').Worker[]} */
  const workers = [
    { name: 'gateway-0', worker: 4, pid: 1, connections: 3, ready: true },
    { name: 'gateway-1', worker: 5, pid: 2, connections: 2, ready: true }
  ]
  const faults = new Faults(inkcast, {
    machine: {
      workers: () => workers,
      kill: (name) => {
        const at = workers.findIndex((worker) => worker.name === name)
        const { connections } = workers[at]
        workers[at] = { ...workers[at], pid: ++pid, connections: 0 }
        workers[1 - at].connections += connections
      },
      reload: async () => null,
      freeze: async () => null,
      cut: async () => null,
      ...own
    },
    pulse: {
      hold: (holder, guid) => { held.push(`hold ${holder} ${guid}`) },
      release: (holder) => { held.push(`release ${holder}`) }
    },
    log: recordingLog().log,
    times: { ...TIMES, gap },
    clock: systemClock
  })
  t.after(() => faults.stop())
  return { faults, held, ended: () => waitFor(() => faults.state?.phase === 'ended', { message: () => faults.state }) }
}

test('a kill names the worker, and ends when all clients are back; records flow meanwhile', async (t) => {
  const { faults, held, ended } = faultsOf(t)
  faults.begin({ kind: 'kill', document: 'demo', worker: 5 })
  assert.deepEqual(held, ['hold fault demo'])
  await ended()
  const { worker, clients, back, problem } = /** @type {any} */ (faults.state)
  assert.deepEqual([worker.name, worker.pid, clients, back, problem], ['gateway-1', 2, 5, 5, null])
  assert.deepEqual(held, ['hold fault demo', 'release fault'])
})

test('one fault at a time, and a pause after each', async (t) => {
  const { faults, ended } = faultsOf(t, {}, 60_000)
  faults.begin({ kind: 'reload', document: 'demo' })
  assert.throws(() => faults.begin({ kind: 'kill', document: 'demo' }), { code: 'request_in_progress', status: 409 })
  await ended()
  assert.throws(() => faults.begin({ kind: 'kill', document: 'demo' }), { code: 'rate_limited', status: 429 })
})

test('after the pause the next fault may begin', async (t) => {
  const { faults, ended } = faultsOf(t)
  faults.begin({ kind: 'reload', document: 'demo' })
  await ended()
  await waitFor(() => {
    faults.begin({ kind: 'freeze', document: 'demo' })
    return true
  })
  await ended()
  assert.equal(faults.state?.number, 2)
  assert.throws(() => faults.begin({ kind: 'rm', document: 'demo' }), { code: 'bad_request' })
})

test('a fault that fails says why, and the next one may begin', async (t) => {
  const { faults, ended } = faultsOf(t, {
    reload: async () => 'gateway-0: not ready', freeze: () => Promise.reject(new Error('gone'))
  })
  faults.begin({ kind: 'reload', document: 'demo' })
  await ended()
  assert.equal(faults.state?.problem, 'gateway-0: not ready')
  await waitFor(() => {
    faults.begin({ kind: 'freeze', document: 'demo' })
    return true
  })
  await ended()
  assert.equal(faults.state?.problem, 'gone')
})

test('clients that do not come back are a problem', async (t) => {
  let connections = 7
  const { faults, ended } = faultsOf(t, {
    workers: () => [{ name: 'gateway-0', worker: 1, pid: 1, connections, ready: true }],
    async reload () {
      connections = 1
      return null
    }
  })
  faults.begin({ kind: 'reload', document: 'demo' })
  await ended()
  assert.match(String(faults.state?.problem), /^1 of 7 clients are back after 0\.2 s$/)
})

test('without the launcher there are no buttons, and a reason', async () => {
  const context = /** @type {any} */ ({ runDirectory: '/tmp/x', relaysHandles: false })
  const ask = launcherControl(inkcast, context)
  const { status, body } = await ask({ method: 'GET', path: '/state' })
  assert.deepEqual([status, /** @type {any} */ (body).kinds, /** @type {any} */ (body).reason], [200, [], 'no_launcher'])
  assert.equal((await ask({ method: 'POST', path: '/fault', body: { kind: 'kill' } })).status, 404)
  assert.equal((await launcherControl(inkcast, { ...context, relaysHandles: true })({ method: 'GET', path: '/state' })).status, 503)
})
