import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { oneToEach, rawConnection, textFrame, upgradeRequest, workerOf } from '../helpers/pinned.js'
import { childrenOf } from '../helpers/processes.js'
import { rawWebSocket } from '../helpers/raw-client.js'
import { waitFor } from '../helpers/wait.js'

const REDIS_URL = await ownRedisUrl(fileScope())

/** @typedef {Awaited<ReturnType<typeof startCluster>>} Cluster */

const UNKNOWN = { status: 400, text: '{"code":1,"message":"Session ID unknown"}' }
const CLIENTS = Number(process.env.STRAY_CLIENTS ?? 1000)

/** @param {Cluster} cluster @param {string} result @returns {Promise<number>} */
async function strays (cluster, result) {
  const line = new RegExp(`^inkcast_stray_requests_total\\{.*result="${result}".*\\} (\\d+)$`, 'm').exec(await cluster.metrics())
  return Number(line?.[1] ?? 0)
}

/**
 * A polling session that is connected, all of it over one connection.
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

for (const workers of [2, 3]) {
  describe(`${workers} workers`, () => {
    const scope = fileScope()
    /** @type {Cluster} */
    let cluster
    before(async () => {
      cluster = await startCluster(scope, { WORKERS: String(workers), REDIS_URL, MAX_BYTES_PER_SECOND: '100000000', DRAIN_TIMEOUT: '1000' })
    }, { timeout: 90_000 })

    test('one kept-alive connection carries the sessions of all workers', { timeout: 30_000 }, async (t) => {
      const connections = await oneToEach(t, cluster.url, workers)
      const forwarded = await strays(cluster, 'forwarded')
      const sids = await Promise.all(connections.map((connection) => connection.handshake()))
      assert.equal(new Set(sids.map(workerOf)).size, workers)
      const [connection] = connections
      for (const sid of sids) await connected(connection, sid)
      for (let round = 0; round < 5; round++) {
        for (const [i, sid] of sids.entries()) {
          const guid = `document-${round}-${i}`
          assert.deepEqual(await connection.post(sid, [`42${round}["doc:join",{"guid":"${guid}"}]`]), { status: 200, text: 'ok' })
        }
        for (const [i, sid] of sids.entries()) {
          const { text } = await connection.poll(sid)
          assert.match(text, new RegExp(`^43${round}\\[\\{"ok":true,"guid":"document-${round}-${i}"`))
        }
      }
      assert.equal(connection.connections, 1)
      assert.equal(await strays(cluster, 'forwarded') - forwarded, (workers - 1) * 12)
    })

    test('bodies of 1 MB in pieces, with a length and chunked, arrive whole at the owner', { timeout: 60_000 }, async (t) => {
      const connections = await oneToEach(t, cluster.url, workers)
      const sid = await connected(connections[0])
      const guid = `large-${randomUUID()}`
      await connections[0].post(sid, [`420["doc:join",{"guid":"${guid}"}]`])
      await connections[0].poll(sid)
      for (const [i, connection] of connections.entries()) {
        for (const chunked of [false, true]) {
          const data = `${i}${chunked}${'x'.repeat(20)}`.repeat(50_000).slice(0, 1_000_000)
          const body = Buffer.from(`422["doc:send",{"guid":"${guid}","event":"large","data":"${data}"}]`)
          const pieces = Array.from({ length: Math.ceil(body.length / 40_000) }, (_, n) => body.subarray(n * 40_000, (n + 1) * 40_000))
          assert.deepEqual(await connection.post(sid, pieces, chunked ? {} : { 'content-length': body.length }), { status: 200, text: 'ok' })
          let text = ''
          await waitFor(async () => {
            text += (await connection.poll(sid)).text
            return text.includes('432[{"ok":true') && text.includes('42["large"')
          }, { timeout: 10_000, message: () => `${text.length} characters: ${text.slice(0, 200)}` })
          assert.ok(text.includes(`["large","${data}"`), 'the value came back whole')
        }
      }
    })

    test('an upgrade that reaches another worker is handed over, with the bytes that come with it and right after it', { timeout: 30_000 }, async (t) => {
      const [owner] = await oneToEach(t, cluster.url, 1)
      for (const late of [false, true]) {
        const before = await strays(cluster, 'handed_over')
        const sid = await connected(owner)
        const other = await rawConnection(t, cluster.url, (worker) => worker !== owner.worker)
        const polled = owner.poll(sid)
        if (late) {
          other.write(upgradeRequest(sid))
          other.write(textFrame('2probe'))
        } else {
          other.write(Buffer.concat([Buffer.from(upgradeRequest(sid)), textFrame('2probe')]))
        }
        await other.until((text) => /^HTTP\/1.1 101 /.test(text) && text.endsWith('3probe'), 'the answer to the probe')
        assert.equal((await polled).text, '6', 'the poll is let go')
        other.write(Buffer.concat([textFrame('5'), textFrame('427["doc:join",{"guid":"handed-over"}]')]))
        await other.until((text) => text.includes('437[{"ok":true'), 'the answer over WebSocket')
        assert.equal(await strays(cluster, 'handed_over') - before, 1)
      }
      assert.equal(await strays(cluster, 'failed'), 0)
    })

    test('a session on WebSocket cannot be taken over by its sid: not at its owner, and not through another worker', { timeout: 30_000 }, async (t) => {
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
    })

    test('sessions of nobody are answered as Engine.IO does, on each worker', { timeout: 30_000 }, async (t) => {
      const unknown = await strays(cluster, 'unknown')
      const nobody = `_${'A'.repeat(19)}`
      const connections = await oneToEach(t, cluster.url, workers)
      for (const connection of connections) {
        assert.deepEqual(await connection.poll(nobody), UNKNOWN)
        assert.deepEqual(await connection.post(nobody, ['40']), UNKNOWN)
        // a session that has never been, of a worker that is
        for (const { worker } of connections) assert.deepEqual(await connection.poll(`${worker}${'A'.repeat(18)}`), UNKNOWN)
        const raw = await rawConnection(t, cluster.url, (worker) => worker === connection.worker)
        raw.write(upgradeRequest(nobody))
        assert.match(await raw.end(), /^HTTP\/1.1 400 Bad Request\r\n[^]*Session ID unknown$/)
      }
      assert.equal(await strays(cluster, 'unknown') - unknown, 3 * workers)
      assert.equal(await strays(cluster, 'failed'), 0)
    })

    test('a worker that is replaced lets go of the polls of others: their sessions live on until their own worker says goodbye', { timeout: 60_000 }, async (t) => {
      const connections = await oneToEach(t, cluster.url, workers)
      const sids = await Promise.all(connections.map((connection) => connected(connection)))
      // each session polls at another worker than its own, until it is told to go
      const polled = Promise.all(sids.map(async (sid, i) => {
        const answers = []
        do answers.push(await connections[(i + 1) % workers].poll(sid))
        while (answers.at(-1)?.status === 200 && !answers.at(-1)?.text.includes('gateway:draining'))
        return answers
      }))
      const before = await childrenOf(cluster.pid)
      process.kill(cluster.pid, 'SIGHUP')
      const all = await polled
      for (const answers of all) {
        assert.match(answers.pop()?.text ?? '', /^42\["gateway:draining",/)
        assert.ok(answers.every(({ text }) => text === '6'), JSON.stringify(answers))
      }
      assert.ok(all.flat().length > 0, 'a poll was let go')
      await waitFor(async () => {
        const now = await childrenOf(cluster.pid)
        return now.length === before.length && !now.some(({ pid }) => before.some((old) => old.pid === pid))
      }, { timeout: 30_000, message: 'the end of the reload' })
    })

    test('a killed owner: its sessions are unknown at once, and those of its successor are found', { timeout: 30_000 }, async (t) => {
      const connections = await oneToEach(t, cluster.url, workers)
      const sids = await Promise.all(connections.map((connection) => connected(connection)))
      const [victim] = (await childrenOf(cluster.pid)).filter(({ role }) => role === 'gateway')
      process.kill(victim.pid, 'SIGKILL')
      // which of them it was shows when its connection breaks
      const alive = await Promise.all(sids.map((sid, i) => connections[i].post(sid, ['3']).then(() => true, () => false)))
      assert.equal(alive.filter((answered) => !answered).length, 1)
      const dead = sids[alive.indexOf(false)]
      const survivors = connections.filter((_, i) => alive[i])
      for (const survivor of survivors) {
        const begin = performance.now()
        assert.deepEqual(await survivor.poll(dead), UNKNOWN)
        assert.deepEqual(await survivor.post(dead, ['3'.repeat(100_000)]), UNKNOWN)
        assert.ok(performance.now() - begin < 1000, 'at once')
      }
      await waitFor(cluster.ready, { timeout: 10_000, message: 'a new worker' })
      const successor = (await oneToEach(t, cluster.url, workers)).find(({ worker }) => worker === workerOf(dead))
      assert.ok(successor, 'the number is taken again')
      for (const survivor of survivors) {
        assert.deepEqual(await survivor.poll(dead), UNKNOWN)
        await connected(survivor, await successor.handshake())
      }
    })
  })
}

describe('TLS', () => {
  const file = (/** @type {string} */ name) => fileURLToPath(new URL(`../helpers/tls/${name}`, import.meta.url))
  const scope = fileScope()
  /** @type {Cluster} */
  let cluster
  before(async () => {
    cluster = await startCluster(scope, { WORKERS: '2', REDIS_URL, TLS_CERT_FILE: file('cert.pem'), TLS_KEY_FILE: file('key.pem') })
  }, { timeout: 90_000 })

  /**
   * A session that goes over to WebSocket through another worker.
   * @param {import('node:test').TestContext} t
   * @param {(worker: string) => boolean} [wanted] its owner
   */
  async function tunnelled (t, wanted = () => true) {
    const owner = await rawConnection(t, cluster.url, wanted)
    owner.write('GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const sid = /"sid":"([\w-]{20})"/.exec(await owner.until((text) => /"sid":"[\w-]{20}"/.test(text), 'a session'))?.[1] ?? ''
    const other = await rawConnection(t, cluster.url, (worker) => worker !== owner.worker)
    other.write(upgradeRequest(sid))
    other.write(textFrame('2probe'))
    await other.until((text) => /^HTTP\/1.1 101 /.test(text) && text.endsWith('3probe'), 'the answer to the probe')
    other.write(Buffer.concat([textFrame('5'), textFrame('40')]))
    await other.until((text) => text.includes('40{"sid":'), 'the connection')
    return { owner, other }
  }

  test('an upgrade cannot be handed over, and is forwarded with all its bytes', { timeout: 30_000 }, async (t) => {
    const forwarded = await strays(cluster, 'forwarded')
    const { other } = await tunnelled(t)
    other.write(textFrame(`421["doc:signal",{"guid":"none","event":"x","data":"${'y'.repeat(60_000)}"}]`))
    await other.until((text) => text.includes('431[{"ok":false'), 'the answer over WebSocket')
    assert.equal(await strays(cluster, 'forwarded') - forwarded, 1)
    assert.equal(await strays(cluster, 'handed_over'), 0)
  })

  test('stock clients that upgrade work', { timeout: 30_000 }, async (t) => {
    const forwarded = await strays(cluster, 'forwarded')
    // until one of them had requests at both workers
    await waitFor(async () => {
      await Promise.all(Array.from({ length: 16 }, () => upgraded(t, cluster.url, { ca: readFileSync(file('cert.pem')) })))
      return await strays(cluster, 'forwarded') > forwarded
    }, { timeout: 20_000, message: 'a stray' })
    assert.equal(await strays(cluster, 'handed_over'), 0)
  })

  test('a worker that is replaced has the clients told whose WebSockets go through it', { timeout: 60_000 }, async (t) => {
    const one = await tunnelled(t)
    const another = await tunnelled(t, (worker) => worker !== one.owner.worker)
    process.kill(cluster.pid, 'SIGHUP')
    // whichever is replaced first: one of them hears it from its own worker, the other because it goes through that one
    for (const { other } of [one, another]) await other.until((text) => text.includes('42["gateway:draining",'), 'the news', 30_000)
  })
})

/**
 * A stock client that begins with polling and goes over to WebSocket.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string} url
 * @param {Parameters<typeof createClient>[2]} [more] options
 */
async function upgraded (t, url, more) {
  const client = createClient(t, url, { transports: ['polling', 'websocket'], ...more })
  await new Promise((resolve, reject) => {
    client.once('connect', () => resolve(undefined))
    client.once('connect_error', reject)
  })
  const { engine } = client.io
  if (engine.transport.name !== 'websocket') {
    await new Promise((resolve, reject) => {
      engine.once('upgrade', resolve)
      engine.once('upgradeError', reject)
      engine.once('close', reject)
    })
  }
  return client
}

test(`${CLIENTS} clients that begin with polling and upgrade, 64 at a time: not one fails`, { timeout: 280_000 }, async (t) => {
  const cluster = await startCluster(t, { WORKERS: '3', REDIS_URL })
  /** @type {string[]} */
  const failures = []
  let left = CLIENTS
  await Promise.all(Array.from({ length: 64 }, async () => {
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
  }))
  assert.deepEqual(failures, [])
  assert.ok(await strays(cluster, 'handed_over') > CLIENTS / 10)
  assert.ok(await strays(cluster, 'forwarded') > CLIENTS / 10)
  assert.equal(await strays(cluster, 'failed'), 0)
  assert.equal(await strays(cluster, 'unknown'), 0)
  await waitFor(async () => /^inkcast_connections\{.*transport="websocket".*\} 0$/m.test(await cluster.metrics()), { timeout: 10_000, message: 'all of them to be gone' })
})
