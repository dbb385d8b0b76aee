import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { connectClient } from '../helpers/clients.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { publishOnce } from '../helpers/post.js'
import { recordingLog } from '../helpers/recording-log.js'
import { startRoles } from '../helpers/roles.js'
import { rulesFile } from '../helpers/rules-file.js'
import { waitFor } from '../helpers/wait.js'

/** Records per document of a load, and the time between two of them, ms. */
const RECORDS = 240
const EVERY = 10

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
const topics = freshTopics(scope)
const kind = `kind-${randomUUID()}/`
const file = rulesFile(scope, { rules: [{ prefix: kind, history: { size: 200 } }] })
const { log, lines } = recordingLog()
/** @type {Awaited<ReturnType<typeof startRoles>>} */
let cluster
before(async () => {
  cluster = await startRoles(scope, { WORKERS: '2', REDIS_URL, DOCUMENT_RULES_FILE: file.path, ...topics.env }, log)
}, { timeout: 90_000 })

/** @param {Awaited<ReturnType<typeof connectClient>>} client */
const seen = ({ received }) => received.filter(({ event }) => event === 'message')

/** @param {string} name @param {RegExp} labels @returns {Promise<number[]>} values of all processes */
async function metric (name, labels) {
  const lines = (await cluster.metrics()).split('\n').filter((line) => line.startsWith(name) && labels.test(line))
  return lines.map((line) => Number(line.slice(line.lastIndexOf(' '))))
}

test('the file changes under load, in all roles: every record arrives live once, and every resume is whole', {
  timeout: 120_000
}, async (t) => {
  const guids = Array.from({ length: 2 }, (_, i) => `${kind}${i}`)
  // of each document two, on two workers
  const live = await Promise.all(guids.flatMap((guid) => [guid, guid]).map(async (guid, i) => {
    const client = await connectClient(t, cluster.urls[i % 2])
    const { position } = await client.ask('doc:join', { guid, state: {} })
    return Object.assign(client, { guid, position })
  }))
  let stopped = false
  /** Clients that come and go with their positions: resyncs, and records after each resume. */
  const resyncs = /** @type {string[]} */ ([])
  const wandering = guids.map(async (guid, i) => {
    let position = live[2 * i].position
    /** @type {number[]} */
    const offsets = []
    const slides = new Map()
    for (let round = 0; ; round++) {
      const last = stopped
      const client = await connectClient(t, cluster.urls[round % 2])
      client.on('doc:resync', ({ reason }) => { resyncs.push(`${guid} ${reason}`) })
      const answer = await client.ask('doc:join', { guid, position })
      assert.equal(answer.recovered, true, `${guid}, round ${round}`)
      await new Promise((resolve) => { setTimeout(resolve, 100 * Math.random()) })
      client.disconnect()
      let at = position.offset
      for (const { meta, payload } of seen(client)) {
        // a hole is known, or the record was live
        assert.ok((meta.after ?? meta.offset - 1) <= at, `${guid}: ${at}, then ${JSON.stringify(meta)}`)
        if (meta.offset <= at) continue
        at = meta.offset
        offsets.push(at)
        slides.set(payload.key, payload.i)
      }
      position = { ...position, offset: Math.max(at, answer.position.offset) }
      if (last) return { slides, offsets }
    }
  })
  const publishing = guids.map(async (guid) => {
    for (let i = 1; i <= RECORDS; i++) {
      const key = i % 20 === 0 ? undefined : `k${i % 3}`
      await publishOnce(cluster, encodeURIComponent(guid), { i, key: key ?? 'none' }, key === undefined ? {} : { 'x-key': key })
      await new Promise((resolve) => { setTimeout(resolve, EVERY) })
    }
  })
  const [loads] = [await metric('inkcast_settings_file_loads_total', /DOCUMENT_RULES_FILE.*loaded/)]
  const loadedOnce = loads.reduce((sum, value) => sum + value, 0)
  const changes = [
    { rules: [{ prefix: kind, history: { size: 150, bytes: 20_000 }, presence: false }] },
    { rules: [{ prefix: kind, history: { size: 120, ttl: 100 }, signals: 'nobody' }] },
    '{ "rules": [{ "prefix": 1 }] }',
    { rules: [{ prefix: kind, history: { size: 300, bytes: 30_000 }, signals: 'nobody', rate: 5 }] }
  ]
  const sum = async (/** @type {RegExp} */ labels) =>
    (await metric('inkcast_settings_file_loads_total', labels)).reduce((total, value) => total + value, 0)
  let [loaded, wrong] = [loadedOnce, 0]
  for (const change of changes) {
    file.write(change)
    // until each of the four roles (2 gateway workers, ingest, api) has read it: a busy one would pass over a
    // change that is soon followed by the next
    if (typeof change === 'string') wrong += 4
    else loaded += 4
    await waitFor(async () =>
      await sum(/DOCUMENT_RULES_FILE.*loaded/) === loaded && await sum(/DOCUMENT_RULES_FILE.*wrong/) === wrong, {
      timeout: 30_000,
      message: () => `${loaded} loads, ${wrong} refused`
    })
  }
  await Promise.all(publishing)
  await waitFor(() => live.every((client) => seen(client).length >= RECORDS), {
    timeout: 20_000,
    message: () => `all live records; there are ${live.map((client) => seen(client).length)}`
  })
  stopped = true
  for (const [i, { offsets, slides }] of (await Promise.all(wandering)).entries()) {
    assert.deepEqual(offsets, [...new Set(offsets)].sort((a, b) => a - b), 'in order, each once')
    // the newest of each key, and of those without one
    const newest = new Map()
    for (const { payload } of seen(live[2 * i])) newest.set(payload.key, payload.i)
    assert.deepEqual(Object.fromEntries(slides), Object.fromEntries(newest))
  }
  for (const client of live) {
    assert.deepEqual(seen(client).map(({ payload }) => payload.i), Array.from({ length: RECORDS }, (_, i) => i + 1))
    assert.ok(!client.received.some(({ event }) => event === 'doc:resync'))
  }
  assert.deepEqual(resyncs, [])

  assert.ok((await metric('inkcast_settings_file_wrong', /DOCUMENT_RULES_FILE/)).every((value) => value === 0))
  assert.ok(lines.some(({ text }) => /DOCUMENT_RULES_FILE has changed but is wrong/.test(text)))

  // the last rule is in force
  const [client] = live
  const signal = await client.ask('doc:signal', { guid: client.guid, event: 'x', data: 1 })
  assert.equal(signal.error?.code, 'forbidden')
  const sent = await Promise.all(
    Array.from({ length: 15 }, () => client.ask('doc:send', { guid: client.guid, data: 1 })))
  assert.ok(sent.filter(({ ok }) => ok).length < 15)
  const { records } = await client.ask('doc:history', { guid: client.guid })
  const keyed = records.map((/** @type {any} */ { payload }) => payload.key).filter((/** @type {string} */ key) => key !== 'none')
  assert.deepEqual(keyed.sort(), ['k0', 'k1', 'k2'])
})
