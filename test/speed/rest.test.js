import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { difference, processTree, sample } from '../../bench/measure/processes.js'
import { connectClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { redisUrl } from '../helpers/env.js'

/** Time that is observed, ms. */
const WATCH = 5000
/** Wake-ups of a gateway worker's main thread per second: with a timer for each part there were 78. */
const MOST = 35

/** @param {number} pid @returns {number} how often its main thread has gone to sleep */
const sleeps = (pid) => Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])

test('a gateway worker without connections sleeps, also after clients were there', { timeout: 90_000 }, async (t) => {
  const inkcast = await startCluster(t, {
    NODE_ENV: 'production', AUTH_ALLOW_ANONYMOUS: 'true', WORKERS: '2', REDIS_URL: redisUrl(),
    API_TOKENS: `t:${'x'.repeat(32)}`
  })
  const processes = processTree(inkcast.pid, (command) => /src\/(\w+)\.js/.exec(command)?.[1] ?? 'launcher')
  const gateways = processes.filter(({ role }) => role === 'gateway')
  assert.equal(gateways.length, 2)
  const clients = await Promise.all(['a', 'b', 'c', 'd'].map(() => connectClient(t, inkcast.url)))
  await Promise.all(clients.map((client) => client.ask('doc:join', 'rest', {})))
  for (const client of clients) client.disconnect()
  // the grace of the sessions, and collections of garbage after the start
  await delay(12_000)
  const before = { usage: sample(processes), sleeps: gateways.map(({ pid }) => sleeps(pid)) }
  await delay(WATCH)
  const perSecond = gateways.map(({ pid }, i) => (sleeps(pid) - before.sleeps[i]) / (WATCH / 1000))
  const used = difference(before.usage, sample(processes))
  t.diagnostic(used.map(({ role, cpuMs }) => `${role} ${(100 * cpuMs / WATCH).toFixed(2)} % of a core`).join(', '))
  for (const wakeUps of perSecond) assert.ok(wakeUps <= MOST, `${perSecond} wake-ups per second`)
})
