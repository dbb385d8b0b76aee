import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { test } from 'node:test'
import { createAgent } from '../../../src/operate/admin/agent.js'
import { loadBetween, sampleOf, weightOf } from '../../../src/operate/admin/machine-weight.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

const idle = { cpu: 0, lag: 0, memory: 0, connections: 0 }

test('an idle machine gets its full share', () => {
  assert.equal(weightOf(idle, 1000), 100)
  assert.equal(weightOf({ cpu: 0.5, lag: 20, memory: 0.6, connections: 0 }, 1000), 100)
})

test('the fullest of CPU, event loop, memory and connections decides', () => {
  assert.equal(weightOf({ ...idle, cpu: 0.725 }, 1000), 50)
  assert.equal(weightOf({ ...idle, lag: 110 }, 1000), 50)
  assert.equal(weightOf({ ...idle, memory: 0.75 }, 1000), 50)
  assert.equal(weightOf({ ...idle, connections: 250 }, 1000), 75)
  assert.equal(weightOf({ cpu: 0.725, lag: 110, memory: 0.75, connections: 900 }, 1000), 10)
})

test('a full machine that serves still gets one percent', () => {
  for (const load of [
    { ...idle, cpu: 2 },
    { ...idle, lag: 5000 },
    { ...idle, memory: 1 },
    { ...idle, connections: 10_000 }
  ])
    assert.equal(weightOf(load, 1000), 1)
})

/**
 * @param {string} name
 * @param {object} [figures]
 * @param {number} [figures.cpu]
 * @param {number} [figures.lag]
 * @param {number} [figures.memory]
 * @param {number} [figures.websocket]
 * @param {number} [figures.polling]
 * @param {string[]} [figures.notReady]
 * @returns {any}
 */
const processOf = (name, { cpu = 0, lag = 0, memory = 0, websocket = 0, polling = 0, notReady = [] } = {}) => ({
  name,
  notReady,
  metrics: [
    {
      name: 'inkcast_connections',
      values: [
        { value: websocket, labels: { transport: 'websocket' } },
        { value: polling, labels: { transport: 'polling' } }
      ]
    },
    {
      name: 'inkcast_event_loop_lag_seconds',
      values: [
        { value: 0, labels: { quantile: 'p50' } },
        { value: lag / 1000, labels: { quantile: 'p99' } },
        { value: 999, labels: { quantile: 'max' } }
      ]
    },
    { name: 'process_resident_memory_bytes', values: [{ value: memory, labels: {} }] },
    { name: 'process_cpu_seconds_total', values: [{ value: cpu, labels: {} }] }
  ]
})

test('the load is computed from the gateway workers: all connections, the slowest event loop, the share of their cores, and the memory ' +
  'of all processes', () => {
  const before = sampleOf([processOf('gateway-0', { cpu: 10 }), processOf('gateway-1', { cpu: 20 })], 1000)
  const now = sampleOf(
    [
      processOf('gateway-0', { cpu: 12, lag: 3, memory: 100, websocket: 5, polling: 1 }),
      processOf('gateway-1', { cpu: 21, lag: 7, memory: 50, websocket: 4 }),
      processOf('ingest-0', { cpu: 900, lag: 500, memory: 50 })
    ],
    5000
  )
  assert.deepEqual(loadBetween(before, now, 1000), { cpu: 0.375, lag: 7, memory: 0.2, connections: 10 })
})

test('a restarted worker does not count with the CPU time of its predecessor', () => {
  const before = sampleOf([processOf('gateway-0', { cpu: 1000 })], 0)
  assert.equal(loadBetween(before, sampleOf([processOf('gateway-0', { cpu: 1 })], 1000)).cpu, 0)
  assert.equal(
    loadBetween(before, sampleOf([processOf('gateway-0', { cpu: 1000.5 }), processOf('gateway-1', { cpu: 300 })], 1000))
      .cpu,
    0.25
  )
  assert.equal(loadBetween(undefined, before).cpu, 0)
})

/**
 * @param {import('node:test').TestContext} t
 * @param {() => Promise<any>} read
 */
async function startAgent (t, read) {
  const { log, lines } = recordingLog()
  const clock = manualClock()
  const agent = createAgent({
    settings: { host: '127.0.0.1', agentPort: 0 },
    capacity: 200,
    processes: { read },
    log,
    clock
  })
  await agent.start()
  t.after(() => agent.stop())
  return {
    clock,
    lines,
    async ask () {
      const socket = net.connect(agent.port(), '127.0.0.1')
      let text = ''
      socket.setEncoding('utf8').on('data', (chunk) => { text += chunk })
      await once(socket, 'close')
      return text
    }
  }
}

test('the agent answers one line and closes', async (t) => {
  /** @type {any} */
  let overview = {
    processes: [processOf('gateway-0', { websocket: 50 }), processOf('gateway-1'), processOf('launcher')],
    reasons: []
  }
  const agent = await startAgent(t, async () => overview)
  assert.equal(await agent.ask(), 'ready up 75%\n')

  overview = {
    processes: [processOf('gateway-0', { notReady: ['Redis is unavailable'] })],
    reasons: ['gateway: 0 of 2 ready', 'gateway-0: Redis\nis unavailable']
  }
  agent.clock.advance(1000)
  assert.equal(await agent.ask(), 'down #gateway: 0 of 2 ready, gateway-0: Redis is unavailable\n')

  overview = { processes: [processOf('gateway-0', { notReady: ['stopping'] })], reasons: ['gateway: 0 of 2 ready'] }
  agent.clock.advance(1000)
  assert.equal(await agent.ask(), 'drain\n')
})

test('a stopping launcher reports a drain before its processes are stopped', async (t) => {
  const agent = await startAgent(t, async () => ({
    processes: [processOf('gateway-0'), processOf('launcher', { notReady: ['stopping'] })],
    reasons: []
  }))
  assert.equal(await agent.ask(), 'drain\n')
})

test('a process that is being replaced does not drain the machine', async (t) => {
  const agent = await startAgent(t, async () => ({
    processes: [processOf('gateway-0', { notReady: ['stopping'] }), processOf('gateway-0')],
    reasons: []
  }))
  assert.equal(await agent.ask(), 'ready up 100%\n')
})

test('CPU counts from the second sample on, and not if the first one is old', async (t) => {
  let cpu = 0
  const agent = await startAgent(t, async () => ({ processes: [processOf('gateway-0', { cpu })], reasons: [] }))
  assert.equal(await agent.ask(), 'ready up 100%\n')
  cpu = 7.25
  agent.clock.advance(10_000)
  assert.equal(await agent.ask(), 'ready up 50%\n')
  cpu += 60
  agent.clock.advance(60_000)
  assert.equal(await agent.ask(), 'ready up 100%\n')
})

test('concurrent balancers share one sample', async (t) => {
  let looks = 0
  const agent = await startAgent(t, async () => {
    looks++
    return { processes: [processOf('gateway-0')], reasons: [] }
  })
  assert.deepEqual(
    new Set(await Promise.all(Array.from({ length: 20 }, () => agent.ask()))),
    new Set(['ready up 100%\n'])
  )
  assert.equal(looks, 1)
})

test('without figures the response is empty, and HAProxy changes nothing', async (t) => {
  const agent = await startAgent(t, () => Promise.reject(new Error('no directory')))
  assert.equal(await agent.ask(), '')
  assert.match(JSON.stringify(agent.lines), /load could not be read/)
})

test('without AGENT_PORT there is no agent', async () => {
  const agent = createAgent({
    settings: { host: '127.0.0.1', agentPort: undefined },
    capacity: 1,
    processes: { read: () => Promise.reject(new Error('not asked')) },
    log: recordingLog().log,
    clock: manualClock()
  })
  await agent.start()
  agent.stop()
})
