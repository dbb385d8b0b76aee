#!/usr/bin/env node
/**
 * The published load scenarios on this machine, with a real cluster: `npm run load:published`.
 */
import { writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { planOf, processesFor } from '../packages/load/plan.js'
import { reportOf, rowsOf } from '../packages/load/report.js'
import { runLoad } from '../packages/load/run.js'
import { makeAuthority } from '../test/helpers/certificates.js'
import { startCluster } from '../test/helpers/cluster.js'
import { childrenOf } from '../test/helpers/processes.js'
import { SECRET, signToken } from '../test/helpers/tokens.js'
import { freePort } from '../test/services/ports.js'
import { startRedis } from '../test/services/redis.js'
import { environment } from './measure/environment.js'
import { scoped } from './measure/scope.js'
import { fail, readOptions } from './options.js'
import { figuresOf, pageOf, tableOf } from './published/page.js'
import { scenariosFor } from './published/scenarios.js'
import { saveResults } from './report/results.js'

const USAGE = `The published load scenarios on this machine, with a real cluster

  node bench/published.js [options]

  --connections N     (10000)
  --workers N         (2)
  --devices N         connections of the scenario devices, which runs once for each protocol (1000)
  --hold N            s (60)
  --ramp N            new connections per second (1000)
  --every N           s between two records to everyone (1: with fewer connections than were
                      published, a core has about as much to deliver)
  --only NAMES        hold,receipts,everyone,documents,churn,devices,faults (all)
  --tls ON            off, on or both (both)
  --name NAME         of the results (published)
  --no-save           save no results`

const options = readOptions({
  connections: { type: 'string', default: '10000' },
  workers: { type: 'string', default: '2' },
  devices: { type: 'string', default: '1000' },
  hold: { type: 'string', default: '60' },
  ramp: { type: 'string', default: '1000' },
  every: { type: 'string', default: '1' },
  only: { type: 'string' },
  tls: { type: 'string', default: 'both' },
  name: { type: 'string', default: 'published' },
  save: { type: 'boolean', default: true }
}, USAGE)
const [connections, workers, devices, hold, ramp, every] =
  [options.connections, options.workers, options.devices, options.hold, options.ramp, options.every].map(Number)
const names = options.only?.split(',')
const scenarios = scenariosFor(connections, 1000 * every, devices).filter(({ name }) => names?.includes(name) ?? true)
if (scenarios.length === 0) fail(`--only names no scenario\n\n${USAGE}`)
if (!['on', 'off', 'both'].includes(options.tls)) fail(`--tls is on, off or both\n\n${USAGE}`)

const WS_PATH = '/websocket/handshake'
const TOKEN = 'a-token-of-the-load-tool-with-32-characters'
/** Share of the hold at which the workers are reloaded, and at which one is killed. */
const FAULTS = { reload: 0.1, kill: 0.75 }

/** @param {number} cluster process id @returns {Promise<number[]>} */
const gatewaysOf = async (cluster) =>
  (await childrenOf(cluster)).filter(({ role }) => role === 'gateway').map(({ pid }) => pid)

/**
 * @param {import('./published/scenarios.js').Scenario} scenario
 * @param {boolean} tls
 */
async function run ({ title, plan, connections: own = connections, faults = false }, tls) {
  return scoped(async (t) => {
    const redis = await startRedis()
    t.after(() => redis.stop())
    const certificate = tls ? makeAuthority(t).issue('localhost') : undefined
    const { protocol } = plan
    const mqttPort = await freePort()
    const mqtt = `mqtt${tls ? 's' : ''}://127.0.0.1:${mqttPort}`
    const exp = Math.floor(Date.now() / 1000) + 86_400
    const cluster = await startCluster(t, {
      NODE_ENV: 'production', HOST: '127.0.0.1', WORKERS: String(workers), REDIS_URL: redis.url,
      ...(protocol !== undefined && { LISTENERS: `ws:${WS_PATH},${mqtt}`, AUTH_JWT_SECRET: SECRET }),
      AUTH_ALLOW_ANONYMOUS: 'true', API_TOKENS: `load:${TOKEN}`,
      ...(certificate && { TLS_FILES: `cert:${certificate.cert},key:${certificate.key}` })
    })
    let holdBegan = 0
    /** @type {string[]} */
    const done = []
    const result = await runLoad({
      plan: planOf('hold', { connections: own, ramp, hold, ...plan }),
      processes: processesFor(own, os.availableParallelism()),
      target: {
        host: '127.0.0.1', port: protocol === 'mqtt' ? mqttPort : Number(new URL(cluster.url).port), secure: tls,
        insecure: true, ...(protocol === 'ws' && { path: WS_PATH })
      },
      loopback: true,
      sources: [],
      // a session of MQTT needs a user; the protocols are compared with the same login
      tokenOf: async (index) => protocol === undefined ? undefined : signToken({ sub: `load-${index}`, exp }),
      api: { url: cluster.apiUrl, token: TOKEN },
      admin: { url: cluster.adminUrl, token: undefined },
      settle: 60_000,
      onSample ({ at, phase, connections: open, connectionsPerSecond, deliveriesPerSecond, holes }) {
        if (process.stdout.isTTY) process.stdout.write(
          `\r\u001b[K${title}: ${at.toFixed(0)} s ${phase}, ${open} connections, ${connectionsPerSecond.toFixed(0)}/s, ` +
          `${deliveriesPerSecond.toFixed(0)} deliveries/s, ${holes} holes`
        )
        if (!faults || phase !== 'hold') return
        holdBegan ||= at
        const passed = (at - holdBegan) / hold
        if (passed >= FAULTS.reload && !done.includes('reload')) {
          done.push('reload')
          process.kill(cluster.pid, 'SIGHUP')
        }
        if (passed >= FAULTS.kill && !done.includes('kill')) {
          done.push('kill')
          gatewaysOf(cluster.pid).then(([first]) => process.kill(first, 'SIGKILL'), () => {})
        }
      }
    })
    if (process.stdout.isTTY) process.stdout.write('\r\u001b[K')
    if (faults && done.length < 2) result.problems.push('the faults were not all injected')
    return result
  })
}

/** @type {{ name: string, scenario: string, tls: boolean, result: import('../packages/load/run.js').Result }[]} */
const runs = []
const began = environment()
for (const tls of options.tls === 'both' ? [false, true] : [options.tls === 'on']) {
  for (const scenario of scenarios) {
    const name = `${scenario.title}${tls ? ', TLS' : ''}`
    console.log(`\n${name}`)
    const result = await run(scenario, tls)
    for (const [figure, value] of rowsOf(result)) console.log(`  ${figure.padEnd(28)} ${value}`)
    for (const problem of result.problems) console.log(`  ${problem}`)
    runs.push({ name, scenario: scenario.name, tls, result })
    // after each one: a run takes long
    if (options.save) save()
  }
}

function save () {
  const saved = {
    environment: began, connections, workers, hold,
    runs: runs.map(({ name, scenario, tls, result }) => {
      // the HTML file has them
      const samples = undefined
      return { name, scenario, tls, figures: figuresOf(result, scenario), ...result, samples }
    })
  }
  const [json] = saveResults(options.name, saved, () => pageOf(saved))
  const html = path.resolve(json.replace(/json$/, 'html'))
  writeFileSync(html, reportOf(runs, { title: 'Published scenarios', intro: tableOf(saved) }))
}

if (options.save) console.log(`\n${path.relative(process.cwd(), fileURLToPath(new URL('results/', import.meta.url)))}`)
process.exitCode = runs.every(({ result }) => result.problems.length === 0) ? 0 : 1
