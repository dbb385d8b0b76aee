import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeDirectory, removeDirectory } from '../../services/directory.js'
import { ensureInstalled } from '../../services/install.js'
import { ensureKafkaJars } from '../../services/kafka-jars.js'
import { withLock } from '../../services/lock.js'
import { freePort, freePorts } from '../../services/ports.js'
import { endProcess, identify, isAlive } from '../../services/process-identity.js'
import { readState, runningServices, writeEntry } from '../../services/state.js'
import { kafkaBrokers, kafkaClasspath, redisClusterUrl, redisUrl } from '../../helpers/env.js'

/** @param {import('node:test').TestContext} t */
function scratch (t) {
  const directory = makeDirectory('state-test')
  t.after(() => removeDirectory(directory))
  return directory
}

/**
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string | undefined>} variables undefined removes one
 */
function withEnv (t, variables) {
  const before = { ...process.env }
  t.after(() => { process.env = before })
  process.env = { ...process.env, ...variables }
  for (const [name, value] of Object.entries(variables)) if (value === undefined) delete process.env[name]
}

/** @returns {Promise<number>} pid of a process that has ended */
async function deadPid () {
  const child = spawn('true')
  await once(child, 'exit')
  return Number(child.pid)
}

test('a pid is distinguished from its previous process', async () => {
  const own = identify(process.pid)
  assert.ok(own)
  assert.equal(isAlive(own), true)
  assert.equal(isAlive({ ...own, began: `${own.began}1` }), false)
  assert.equal(identify(await deadPid()), undefined)
})

test('another process with the same pid is not ended', async (t) => {
  const child = spawn('sleep', ['600'])
  t.after(() => child.kill('SIGKILL'))
  const identity = identify(Number(child.pid))
  assert.ok(identity)
  assert.equal(await endProcess({ ...identity, began: 'at another time' }), false)
  assert.equal(isAlive(identity), true)
  assert.equal(await endProcess(identity), true)
  assert.equal(isAlive(identity), false)
})

test('a lock has one owner at a time', async (t) => {
  const file = join(scratch(t), 'lock')
  let inside = 0
  let most = 0
  await Promise.all(Array.from({ length: 5 }, () => withLock(file, async () => {
    most = Math.max(most, ++inside)
    await new Promise((resolve) => setTimeout(resolve, 5))
    inside--
  }, { everyMs: 1 })))
  assert.equal(most, 1)
  assert.equal(existsSync(file), false)
})

test('a lock is released when the work fails, and taken over from a dead owner', async (t) => {
  const file = join(scratch(t), 'lock')
  await assert.rejects(withLock(file, async () => { throw new Error('work') }), /work/)
  writeFileSync(file, JSON.stringify({ pid: await deadPid(), began: 'earlier' }))
  assert.equal(await withLock(file, async () => 'in'), 'in')
})

test('waiting for a busy owner has a timeout', async (t) => {
  const file = join(scratch(t), 'lock')
  await withLock(file, () =>
    assert.rejects(
      withLock(file, async () => {}, { timeoutMs: 20, everyMs: 5 }),
      new RegExp(`process ${process.pid} holds`)
    )
  )
})

test('free ports are free, different, and below the range of outgoing connections', async () => {
  const ports = await freePorts(20)
  assert.equal(new Set(ports).size, 20)
  assert.ok(Math.max(...ports) < 32768)
  const server = createServer()
  server.listen(await freePort(), '127.0.0.1')
  await once(server, 'listening')
  server.close()
})

test('only services whose processes all run count as running', async (t) => {
  withEnv(t, { INKCAST_SERVICES_DIR: join(scratch(t), 'services') })
  assert.deepEqual(readState(), {})
  const own = identify(process.pid)
  assert.ok(own)
  writeEntry('redis', { url: 'redis://one', processes: [own], directories: [] })
  writeEntry('cluster', {
    url: 'redis://two',
    processes: [own, { pid: await deadPid(), began: 'earlier' }],
    directories: []
  })
  assert.deepEqual(Object.keys(readState()), ['redis', 'cluster'])
  assert.deepEqual(Object.keys(runningServices()), ['redis'])
  writeEntry('redis', undefined)
  assert.deepEqual(Object.keys(readState()), ['cluster'])
})

test('tests find the services in the environment, else in the state, else get an error with instructions', async (t) => {
  withEnv(t, {
    INKCAST_SERVICES_DIR: scratch(t),
    REDIS_URL: 'redis://env',
    REDIS_CLUSTER_URL: undefined,
    KAFKA_BROKERS: undefined,
    KAFKA_CLASSPATH: undefined
  })
  const own = identify(process.pid)
  assert.ok(own)
  writeEntry('redis', { url: 'redis://state', processes: [own], directories: [] })
  writeEntry('kafka', { url: 'broker:1', classpath: '/jars/*', processes: [own], directories: [] })
  assert.equal(redisUrl(), 'redis://env')
  assert.equal(kafkaBrokers(), 'broker:1')
  assert.equal(kafkaClasspath(), '/jars/*')
  assert.throws(redisClusterUrl, /REDIS_CLUSTER_URL is not set.*run "npm test" or "npm run services start" first/)
})

/**
 * A PATH with only these programs, each printing the given text.
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} programs
 */
function withPrograms (t, programs) {
  const bin = scratch(t)
  withEnv(t, { PATH: bin })
  const add = (/** @type {string} */ name, /** @type {string} */ output) => {
    writeFileSync(join(bin, name), `#!/bin/sh\necho '${output}'\n`)
    chmodSync(join(bin, name), 0o755)
  }
  for (const [name, output] of Object.entries(programs)) add(name, output)
  return add
}

const JAVA_17 = 'openjdk version "17.0.15" 2025-04-15'
const REDIS_7 = 'Redis server v=7.0.15 sha=00000000:0'

test('only the missing programs are installed', async (t) => {
  const add = withPrograms(t, { java: JAVA_17 })
  t.mock.method(console, 'error', () => {})
  /** @type {string[][]} */
  const installed = []
  await ensureInstalled(['redis-server', 'java'], {
    mayInstall: () => true,
    install: async (packages) => {
      installed.push(packages)
      add('redis-server', REDIS_7)
    }
  })
  assert.deepEqual(installed, [['redis-server']])
})

test('if nothing may be installed the error names everything that is missing or too old', async (t) => {
  withPrograms(t, { java: 'openjdk version "11.0.20" 2023-07-18' })
  const install = async () => assert.fail('installed')
  await assert.rejects(
    ensureInstalled(['redis-server', 'java', 'mvn'], { mayInstall: () => false, install }),
    (/** @type {Error} */ { message }) => {
      assert.match(
        message,
        /Redis 7 or later \(redis-server\); a Java runtime 17 or later \(java\), found version 11; Maven 3 or later \(mvn\)/
      )
      assert.match(message, /apt-get install redis-server default-jre-headless maven/)
      return true
    }
  )
  withPrograms(t, { java: 'openjdk version "1.8.0_402"' })
  await assert.rejects(ensureInstalled(['java'], { mayInstall: () => false, install }), /found version 1/)
})

test('concurrent downloads of the Kafka jars share one, and a failed one is never used', async (t) => {
  const cache = join(scratch(t), 'cache')
  withPrograms(t, { java: JAVA_17, mvn: 'Apache Maven 3.8.7' })
  t.mock.method(console, 'error', () => {})
  await assert.rejects(ensureKafkaJars({ cache, run: async (args) => {
    fill(args, 'half')
    throw new Error('no network')
  } }), /no network/)
  assert.deepEqual(readdirSync(cache), [])

  let runs = 0
  const run = async (/** @type {string[]} */ args) => {
    runs++
    await new Promise((resolve) => setTimeout(resolve, 50))
    fill(args, 'kafka')
  }
  const [first, second] = await Promise.all([ensureKafkaJars({ cache, run }), ensureKafkaJars({ cache, run })])
  assert.equal(runs, 1)
  assert.equal(first, second)
  assert.deepEqual(readdirSync(first.slice(0, -2)), ['kafka.jar'])
  assert.equal(readdirSync(cache).length, 1)
})

/** @param {string[]} args of Maven @param {string} name */
function fill (args, name) {
  const directory = /** @type {string} */ (args.find((arg) => arg.startsWith('-DoutputDirectory='))).split('=')[1]
  mkdirSync(directory)
  writeFileSync(join(directory, `${name}.jar`), '')
}
