#!/usr/bin/env node
/**
 * Cost of pending receipts: heap and array buffers of one worker with 100,000 clients asked, in several shapes, and the
 * CPU time of a request and of an acknowledgement. Exits with 1 if they cost 50 MB or the summaries do not add up.
 *
 *   node --expose-gc bench/micro/receipts.js
 */
import { systemRandom } from '../../src/base/common/random.js'
import { systemClock } from '../../src/base/common/clock.js'
import { Receipts } from '../../src/documents/receipts/receipts.js'
import { decodeEnvelope, encodeEnvelope } from '../../src/wire/envelope.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'

const PENDING = 100_000
const CONNECTIONS = 10_000
const LIMIT = 50e6
const TIMEOUT = 10_000

if (globalThis.gc === undefined) throw new Error('run it with node --expose-gc')
const collect = globalThis.gc

let time = 0
const now = () => time
const clock = { ...systemClock, now, monotonic: now, sleep: async () => {} }
const log = /** @type {any} */ ({ debug () {} })
const connections = Array.from(
  { length: CONNECTIONS },
  (_, i) => /** @type {any} */ ({ id: `sid${i}`.padEnd(20, 'x'), uid: `user-${i}`, receiver: null })
)

/**
 * Other workers take part and never report. @type
 *   {import('../../src/documents/receipts/redis-receipts.js').ReceiptParts}
 */
const parts = {
  holder: () => '1.1',
  announce: async () => {},
  settled: async () => {},
  report: async (_id, part) => [part],
  close: async () => []
}

async function used () {
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => { setImmediate(resolve) })
    collect()
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** @param {() => void} work @param {number} count @returns {number} microseconds of CPU for each */
function cpu (work, count) {
  const start = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / count
}

/** @param {number} members of each record */
async function measure (members) {
  const records = PENDING / members
  const sums = { summaries: 0, delivered: 0, acknowledged: 0, missing: 0 }
  const uplink = { async send (/** @type {import('../../src/log/publish/uplink.js').UplinkRecord} */ { value }) {
    const { delivered, acknowledged, missing, more } = JSON.parse(value.toString())
    sums.summaries++
    sums.delivered += delivered
    sums.acknowledged += acknowledged
    sums.missing += missing.length + more
  } }
  const receipts = new Receipts({
    settings: { receiptTimeout: TIMEOUT, receiptSample: 0, maxPendingReceipts: PENDING },
    uplink,
    parts,
    metrics: createMetrics({ processMetrics: false }),
    log,
    clock,
    random: systemRandom
  })
  // separate strings per record, as on a worker
  const bytes = Array.from({ length: records }, (_, i) =>
    encodeEnvelope(
      {
        operator: 'broadcast',
        guid: `document-${i}`,
        event: 'edit',
        except: [],
        ephemeral: false,
        receipt: true,
        traceId: i.toString(16).padStart(32, '0'),
        timestamp: 0,
        contentType: 'application/json',
        value: Buffer.from('1')
      },
      0,
      systemRandom
    )
  )
  /** @type {number[]} */
  const ids = []
  const before = await used()
  const ask = cpu(() => {
    for (let r = 0; r < records; r++) {
      const { publication, receiptId } = decodeEnvelope(bytes[r])
      const receipt = /** @type {import('../../src/documents/receipts/receipt.js').Receipt} */ (
        receipts.open(publication, receiptId)
      )
      for (let m = 0; m < members; m++) receipt.ask(connections[(r * members + m) % CONNECTIONS])
      ids.push(/** @type {number} */ (receipt.ackId))
    }
  }, PENDING)
  const fresh = await used() - before
  // a tenth never answers, so that every receipt with several members stays pending
  time += 40
  const answering = members === 1 ? 0 : PENDING * 0.9
  const acknowledge = answering === 0 ? undefined : cpu(() => {
    for (let r = 0; r < records; r++) {
      for (let m = 0; m < members; m++)
        if (m % 10 !== 0) receipts.acknowledge(connections[(r * members + m) % CONNECTIONS], ids[r])
    }
  }, answering)
  const answered = await used() - before
  time += TIMEOUT + 100
  receipts.tick()
  while (receipts.pending > 0) await new Promise((resolve) => { setImmediate(resolve) })
  const right =
    sums.summaries === records &&
    sums.delivered === PENDING &&
    sums.acknowledged === answering &&
    sums.missing === PENDING - answering &&
    receipts.pending === 0
  console.log(
    `${String(records).padStart(7)} records x ${String(members).padStart(6)} members  ${mb(fresh)} asked  ${mb(answered)} nine tenths ` +
    `answered  ask ${ask.toFixed(2)} us  ack ${acknowledge?.toFixed(2) ?? '   -'} us  ` +
    `${right ? 'adds up' : `DOES NOT ADD UP ${JSON.stringify(sums)}`}`
  )
  return right && Math.max(fresh, answered) < LIMIT
}

/** @param {number} bytes */
const mb = (bytes) => `${(bytes / 1e6).toFixed(1).padStart(5)} MB`

// the first measurement includes one-time costs
await measure(100)
console.log(`Node ${process.version}, ${PENDING} clients asked`)
const results = []
for (const members of [1, 10, 100, 10_000]) results.push(await measure(members))
process.exitCode = results.every(Boolean) ? 0 : 1
