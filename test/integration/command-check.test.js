import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandFolder } from '../helpers/command.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { startOwnRedis } from '../helpers/own-redis.js'
import { waitFor } from '../helpers/wait.js'
import { freePort, freePorts } from '../services/ports.js'

/** `inkcast check` with real services, and a start without them. */

const { server, redis } = await startOwnRedis('check')
const topics = freshTopics(fileScope())

/** @param {import('node:test').TestContext} t @param {Record<string, string>} [env] */
async function folder (t, env = {}) {
  const [port, apiPort, adminPort] = await freePorts(3)
  return commandFolder(t, {
    env: {
      ...topics.env,
      REDIS_URL: server.url,
      WORKERS: '1',
      PORT: String(port),
      API_PORT: String(apiPort),
      ADMIN_PORT: String(adminPort),
      ...env
    }
  })
}

test('check finds Redis and Kafka usable, and changes neither', async (t) => {
  const { run } = await folder(t)
  for (const again of ['first', 'second']) {
    const { code, stdout } = await run(['check'])
    assert.equal(code, 0, stdout)
    assert.match(stdout, /^ok +redis +version \d+\.\S+, answers in \d+\.\d ms/m)
    assert.match(stdout, new RegExp(`^ok +kafka +reachable; .*${topics.downlink}.* will be created at the start`, 'm'), again)
  }
  assert.deepEqual(await redis.client.keys('*'), [])
})

test('check names missing topics, an eviction policy, a refused password and a missing permission', async (t) => {
  await redis.client.config('SET', 'maxmemory', '100mb')
  await redis.client.config('SET', 'maxmemory-policy', 'allkeys-lru')
  t.after(() => redis.client.config('SET', 'maxmemory-policy', 'noeviction'))
  const { run } = await folder(t)
  const { code, stdout } = await run(['check'], { env: { KAFKA_TOPIC_PARTITIONS: '0' } })
  assert.equal(code, 1)
  assert.match(stdout, new RegExp(`^error +kafka +Kafka has no topic .*${topics.uplink}.*\n +→ create it`, 'm'))
  assert.match(stdout, /^error +redis +Redis removes keys .*allkeys-lru.*\n +→ redis-cli CONFIG SET maxmemory-policy noeviction/m)

  const address = server.url.replace('redis://', '')
  await redis.client.call('ACL', 'SETUSER', 'reader', 'on', '>password', '~*', '&*', '+@read', '+ping', '+info', '+client')
  for (const [user, problem] of [
    ['reader:password', /error +redis .*(?:NOPERM|no permissions)/], ['reader:wrong', /error +redis .*WRONGPASS/]
  ]) {
    const refused = await run(['check'], { env: { REDIS_URL: `redis://${user}@${address}` } })
    assert.equal(refused.code, 1)
    assert.match(refused.stdout, /** @type {RegExp} */ (problem))
    assert.ok(!refused.stdout.includes('password@'))
  }
})

test('a start says in one line, at every log level, that Kafka is unreachable, with address and cause', async (t) => {
  const port = await freePort()
  await Promise.all(['silent', 'error'].map(async (level) => {
    const { start } = await folder(t, { KAFKA_BROKERS: `127.0.0.1:${port}`, LOG_LEVEL: level })
    const started = start([])
    await waitFor(() => /kafka.*\n/i.test(started.output.stderr), { timeout: 30_000, message: () => JSON.stringify(started.output) })
    started.kill('SIGTERM')
    const { stdout, stderr } = await started.closed
    assert.deepEqual(stderr.trimEnd().split('\n').filter((line) => /kafka/i.test(line)), [
      `inkcast: Kafka cannot be used at 127.0.0.1:${port} (KAFKA_BROKERS): connect ECONNREFUSED 127.0.0.1:${port}; trying again`
    ])
    assert.equal(stdout, '')
  }))
})
