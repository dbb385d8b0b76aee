import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { makeDirectory, removeDirectory } from './directory.js'
import { isAlive } from './process-identity.js'
import { provideServices } from './provide.js'
import { readState, runningServices, writeEntry } from './state.js'
import { waitUntil } from './wait.js'

const SCRIPT = fileURLToPath(new URL('../../scripts/services.js', import.meta.url))

before(() => { process.env.INKCAST_SERVICES_DIR = makeDirectory('services-test') })

after(async () => {
  await services('stop')
  removeDirectory(String(process.env.INKCAST_SERVICES_DIR))
})

/**
 * @param {string[]} args
 * @returns {Promise<{ code: number, out: string, err: string }>}
 */
function services (...args) {
  return new Promise((resolve) => execFile(process.execPath, [SCRIPT, ...args], (error, out, err) => {
    resolve({ code: error === null ? 0 : Number(error.code), out, err })
  }))
}

test('services are started, used, lost, started again and stopped', { timeout: 60_000 }, async () => {
  assert.equal((await services('env')).code, 1)
  assert.equal((await services('status')).code, 1)

  const [started, twice] = await Promise.all([services('start'), services('start')])
  assert.equal(started.code, 0, started.err)
  assert.equal(twice.code, 0, twice.err)
  assert.match(
    started.out,
    /^export REDIS_URL='redis:.*'\nexport REDIS_CLUSTER_URL='redis:.*,redis:.*,redis:.*'\nexport KAFKA_BROKERS='127.*'\n$/
  )
  assert.equal(twice.out, started.out)
  assert.deepEqual(await services('env'), { code: 0, out: started.out, err: '' })
  assert.equal((await services('status')).code, 0)

  const state = readState()
  assert.ok(state.redis && state.cluster && state.kafka)
  assert.equal(state.cluster.processes.length, 3)

  // a test run uses them, and leaves them running
  const provided = await provideServices({ env: {} })
  assert.equal(provided.env.REDIS_URL, state.redis.url)
  assert.equal(provided.env.KAFKA_CLASSPATH, state.kafka.classpath)
  await provided.stop()
  const client = new Redis(state.redis.url)
  assert.equal(await client.ping(), 'PONG')
  client.disconnect()

  // one node of the cluster dies: the cluster counts as down and is restarted as a whole
  const lost = state.cluster.processes[0]
  process.kill(lost.pid, 'SIGKILL')
  await waitUntil('the end of the node', () => assert.equal(isAlive(lost), false))
  assert.deepEqual(Object.keys(runningServices()), ['redis', 'kafka'])
  assert.equal((await services('start')).code, 0)
  assert.equal(readState().kafka?.processes[0].pid, state.kafka.processes[0].pid)
  assert.equal(state.cluster.processes.some(isAlive), false)

  const all = Object.values(readState()).flatMap(({ processes }) => processes)
  assert.equal(all.length, 5)
  assert.equal((await services('stop')).code, 0)
  assert.equal(all.some(isAlive), false)
  assert.deepEqual(readdirSync(String(process.env.INKCAST_SERVICES_DIR)), ['state.json'])
  assert.equal((await services('stop')).code, 0)
})

test('a killed start leaves no service running that is not in the state', async () => {
  const child = spawn(process.execPath, [SCRIPT, 'start'], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text) => { output += text })
  await waitUntil('the first ready service', () => assert.match(output, /redis: ready/))
  child.kill('SIGKILL')
  await waitUntil('the clean-up', () => {
    const written = Object.values(readState()).flatMap(({ directories }) =>
      directories.map((path) => path.split('/').at(-1))
    )
    const found = readdirSync(String(process.env.INKCAST_SERVICES_DIR)).filter((name) => name.startsWith('inkcast-'))
    assert.deepEqual(found.sort(), written.sort())
  }, { timeoutMs: 5000 })
  assert.ok(runningServices().redis)
  assert.equal((await services('stop')).code, 0)
})

test('stop does not end another process with the same pid', async (t) => {
  const stranger = spawn('sleep', ['600'])
  t.after(() => stranger.kill())
  writeEntry('redis', {
    url: 'redis://gone',
    processes: [{ pid: Number(stranger.pid), began: 'at another time' }],
    directories: []
  })
  assert.equal((await services('stop')).code, 0)
  assert.equal(stranger.exitCode ?? stranger.signalCode, null)
})

test('an unknown command is refused, with a list of commands', async () => {
  const { code, err } = await services('begin')
  assert.equal(code, 2)
  assert.match(err, /start\|stop\|status\|env/)
})
