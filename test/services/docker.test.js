/**
 * The container code without an engine: a stand-in for `docker` takes the same arguments and runs the command on this
 * machine. It shows that the calls fit together, not how the images behave.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Cluster, Redis } from 'ioredis'
import { makeDirectory, removeDirectory } from './directory.js'
import { dockerAnswers, startRedisClusterInDocker, startRedisInDocker } from './docker.js'
import { provideServices } from './provide.js'
import { waitUntil } from './wait.js'

const STAND_IN = `#!/bin/sh
echo "$*" >>"$STATE/calls"
command=$1; shift
case $command in
  info) echo 28.0.0;;
  image) exit 0;;
  run)
    while :; do
      case $1 in
        --rm|-d) shift;;
        --name) name=$2; shift 2;;
        -p|-e) shift 2;;
        *) break;;
      esac
    done
    shift
    echo "$@" >"$STATE/$name.command"
    cd "$STATE"; setsid "$@" >"$STATE/$name.log" 2>&1 & echo $! >"$STATE/$name";;
  kill) kill -s "\${2#SIG}" -- -$(cat "$STATE/$3"); [ "$2" != SIGKILL ] || rm "$STATE/$3";;
  wait) while [ -e "$STATE/$1" ]; do sleep 0.05; done;;
  logs) cat "$STATE/$3.log";;
  rm) [ -e "$STATE/$2" ] || exit 1; kill -s KILL -- -$(cat "$STATE/$2"); rm "$STATE/$2";;
  *) exit 2;;
esac
`

const directory = makeDirectory('docker-test')
const before = { ...process.env }
writeStandIn(STAND_IN)
process.env.STATE = directory
process.env.PATH = `${directory}:${before.PATH}`
// not t.after: that runs in order of registration, and a container must stop before the stand-in is removed
after(() => {
  process.env = before
  const left = containers()
  removeDirectory(directory)
  assert.deepEqual(left, [])
})

/** @param {string} script */
function writeStandIn (script) {
  writeFileSync(join(directory, 'docker'), script)
  chmodSync(join(directory, 'docker'), 0o755)
}

/** Names of the running containers. */
const containers = () => readdirSync(directory).filter((name) => /^inkcast-test-[0-9a-f]+$/.test(name))

test('without a responding engine there is no Docker', async (t) => {
  t.after(() => writeStandIn(STAND_IN))
  assert.equal(await dockerAnswers(), true)
  writeStandIn('#!/bin/sh\necho no daemon >&2; exit 1\n')
  assert.equal(await dockerAnswers(), false)
  writeStandIn('#!/bin/sh\nexec sleep 600\n')
  assert.equal(await dockerAnswers(), false)
})

test('a Redis in a container responds, and the container is removed when it is stopped or killed', async (t) => {
  const first = await startRedisInDocker()
  t.after(first.stop)
  const client = new Redis(first.url, { retryStrategy: () => null })
  client.on('error', () => {})
  assert.equal(await client.ping(), 'PONG')
  client.disconnect()
  await first.stop()
  assert.deepEqual(containers(), [])
  await first.stop()

  const second = await startRedisInDocker()
  await second.kill()
  assert.deepEqual(containers(), [])
  await second.stop()
  assert.match(
    readFileSync(join(directory, 'calls'), 'utf8'),
    /^run --rm -d --name inkcast-test-\w+ -p 127\.0\.0\.1:(\d+):\1 redis:7 redis-server --port \1 /m
  )
})

test('a Redis Cluster in one container is complete', async (t) => {
  const cluster = await startRedisClusterInDocker()
  t.after(cluster.stop)
  const client = new Cluster(cluster.url.split(','))
  t.after(() => client.disconnect())
  for (let index = 0; index < 20; index++) assert.equal(await client.set(`key-${index}`, 'value'), 'OK')
})

test('a container is removed when the process that started it is killed', async () => {
  const script = `
    import { startRedisInDocker } from '${new URL('docker.js', import.meta.url).href}'
    await startRedisInDocker()
    console.log('started')
    process.kill(process.pid, 'SIGKILL')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [started] = await once(child.stdout, 'data')
  assert.equal(String(started), 'started\n')
  await waitUntil('the end of the container', () => assert.deepEqual(containers(), []), { timeoutMs: 5000 })
})

test('services that fail to start in Docker are started without it, unless Docker was requested', async (t) => {
  t.after(() => writeStandIn(STAND_IN))
  writeStandIn(STAND_IN.replace('run)', 'run) echo no space left >&2; exit 125;;\n  never)'))
  process.env.INKCAST_SERVICES_DIR = directory // ignore services that a developer runs
  t.after(() => { delete process.env.INKCAST_SERVICES_DIR })
  const env = { REDIS_CLUSTER_URL: 'redis://given', KAFKA_BROKERS: 'given:1', KAFKA_CLASSPATH: '/given/*' }
  /** @type {string[]} */
  const said = []
  const services = await provideServices({ env, say: (line) => { said.push(line) } })
  t.after(services.stop)
  assert.match(
    said.join('\n'),
    /redis: redis:7 does not start in Docker: [^]*no space left[^]*trying without Docker[^]*redis: redis:.* \(local/
  )
  assert.deepEqual({ ...services.env, REDIS_URL: '' }, { ...env, REDIS_URL: '' })
  const client = new Redis(services.env.REDIS_URL)
  assert.equal(await client.ping(), 'PONG')
  client.disconnect()
  await assert.rejects(
    provideServices({ env: { ...env, TEST_SERVICES: 'docker' } }),
    /^Error: redis: redis:7 does not start in Docker/
  )
})
