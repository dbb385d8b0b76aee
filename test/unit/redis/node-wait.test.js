import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { systemRandom as random } from '../../../src/base/common/random.js'
import { NodeWait } from '../../../src/redis/durability/node-wait.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

const gauge = { inc () {}, dec () {}, observe () {} }
const metrics = /** @type {any} */ ({ write_waits_pending: gauge, write_waits: gauge, write_wait_seconds: gauge })

/** A connection whose commands are answered by a test. */
class FakeRedis extends EventEmitter {
  status = 'ready'
  generation = 'one'
  /** Of commands that are not answered yet, by name. @type {Record<string, (reply: unknown) => void>} */
  answers = {}
  async connect () {}
  disconnect () {}
  defineCommand () {}
  async info () { return `role:master\r\nmaster_replid:${this.generation}\r\n` }
  ping () { return new Promise((resolve) => { this.answers.ping = resolve }) }
  /** @param {string} name */
  call (name) { return new Promise((resolve) => { this.answers[name] = resolve }) }
}

/** @param {import('node:test').TestContext} t */
function begin (t) {
  /** @type {FakeRedis[]} */
  const connections = []
  const clock = manualClock()
  const topology = { connect: () => connections[connections.push(new FakeRedis()) - 1] }
  const node = new NodeWait('redis', {
    redis: /** @type {any} */ ({ topology, track () {} }), name: 'test', mode: 'replicas', timeout: 3000,
    metrics, log: recordingLog().log, clock, random
  })
  t.after(() => node.stop())
  return { node, connections, turns: () => clock.pass(0) }
}

test('writes go over the connection that waits for them, and later ones over the other one, after those before', async (t) => {
  const { node, connections, turns } = begin(t)
  const place = await node.before(false)
  assert.equal((await node.before(false))?.redis, place?.redis, 'the same one until it waits')
  const confirmed = node.confirmed(place, 'key')
  const [waits] = connections.filter(({ answers }) => 'WAIT' in answers)
  assert.equal(waits, place?.redis)
  /** @type {unknown} */
  let next
  node.before(false).then((place) => { next = place?.redis })
  await turns()
  assert.equal(next, undefined, 'the writes before may not be executed yet')
  waits.answers.ping('PONG')
  await turns()
  assert.equal(next, connections.find((connection) => connection !== waits))
  waits.answers.WAIT(1)
  await confirmed
})

test('a write is not confirmed by a server that was demoted and promoted again since, over the same connection', async (t) => {
  const { node, connections, turns } = begin(t)
  const place = await node.before(false)
  for (const connection of connections) connection.generation = 'two'
  const confirmed = assert.rejects(node.confirmed(place, 'key'), { code: 'timeout' })
  await turns()
  connections.find(({ answers }) => 'WAIT' in answers)?.answers.WAIT(1)
  await confirmed
  assert.equal(node.trouble, null)
  assert.equal((await node.before(false))?.generation, 'two')
})
