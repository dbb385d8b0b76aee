#!/usr/bin/env node
/**
 * Cost of TLS at a gateway worker: `npm run bench:tls`. Memory of an idle connection, and CPU of a handshake with and
 * without resumption, beside connections without TLS.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { makeAuthority } from '../test/helpers/certificates.js'
import { startRedis } from '../test/services/redis.js'
import { environment } from './measure/environment.js'
import { difference, sample } from './measure/processes.js'
import { readOptions } from './options.js'
import { saveResults } from './report/results.js'
import { markdownTable } from './report/table.js'
import { SET, SET_USAGE } from './systems/given.js'
import { startInkcast } from './systems/inkcast.js'

const USAGE = `Cost of TLS: memory of a connection and CPU of a handshake, beside connections without TLS

  node bench/tls.js [options]

  --connections N     idle connections (5000)
  --handshakes N      handshakes per kind and round (2000)
  --rounds N          (3)
  --idle-seconds N    delay before memory is measured (20)
${SET_USAGE}
  --no-save           save no results`

const options = readOptions({
  connections: { type: 'string', default: '5000' },
  handshakes: { type: 'string', default: '2000' },
  rounds: { type: 'string', default: '3' },
  'idle-seconds': { type: 'string', default: '20' },
  ...SET,
  save: { type: 'boolean', default: true }
}, USAGE)
const settings = {
  connections: Number(options.connections),
  handshakes: Number(options.handshakes),
  rounds: Number(options.rounds),
  idleSeconds: Number(options['idle-seconds'])
}
const CONCURRENCY = 16

/** @typedef {'none' | 'P-256' | 'RSA 2048'} Key */
/** @typedef {{ key: Key, version?: 'TLSv1.2' | 'TLSv1.3', resume?: boolean }} Kind */

/** @type {Kind[]} */
const HANDSHAKES = [
  { key: 'none' },
  ...(/** @type {const} */ (['P-256', 'RSA 2048']).flatMap((key) =>
    /** @type {const} */ (['TLSv1.3', 'TLSv1.2']).flatMap((version) =>
      [false, true].map((resume) => ({ key, version, resume }))
    )
  ))
]
/** @type {Kind[]} */
const MEMORY = [{ key: 'none' }, { key: 'P-256', version: 'TLSv1.3' }, { key: 'P-256', version: 'TLSv1.2' },
  { key: 'RSA 2048', version: 'TLSv1.3' }]

/** @type {(() => unknown)[]} */
const ends = []
const authority = makeAuthority({ after: (end) => { ends.push(end) } }, 'bench')
/** @param {Key} key */
function certificateFor (key) {
  const pair = authority.issue('gateway', key === 'P-256' ? {} : { rsa: 2048 })
  const chain = join(authority.folder, `${key}.chain`)
  // as with a public authority, whose intermediate certificate is sent as well
  writeFileSync(chain, Buffer.concat([readFileSync(pair.cert), readFileSync(authority.ca)]))
  return { TLS_FILES: `cert:${chain},key:${pair.key}` }
}
const certificates = { 'none': {}, 'P-256': certificateFor('P-256'), 'RSA 2048': certificateFor('RSA 2048') }

/** @param {Key} key */
async function startSystem (key) {
  const redis = await startRedis()
  const system = await startInkcast({
    workers: 1,
    redisUrl: redis.url,
    secret: 'a secret of the benchmark, long enough for HS256',
    env: {
      AUTH_ALLOW_ANONYMOUS: 'true', MAX_CONNECTIONS_PER_ADDRESS: '1000000', MAX_CONNECTIONS: '1000000',
      ...certificates[key]
    }
  })
  const clients = fork(fileURLToPath(new URL('tls/clients.js', import.meta.url)))
  const gateway = system.processes.filter(({ role }) => role === 'gateway')
  return {
    gateway,
    /** @param {Kind} kind @param {object} message @returns {Promise<any>} */
    async ask ({ version }, message) {
      const target = { port: system.target.port, version, ...key === 'none' ? {} : { ca: authority.ca } }
      clients.send({ ...message, target, concurrency: CONCURRENCY })
      const [answer] = await once(clients, 'message')
      if (!answer.ok) throw new Error(answer.error)
      return answer
    },
    async stop () {
      clients.disconnect()
      await system.stop()
      await redis.stop()
    }
  }
}

/** @param {Kind} kind */
async function measureMemory (kind) {
  const system = await startSystem(kind.key)
  try {
    // code, pools and the heap that the first connections need
    await system.ask(kind, { command: 'open', count: 1000 })
    await delay(settings.idleSeconds * 1000)
    const before = sample(system.gateway)
    await system.ask(kind, { command: 'open', count: settings.connections })
    await delay(settings.idleSeconds * 1000)
    const [{ residentKb }] = difference(before, sample(system.gateway))
    return { ...kind, kb: residentKb / settings.connections, beforeKb: before[0].residentKb, residentKb }
  } finally {
    await system.stop()
  }
}

/** @type {(Awaited<ReturnType<typeof measureMemory>>)[]} */
const memory = []
for (const kind of MEMORY) {
  memory.push(await measureMemory(kind))
  console.error(`memory: ${JSON.stringify(memory.at(-1))}`)
}

/** @type {(Kind & { cpuUs: number, reused: number, seconds: number })[]} */
const handshakes = []
for (const key of settings.rounds === 0 ? [] : /** @type {const} */ (['none', 'P-256', 'RSA 2048'])) {
  const system = await startSystem(key)
  try {
    for (let round = -1; round < settings.rounds; round++) {
      for (const kind of HANDSHAKES.filter((one) => one.key === key)) {
        const before = sample(system.gateway)
        const { reused, seconds } = await system.ask(kind, {
          command: 'handshakes', count: settings.handshakes, resume: kind.resume === true
        })
        const [{ cpuMs }] = difference(before, sample(system.gateway))
        if (reused !== (kind.resume ? settings.handshakes : 0)) throw new Error(`${reused} sessions were resumed`)
        // the first round warms up
        if (round >= 0) handshakes.push({ ...kind, cpuUs: cpuMs * 1000 / settings.handshakes, reused, seconds })
      }
    }
  } finally {
    await system.stop()
  }
}
for (const end of ends) await end()

/** @param {number[]} values */
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1]
const cpuOf = (/** @type {Kind} */ kind) => median(handshakes
  .filter(({ key, version, resume }) => key === kind.key && version === kind.version && resume === kind.resume)
  .map(({ cpuUs }) => cpuUs))
const [plain] = memory
/** @param {Kind} kind */
const name = ({ key, version }) => key === 'none' ? 'no TLS' : `${version}, ${key}`
const tables = {
  memory: markdownTable(
    ['connection', 'KB', 'of that for TLS'],
    memory.map((one) => [name(one), one.kb.toFixed(1), one === plain ? '' : (one.kb - plain.kb).toFixed(1)])
  ),
  handshakes: settings.rounds === 0 ? '' : markdownTable(
    ['connection', 'full, µs', 'resumed, µs', 'full per second and core', 'resumed'],
    HANDSHAKES.filter(({ resume }) => !resume).map((kind) => {
      const [full, resumed] = [cpuOf(kind), kind.key === 'none' ? NaN : cpuOf({ ...kind, resume: true })]
      const shown = (/** @type {number} */ value) => Number.isNaN(value) ? '' : value.toFixed(0)
      return [name(kind), shown(full), shown(resumed), shown(1e6 / full), shown(1e6 / resumed)]
    })
  )
}
console.log(`\n${tables.memory}\n\n${tables.handshakes}\n`)

const where = environment()
const page = `# TLS at a gateway worker, ${where.date.slice(0, 10)}

${tables.memory}

${tables.handshakes}

## Method

\`${where.command}\` on ${where.date}, ${where.machine.cores} cores (${where.machine.cpu}), ${where.machine.memoryGb} GB, \
${where.machine.kernel}, load ${where.machine.load} before the run.
${Object.entries(where.versions).map(([library, version]) => `${library} ${version}`).join(', ')}.

One gateway worker, started by the launcher in production. Memory: growth of its resident set by ${settings.connections} idle, admitted \
Socket.IO connections over WebSocket,
${settings.idleSeconds} s after the last one; 1,000 others were open before. Handshakes: CPU time of the worker per connection that \
sends one
request (404) and is closed, median of ${settings.rounds} rounds of ${settings.handshakes} after one that warms up; the load generator \
runs beside it. The chain has two certificates.
A worker has free memory in its heap before: the figure without TLS is less than such a connection takes (bench:memory), and a few KB \
either way are chance.
`
if (options.save) console.log(`saved to ${saveResults('tls', { ...where, settings, memory, handshakes }, () => page).join(' and ')}`)
