import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { Backoff } from '../../../src/base/common/backoff.js'
import { launcherHost } from '../../../src/operate/launcher/host.js'
import { Slot } from '../../../src/operate/launcher/slot.js'
import { waitFor } from '../../helpers/wait.js'

/** Scripts with the behavior of a role's process. */
const READY =
  'process.send({ type: "ready", workerNumber: 7 }); process.on("SIGTERM", () => process.exit(0)); setInterval(() => {}, 1000)'
const FAILS = 'process.send({ type: "failed", message: "port 1 is in use" }, () => process.exit(1))'
const CRASHES = 'process.send({ type: "ready" }, () => process.exit(3))'
const NEVER_READY =
  'process.send({ type: "handover" }); process.on("SIGTERM", () => process.exit(0)); setInterval(() => {}, 1000)'
const HANGS = 'process.send({ type: "ready" }); process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'

/**
 * A slot that runs a script. The script may change before a later start.
 * @param {import('node:test').TestContext} t
 * @param {string} script
 * @param {object} [options]
 * @param {Partial<ConstructorParameters<typeof Slot>[2]>} [options.limits]
 * @param {number} [options.stopTimeout]
 */
function startSlot (t, script, { limits, stopTimeout = 5000 } = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'inkcast-slot-'))
  const file = path.join(folder, 'role.mjs')
  const change = (/** @type {string} */ next) => writeFileSync(file, next)
  change(script)
  /** @type {any[]} */
  const events = []
  /** @type {Slot['serving']} */
  let served
  /** @type {Slot} */
  const slot = new Slot(
    { role: 'gateway', slot: 3, file, clustered: false, env: { PATH: process.env.PATH }, execArgv: [], stopTimeout },
    {
      onChange: () => {
        if (slot.serving !== undefined && slot.serving !== served) events.push('ready')
        served = slot.serving
      },
      onWaits: (message) => events.push({ waits: message }),
      onListen: () => events.push('listen'),
      onRestart: (end) => events.push(end),
      onGiveUp: (reason) => events.push({ gaveUp: reason }),
      onHandover: () => events.push('begun')
    },
    { backoff: new Backoff({
      min: 10, max: 20, random: systemRandom
    }), fork: launcherHost.fork, clock: systemClock, random: systemRandom, ...limits }
  )
  t.after(async () => {
    slot.kill()
    await slot.stop()
    rmSync(folder, { recursive: true })
  })
  slot.start()
  return { slot, events, change, ready: () => waitFor(() => slot.ready, { message: () => events }) }
}

/** @param {number | undefined} pid */
function isAlive (pid) {
  try {
    return process.kill(/** @type {number} */ (pid), 0)
  } catch {
    return false
  }
}

test('a process that ends is restarted, and reports its worker number', async (t) => {
  const { slot, events, ready } = startSlot(t, READY)
  await ready()
  assert.equal(slot.name, 'gateway-3')
  const first = slot.current
  assert.equal(first?.workerNumber, 7)
  first?.kill()
  await waitFor(() => slot.ready && slot.current !== first, { message: () => events })
  assert.deepEqual(events, ['ready', { code: null, signal: 'SIGKILL', message: undefined }, 'ready'])
  assert.deepEqual(slot.children, [slot.current])
})

test('only a process whose predecessor died is informed that clients wait for it', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'inkcast-urgent-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const told = path.join(folder, 'told')
  const { slot, ready } = startSlot(
    t,
    `import { appendFileSync } from 'node:fs'\nappendFileSync(${JSON.stringify(told)}, process.env.INKCAST_URGENT)\n${READY}`
  )
  await ready()
  assert.equal(await slot.reload(60_000), null)
  const second = slot.current
  second?.kill()
  await waitFor(() => slot.ready && slot.current !== second)
  assert.equal(readFileSync(told, 'utf8'), '001')
})

test('a process that fails at its first start is given up at once, with its reason', async (t) => {
  const { slot, events } = startSlot(t, FAILS)
  await waitFor(() => events.length > 0)
  assert.deepEqual(events, [{ gaveUp: 'port 1 is in use' }])
  assert.deepEqual(slot.children, [])
})

test('a process that keeps ending is given up after the maximum number of crashes, with growing pauses in between', async (t) => {
  const waits = /** @type {number[]} */ ([])
  const backoff = new Backoff({ min: 10, max: 80, random: { number: () => 0 } })
  const next = backoff.next.bind(backoff)
  backoff.next = () => {
    const wait = next()
    waits.push(wait)
    return wait
  }
  const { slot, events } = startSlot(t, CRASHES, { limits: { maxCrashes: 4, backoff } })
  await waitFor(() => events.at(-1)?.gaveUp, { timeout: 10_000, message: () => events })
  assert.match(
    events.at(-1).gaveUp,
    /^ended 5 times in a row soon after its start, the last time: ended with exit code 3$/
  )
  assert.equal(events.filter((event) => event.code === 3).length, 4)
  assert.deepEqual(waits, [5, 10, 20], 'the first restart has no delay')
  assert.deepEqual(slot.children, [])
})

test('ends that are far apart are not a crash loop', async (t) => {
  const { slot, events } = startSlot(t, CRASHES, { limits: { healthy: 0, maxCrashes: 2 } })
  await waitFor(() => events.filter((event) => event.code === 3).length >= 6, {
    timeout: 10_000,
    message: () => events
  })
  assert.equal(events.some((event) => event.gaveUp), false)
  await slot.stop()
  assert.deepEqual(slot.children, [])
})

test('reload: the old process is stopped when the new one is ready', async (t) => {
  const { slot, events, ready } = startSlot(t, READY)
  await ready()
  const old = slot.current
  const done = slot.reload(60_000)
  assert.equal(slot.current, old, 'the old one is serving')
  assert.equal(slot.children.length, 2)
  assert.equal(await done, null)
  assert.notEqual(slot.current, old)
  assert.equal(old?.exited, true)
  assert.deepEqual(slot.children, [slot.current])
  assert.deepEqual(events, ['ready', 'ready'], 'the end of the old one is expected')
})

test('reload: a new process that fails, or is not ready in time, leaves the old one serving and is removed', async (t) => {
  const { slot, change, ready } = startSlot(t, READY)
  await ready()
  const old = slot.current
  change(FAILS)
  assert.equal(await slot.reload(60_000), 'the new process: port 1 is in use')
  change(NEVER_READY)
  assert.equal(await slot.reload(300), 'the new process was not ready within 300 ms')
  assert.equal(slot.current, old)
  assert.deepEqual(slot.children, [old])
  assert.equal(isAlive(old?.pid), true)
})

test('reload: the old process ends while the new one starts, and one process remains', async (t) => {
  const { slot, events, ready } = startSlot(t, READY)
  await ready()
  const done = slot.reload(60_000)
  slot.current?.kill()
  assert.equal(await done, null)
  assert.equal(slot.ready, true)
  assert.deepEqual(slot.children, [slot.current])
  assert.equal(events.filter((event) => event === 'ready').length, 2)
})

test('reload: both the old and the new process end, and a third is started', async (t) => {
  const timer = t.mock.fn(systemClock.timer)
  const { slot, events, change, ready } = startSlot(t, READY, { limits: { clock: { ...systemClock, timer } } })
  await ready()
  change(NEVER_READY)
  const done = slot.reload(60_000)
  await waitFor(() => events.includes('begun'), { message: () => events })
  change(READY)
  slot.current?.kill()
  await waitFor(() => slot.current === undefined)
  assert.equal(slot.children.length, 1, 'the end of the old one starts none during a reload')
  const [ended] = timer.mock.calls.filter(({ arguments: [ms] }) => ms === 60_000)
  ended.arguments[1]()
  assert.match(String(await done), /not ready within/)
  await ready()
  assert.deepEqual(slot.children, [slot.current])
})

test('reload: a process that waits for its restart is started at once', async (t) => {
  const { slot, events, change, ready } = startSlot(t, CRASHES, {
    limits: { backoff: new Backoff({ min: 60_000, max: 60_000, random: systemRandom }) }
  })
  await waitFor(() => events.filter((event) => event.code === 3).length === 2, { message: () => events })
  change(READY)
  assert.equal(await slot.reload(60_000), null)
  await ready()
})

test('a process that does not stop is killed after its timeout', async (t) => {
  const { slot, ready } = startSlot(t, HANGS, { stopTimeout: 200 })
  await ready()
  const pid = slot.current?.pid
  await slot.stop()
  assert.equal(isAlive(pid), false)
})

test('a process that is killed on purpose is no crash: any number of times, another one is started at once', async (t) => {
  const backoff = new Backoff({ min: 60_000, max: 60_000, random: systemRandom })
  const { slot, events, ready } = startSlot(t, READY, { limits: { maxCrashes: 2, backoff } })
  for (let times = 0; times < 4; times++) {
    await ready()
    const { current } = slot
    slot.sacrifice()
    await waitFor(() => slot.ready && slot.current !== current, { message: () => events })
  }
  assert.equal(events.some((event) => event.gaveUp !== undefined), false)
})

test('during a stop of all processes, a process that ends is not restarted, even if it got the signal elsewhere', async (t) => {
  const { slot, events, ready } = startSlot(t, READY)
  await ready()
  slot.expectEnd()
  slot.current?.kill()
  await waitFor(() => slot.current === undefined)
  assert.deepEqual([events, slot.children], [['ready'], []])
})

test('stop during a reload ends both processes', async (t) => {
  const { slot, change, ready } = startSlot(t, READY)
  await ready()
  change(NEVER_READY)
  const done = slot.reload(60_000)
  const pids = slot.children.map(({ pid }) => pid)
  assert.equal(pids.length, 2)
  await Promise.all([slot.stop(), done])
  assert.deepEqual(pids.map(isAlive), [false, false])
})

test('a process that cannot be spawned ends with a reason, without a crash of the launcher', async (t) => {
  // larger than an environment may be
  const { slot, events, ready } = startSlot(t, READY)
  await ready()
  slot.settings.env = { ...slot.settings.env, HUGE: 'x'.repeat(4 * 2 ** 20) }
  const problem = await slot.reload(60_000).catch((error) => `thrown: ${error.message}`)
  assert.match(String(problem), /^the new process: .*E2BIG/)
  assert.equal(events.length, 1)
})

test('a process that accepts connections again counts as listening when it says so', async (t) => {
  const resumes = `${READY}; process.on("message", ({ type }) => { if (type === "resume") setTimeout(() => process.send({ type: ` +
    '"resumed" }), 100) })'
  const { slot, ready } = startSlot(t, resumes)
  await ready()
  const child = /** @type {NonNullable<Slot['serving']>} */ (slot.serving)
  assert.equal(child.listens, true)
  child.accept(false)
  assert.equal(child.listens, false)
  child.accept(true)
  assert.equal(child.listens, false)
  await waitFor(() => child.listens)
})
