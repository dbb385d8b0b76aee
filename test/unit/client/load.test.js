import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
// loaded on demand
import '../../../client/document/begin.js'
import { range } from '../../contract/bus-fixture.js'
import { clientTime } from '../../helpers/client-time.js'
import { seededRandom } from '../../helpers/random.js'
import { scriptedLog } from '../../helpers/scripted-log.js'
import { scriptedClient, settle } from '../../helpers/scripted-socket.js'

const at = (/** @type {number} */ offset, epoch = 'e') => ({ epoch, offset })
const SCHEDULES = 200
const STEPS = 60

/**
 * Opens `doc`, joined at offset 5, when the code that loads documents is there.
 * @param {Pick<ReturnType<typeof scriptedClient>, 'client' | 'socket'>} scripted
 * @param {import('../../../client/index.js').OpenOptions} options
 */
async function openLoading ({ client, socket }, options) {
  const opening = client.open('doc', options)
  opening.catch(() => {})
  await settle()
  socket.accepts()
  socket.tells('doc:joined', { guid: 'doc', position: at(5), recovered: false })
  return opening
}

/**
 * Begins to open the document of a scripted log, and answers its first load with what the service had then.
 * @param {ReturnType<typeof scriptedLog>} log
 * @param {number} known number of records
 */
async function openOlder (log, known) {
  log.serve(known)
  const opening = log.client.open('doc', { load: log.load })
  await settle()
  log.connect()
  await settle()
  log.loads.shift()?.resolve()
  return { opening }
}

/**
 * Opens the document of a scripted log, whose service has all records.
 * @param {import('node:test').TestContext} t
 */
async function openLoaded (t) {
  const time = clientTime(t)
  const log = scriptedLog(t)
  for (let i = 0; i < 3; i++) log.publish()
  const doc = await (await openOlder(log, 3)).opening
  doc.on('message', log.show)
  time.advance(1)
  return { log, doc }
}

describe('a document with `load`', () => {
  test('shows records of the history whose names are those of its own events as `record:` and the name', async (t) => {
    const time = clientTime(t)
    const scripted = scriptedClient(t)
    /** @type {unknown[]} */
    const events = []
    const opening = openLoading(scripted, { load: async () => at(3) })
    await settle()
    await settle()
    const records = [4, 5].map((offset) => ({ event: offset === 4 ? 'resync' : 'edit', payload: offset, meta: { offset } }))
    scripted.socket.last('doc:history').answer({ ok: true, guid: 'doc', records, position: at(5), more: false })
    const doc = await opening
    for (const name of ['resync', 'record:resync', 'edit'])
      doc.on(name, (/** @type {unknown} */ payload) => events.push([name, payload]))
    time.advance(1)
    assert.deepEqual(events, [['record:resync', 4], ['edit', 5]])
  })

  test('opens when it is loaded, and continues with the records after the answer', async (t) => {
    const { log, doc } = await openLoaded(t)
    assert.deepEqual(log.shown, [1, 2, 3])
    log.publish()
    assert.deepEqual(log.shown, [1, 2, 3, 4])
    assert.equal(doc.status, 'live')
  })

  test('drops records that the answer contains already', async (t) => {
    const time = clientTime(t)
    const log = scriptedLog(t)
    const opening = log.client.open('doc', { load: log.load })
    await settle()
    log.connect()
    await settle()
    for (let i = 0; i < 4; i++) log.publish()
    log.serve(3)
    log.loads.shift()?.resolve()
    const doc = await opening
    doc.on('message', log.show)
    time.advance(1)
    assert.deepEqual(log.shown, [1, 2, 3, 4])
  })

  test('drops records that arrive later, if the answer was ahead of the gateway', async (t) => {
    const { client, socket } = scriptedClient(t)
    const doc = await openLoading({ client, socket }, { load: async () => at(7) })
    /** @type {unknown[]} */
    const seen = []
    doc.on('message', (payload) => { seen.push(payload) })
    for (const offset of [6, 7, 8]) socket.tells('message', offset, { guid: 'doc', offset })
    await new Promise((resolve) => setTimeout(resolve, 5))
    assert.deepEqual(seen, [8])
  })

  for (const [how, replaced] of /** @type {[string, number[]][]} */ ([
    ['', []], [', also where newer records of their keys have replaced others', [...range(40, 2), ...range(120, 100)]]
  ])) {
    test(`reads what an older answer lacks from the log${how}`, async (t) => {
      const time = clientTime(t)
      const log = scriptedLog(t)
      for (let i = 0; i < 250; i++) log.publish()
      log.replace(replaced)
      const { opening } = await openOlder(log, 20)
      for (let i = 0; i < 10; i++) {
        await settle()
        // with replaced records the first page ends behind a hole
        log.answerHistory(31)
      }
      const doc = await opening
      log.publish()
      doc.on('message', log.show)
      time.advance(1)
      assert.deepEqual(log.shown, log.all.filter((at) => at <= 20 || !replaced.includes(at)))
      assert.equal(log.loads.length, 0)
    })
  }

  test('loads again if the log no longer has what an older answer lacks', async (t) => {
    const time = clientTime(t)
    const log = scriptedLog(t)
    for (let i = 0; i < 10; i++) log.publish()
    log.trim()
    const { opening } = await openOlder(log, 1)
    for (let i = 0; i < 3; i++) {
      await settle()
      log.answerHistory(100)
    }
    await settle()
    assert.equal(log.loads.length, 0)
    time.advance(1000)
    await settle()
    log.serve(10)
    log.loads.shift()?.resolve()
    await opening
    assert.deepEqual(log.shown, log.all)
  })

  test('loads again if more records than it holds arrive while it reads the log', async (t) => {
    const time = clientTime(t)
    const log = scriptedLog(t)
    for (let i = 0; i < 100; i++) log.publish()
    const { opening } = await openOlder(log, 90)
    await settle()
    for (let i = 0; i < 10_500; i++) log.publish()
    log.answerHistory(100)
    await settle()
    log.serve(10_590)
    log.loads.shift()?.resolve()
    await settle()
    log.answerHistory(100)
    const doc = await opening
    log.publish()
    doc.on('message', log.show)
    time.advance(1)
    assert.deepEqual(log.shown, log.all)
  })

  test('reads records that it could not hold during the call from the log', async (t) => {
    const time = clientTime(t)
    const log = scriptedLog(t)
    const opening = log.client.open('doc', { load: log.load })
    await settle()
    log.connect()
    await settle()
    for (let i = 0; i < 10_500; i++) log.publish()
    log.serve(10_450)
    log.loads.shift()?.resolve()
    await settle()
    log.answerHistory(100)
    const doc = await opening
    doc.on('message', log.show)
    time.advance(1)
    assert.deepEqual([log.shown, log.loads], [log.all, []])
  })

  test('repeats a failed load, and rejects one that does not want to be repeated', async (t) => {
    const time = clientTime(t)
    const { client, socket } = scriptedClient(t)
    let calls = 0
    const opening = openLoading({ client, socket }, {
      load: async () => {
        if (++calls < 3) throw new Error('the service is unavailable')
        throw Object.assign(new Error('there is no such document'), { retryable: false })
      }
    })
    const failed = assert.rejects(opening, { code: 'load_failed', message: /no such document/ })
    for (let i = 0; i < 3; i++) {
      await settle()
      time.advance(2000)
    }
    await failed
    assert.equal(calls, 3)
  })

  test('aborts a load that a resync has made useless', async (t) => {
    const { client, socket } = scriptedClient(t)
    /** @type {{ reason: string, signal: AbortSignal }[]} */
    const requests = []
    const doc = await openLoading({ client, socket }, {
      position: at(5),
      load: async ({ reason, signal, position }) => {
        requests.push({ reason, signal })
        if (requests.length === 1) await new Promise((resolve) => signal.addEventListener('abort', resolve))
        return position
      }
    })
    assert.equal(requests.length, 0, 'there is a copy of the document')
    socket.tells('doc:resync', { guid: 'doc', position: at(9), reason: 'trimmed' })
    await settle()
    assert.equal(doc.status, 'loading')
    socket.tells('doc:resync', { guid: 'doc', position: at(0, 'f'), reason: 'epoch' })
    await doc.ready
    assert.deepEqual(requests.map(({ reason, signal }) => [reason, signal.aborted]), [['trimmed', true], ['epoch', false]])
  })

  test(`shows each record once and in order, in ${SCHEDULES} random schedules of a slow, failing, older service`, async (t) => {
    const time = clientTime(t)
    const first = Number(process.env.SEED ?? 1)
    for (let seed = first; seed < first + (process.env.SEED ? 1 : SCHEDULES); seed++) await runSchedule(t, time, seed)
  })
})

/** @param {import('node:test').TestContext} t @param {ReturnType<typeof clientTime>} time @param {number} seed */
async function runSchedule (t, time, seed) {
  const random = seededRandom(seed)
  const log = scriptedLog(t)
  const some = (/** @type {number} */ limit) => Math.floor(random() * limit)
  const check = (/** @type {string} */ step) => {
    const right = log.shown.every((payload, i) => payload === log.all[i])
    assert.ok(right, `SEED=${seed}, after ${step}: shows ${log.shown}, of ${log.all.length}`)
  }
  for (let i = some(5); i > 0; i--) log.publish()
  const opening = log.client.open('doc', { load: log.load })
  opening.then((doc) => { doc.on('message', log.show) })
  await settle()
  /** @type {Record<string, () => void>} */
  const steps = {
    publish: () => log.publish(),
    burst: () => { for (let i = some(8); i > 0; i--) log.publish() },
    serve: () => log.serve(log.known + some(log.all.length - log.known + 1)),
    resolve: () => log.loads.shift()?.resolve(),
    reject: () => log.loads.shift()?.reject(new Error('unavailable')),
    history: () => log.answerHistory(1 + some(4)),
    cut: () => { if (log.connected) log.cut() },
    connect: () => { if (!log.connected) log.connect() },
    trim: () => log.trim(),
    lose: () => { if (random() < 0.3) log.lose() },
    tick: () => time.advance(some(3000))
  }
  const names = Object.keys(steps)
  for (let i = 0; i < STEPS; i++) {
    const step = names[some(names.length)]
    steps[step]()
    if (random() < 0.7) await settle()
    check(step)
  }
  for (let i = 0; i < 40 && log.shown.length < log.all.length + 1; i++) {
    steps.connect()
    log.serve(log.all.length)
    await settle()
    while (log.loads.length > 0) steps.resolve()
    await settle()
    log.answerHistory(100)
    await settle()
    time.advance(16_000)
    await settle()
    check('the end')
    if (i > 10 && log.shown.length === log.all.length) break
  }
  log.publish()
  await settle()
  assert.deepEqual(log.shown, log.all, `SEED=${seed}`)
  log.client.close()
}
