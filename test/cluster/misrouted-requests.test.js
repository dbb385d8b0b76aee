import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { upgraded } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { sum } from '../helpers/metrics-text.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { oneToEach, rawConnection, textFrame, upgradeRequest, workerOf } from '../helpers/pinned.js'
import { childrenOf } from '../helpers/processes.js'
import { rawWebSocket } from '../helpers/raw-client.js'
import { smuggleNothing } from '../helpers/smuggling.js'
import { waitFor } from '../helpers/wait.js'

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
/** Of a crowd. */
const CLIENTS = Number(process.env.STRAY_CLIENTS ?? 150)
/** With three, there is also a worker that is neither the owner nor asked. */
const workers = 3

/** @typedef {Awaited<ReturnType<typeof startCluster>>} Cluster */

/** @param {Cluster} cluster @param {string} result @returns {Promise<number>} */
const misroutedTotal = async (cluster, result) =>
  sum(await cluster.metrics(), 'inkcast_stray_requests_total', `result="${result}"`)

/**
 * A connected polling session over a single connection.
 * @param {Awaited<ReturnType<typeof oneToEach>>[number]} connection
 * @param {string} [sid]
 * @returns {Promise<string>} sid
 */
async function connected (connection, sid) {
  const own = sid ?? await connection.handshake()
  assert.deepEqual(await connection.post(own, ['40']), { status: 200, text: 'ok' })
  assert.match((await connection.poll(own)).text, /^40\{"sid":"[\w-]{20}"/)
  return own
}

/** @type {Cluster} */
let cluster
before(async () => {
  cluster = await startCluster(scope, {
    WORKERS: String(workers),
    REDIS_URL,
    MAX_BYTES_PER_SECOND: '100000000',
    // the time in which a client sends its next poll is a part of it, and a busy machine needs more than 500 ms
    DRAIN_TIMEOUT: '10000'
  })
}, { timeout: 90_000 })

test('one kept-alive connection carries the sessions of all workers', { timeout: 90_000 }, async (t) => {
  const connections = await oneToEach(t, cluster.url, workers)
  const forwarded = await misroutedTotal(cluster, 'forwarded')
  const sids = await Promise.all(connections.map((connection) => connection.handshake()))
  assert.equal(new Set(sids.map(workerOf)).size, workers)
  const [connection] = connections
  for (const sid of sids) await connected(connection, sid)
  for (let round = 0; round < 5; round++) {
    for (const [i, sid] of sids.entries()) {
      const guid = `document-${round}-${i}`
      assert.deepEqual(await connection.post(sid, [`42${round}["doc:join",{"guid":"${guid}"}]`]), {
        status: 200,
        text: 'ok'
      })
    }
    for (const [i, sid] of sids.entries()) {
      const { text } = await connection.poll(sid)
      assert.match(text, new RegExp(`^43${round}\\[\\{"ok":true,"guid":"document-${round}-${i}"`))
    }
  }
  assert.equal(connection.connections, 1)
  assert.equal(await misroutedTotal(cluster, 'forwarded') - forwarded, (workers - 1) * 12)
})

test(
  'bodies of 1 MB in pieces, with a length or chunked, arrive whole at the owner',
  { timeout: 180_000 },
  async (t) => {
    const connections = await oneToEach(t, cluster.url, workers)
    const sid = await connected(connections[0])
    const guid = `large-${randomUUID()}`
    await connections[0].post(sid, [`420["doc:join",{"guid":"${guid}"}]`])
    await connections[0].poll(sid)
    for (const [i, connection] of connections.entries()) {
      for (const chunked of [false, true]) {
        const data = `${i}${chunked}${'x'.repeat(20)}`.repeat(50_000).slice(0, 1_000_000)
        const body = Buffer.from(`422["doc:send",{"guid":"${guid}","event":"large","data":"${data}"}]`)
        const pieces = Array.from({ length: Math.ceil(body.length / 40_000) }, (_, n) =>
          body.subarray(n * 40_000, (n + 1) * 40_000)
        )
        assert.deepEqual(await connection.post(sid, pieces, chunked ? {} : { 'content-length': body.length }), {
          status: 200,
          text: 'ok'
        })
        let text = ''
        await waitFor(
          async () => {
            text += (await connection.poll(sid)).text
            return text.includes('432[{"ok":true') && text.includes('42["large"')
          },
          { timeout: 10_000, message: () => `${text.length} characters: ${text.slice(0, 200)}` }
        )
        assert.ok(text.includes(`["large","${data}"`), 'the value came back whole')
      }
    }
  }
)

test('no request in the body of another one reaches a worker', { timeout: 90_000 }, async (t) => {
  const sent = await smuggleNothing(cluster.url, [cluster])
  t.diagnostic(`${sent} requests`)
  assert.equal(await misroutedTotal(cluster, 'refused'), 0)
})

test(
  'an upgrade that reaches another worker is handed over, with the bytes that arrive with it and directly after it',
  { timeout: 90_000 },
  async (t) => {
    const [owner] = await oneToEach(t, cluster.url, 1)
    for (const late of [false, true]) {
      const before = await misroutedTotal(cluster, 'handed_over')
      const sid = await connected(owner)
      const other = await rawConnection(t, cluster.url, (worker) => worker !== owner.worker)
      const polled = owner.poll(sid)
      if (late) {
        other.write(upgradeRequest(sid))
        other.write(textFrame('2probe'))
      } else {
        other.write(Buffer.concat([Buffer.from(upgradeRequest(sid)), textFrame('2probe')]))
      }
      await other.until(
        (text) => /^HTTP\/1.1 101 /.test(text) && text.endsWith('3probe'),
        'the answer to the probe'
      )
      assert.equal((await polled).text, '6', 'the pending poll is released')
      other.write(Buffer.concat([textFrame('5'), textFrame('427["doc:join",{"guid":"handed-over"}]')]))
      await other.until((text) => text.includes('437[{"ok":true'), 'the answer over WebSocket')
      assert.equal((await misroutedTotal(cluster, 'handed_over')) - before, 1)
    }
    assert.equal(await misroutedTotal(cluster, 'failed'), 0)
  }
)

test(
  'a session on WebSocket cannot be taken over by its sid: not at its owner, and not through another worker',
  { timeout: 90_000 },
  async (t) => {
    const victim = await rawWebSocket(t, cluster.url)
    const { sid } = JSON.parse((await victim.text(/^0\{/)).slice(1))
    await victim.connect()
    const connections = await oneToEach(t, cluster.url, workers)
    for (const { worker } of connections) {
      const thief = await rawConnection(t, cluster.url, (reached) => reached === worker)
      thief.write(upgradeRequest(sid))
      assert.match(await thief.end(), /^HTTP\/1.1 400 Bad Request/)
    }
    for (const connection of connections) {
      assert.equal((await connection.poll(sid)).status, 400)
      assert.equal((await connection.post(sid, ['41'])).status, 400)
    }
    victim.send('429["doc:join",{"guid":"still-mine"}]')
    await victim.text(/^439\[\{"ok":true/)
  }
)

test(
  `${CLIENTS} clients start with polling and upgrade, 32 at a time, without a failure`,
  { timeout: 240_000 },
  async () => {
    const [handedOver, forwarded] = await Promise.all(['handed_over', 'forwarded'].map((result) => misroutedTotal(cluster, result)))
    /** @type {string[]} */
    const failures = []
    let left = CLIENTS
    await Promise.all(
      Array.from({ length: 32 }, async () => {
        while (left-- > 0) {
          /** @type {(() => unknown)[]} */
          const stops = []
          try {
            const client = await upgraded({ after: (stop) => stops.push(stop) }, cluster.url)
            const answer = await client.ask('doc:join', { guid: `document-${left % 50}` })
            if (!answer.ok) failures.push(answer.error.code)
          } catch (error) {
            failures.push(error instanceof Error ? error.message : String(error))
          }
          for (const stop of stops) stop()
        }
      })
    )
    assert.deepEqual(failures, [])
    assert.ok(await misroutedTotal(cluster, 'handed_over') - handedOver > CLIENTS / 20)
    assert.ok(await misroutedTotal(cluster, 'forwarded') - forwarded > CLIENTS / 20)
    assert.equal(await misroutedTotal(cluster, 'failed'), 0)
    assert.equal(await misroutedTotal(cluster, 'unknown'), 0)
    await waitFor(async () => /^inkcast_connections\{.*transport="websocket".*\} 0$/m.test(await cluster.metrics()), {
      timeout: 10_000,
      message: 'all connections to end'
    })
  }
)

/** A ping may come with the packet after it. @param {{ text: string }} answer to a poll */
const packetsOf = ({ text }) => text.split('\x1e')

test(
  'a worker that is replaced releases the polls of other workers\' sessions, which continue until their own worker drains',
  { timeout: 180_000 },
  async (t) => {
    const connections = await oneToEach(t, cluster.url, workers)
    const sids = await Promise.all(connections.map((connection) => connected(connection)))
    // each session polls at a worker other than its own, until it gets gateway:draining
    const polled = Promise.all(
      sids.map(async (sid, i) => {
        const answers = []
        const connection = connections[(i + 1) % workers]
        for (;;) {
          const answer = await connection.poll(sid)
          answers.push(answer)
          if (answer.status !== 200 || answer.text.includes('gateway:draining')) return answers
          // an unanswered ping ends the session when the reload takes long
          if (packetsOf(answer).includes('2')) assert.equal((await connection.post(sid, ['3'])).status, 200)
        }
      })
    )
    const before = await childrenOf(cluster.pid)
    process.kill(cluster.pid, 'SIGHUP')
    const all = await polled
    for (const answers of all) {
      const packets = answers.flatMap(packetsOf)
      const seen = JSON.stringify(packets)
      assert.match(packets.pop() ?? '', /^42\["gateway:draining",/, seen)
      assert.ok(packets.every((packet) => /^[26]$/.test(packet)), seen)
    }
    assert.ok(all.flat().some(({ text }) => text === '6'), 'a poll was released')
    await waitFor(
      async () => {
        const now = await childrenOf(cluster.pid)
        return now.length === before.length && !now.some(({ pid }) => before.some((old) => old.pid === pid))
      },
      { timeout: 30_000, message: 'the end of the reload' }
    )
  }
)
