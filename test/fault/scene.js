import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import kafkajs from 'kafkajs'
import { quantiles } from '../../bench/measure/quantiles.js'
import { startCluster } from '../helpers/cluster.js'
import { waitFor } from '../helpers/wait.js'
import { createClientPool } from './client-pool.js'
import { createPublisher, throughApi, throughKafka } from './publisher.js'
import { saveRow } from './rows.js'

/** Records of each document before the measurement. */
const WARM = 10
/** Duration of the measurement without a fault, ms. */
const NORMAL = 3000
/** Time to go on publishing after the fault, ms. */
const AFTER = 5000
/** Time until every client must have everything after the last publish, ms. */
const COMPLETE = 90_000
/** Interval of progress lines, ms. */
const TELL = 2000

/**
 * @typedef {object} FaultOptions
 * @property {'none' | 'some' | 'all'} [resyncs] clients that are asked to resync their documents; default: none
 * @property {boolean} [republished] records that were delivered, but lost before they were acknowledged, are published
 *   again: they come a second time, after the resync
 * @property {boolean} [pauses] publishing pauses during the fault
 * @property {number} [after] time to go on publishing after the fault, ms
 * @property {() => Record<string, string | number>} [more] additional figures, read at the end
 */

/**
 * Clients that follow documents and a publisher, around a cluster in which faults are made.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {object} options
 * @param {string[]} options.urls addresses of the gateways; clients are distributed over them
 * @param {() => string} options.apiUrl
 * @param {{ brokers: string, topic: string }} [options.kafka] every second document is published here, the others
 *   through the API
 * @param {number} [options.clients]
 * @param {number} [options.documents]
 * @param {number} [options.each] documents per client
 * @param {number} [options.perSecond] records
 * @param {number} [options.bytes] padding of each record
 */
export async function openScene (
  t,
  { urls, apiUrl, kafka, clients: count = 200, documents = 20, each = 2, perSecond = 100, bytes = 200 }
) {
  const run = randomUUID().slice(0, 8)
  const guids = Array.from({ length: documents }, (_, i) => `${run}-${i}`)
  const viaApi = throughApi(apiUrl)
  const viaKafka = kafka === undefined ? viaApi : throughKafka(await startProducer(t, kafka.brokers), kafka.topic)
  const publisher = createPublisher(t, {
    documents: guids.map((guid, i) => ({ guid, way: i % 2 === 0 ? viaApi : viaKafka })),
    perSecond,
    bytes
  })

  const clients = createClientPool(t, 2)
  const begin = performance.now()
  for (const [i, url] of urls.entries()) {
    const own = Array.from({ length: count }, (_, number) =>
      Array.from({ length: each }, (_, j) => guids[(number + 7 * j) % documents])
    )
    await clients.open({ url, guids: own.filter((_, number) => number % urls.length === i) })
  }
  say(`${count} clients follow ${documents} documents, after ${Math.round(performance.now() - begin)} ms`)

  // warm up clients, brokers and compilers
  publisher.start()
  await waitFor(() => Object.values(publisher.published).every((number) => number >= WARM), {
    timeout: COMPLETE,
    message: 'every document to be published'
  })
  await publisher.stop()
  await complete()

  async function complete (timeout = COMPLETE) {
    await haveAll(publisher.published, timeout)
    return publisher.published
  }

  /** @param {Record<string, number>} published number of a record by document @param {number} [timeout] ms */
  async function haveAll (published, timeout = COMPLETE) {
    await waitFor(
      async () => {
        const { missing, connected, clients: all } = await clients.progress(published)
        if (missing > 0 || connected < all)
          throw new Error(`${missing} records missing, ${connected} of ${all} clients connected`)
        return true
      },
      { timeout, message: 'every client to receive everything' }
    )
  }

  /** @param {string} name @param {() => boolean} isOver */
  async function tell (name, isOver) {
    while (!isOver()) {
      const { connected, clients: all, behind, missing } = await clients.progress(publisher.published)
      say(
        `${name}: ${connected} of ${all} connected, ${behind} lack ${missing} records in all, ${publisher.waiting} to be published`
      )
      await delay(TELL)
    }
  }

  return {
    clients,
    publisher,
    guids,
    complete,

    /**
     * Makes a fault while records are published, waits until every client has everything, and checks the results.
     * @param {string} name
     * @param {() => Promise<unknown>} make resolves when the fault is over
     * @param {FaultOptions} [options]
     */
    async fault (
      name, make, { resyncs = 'none', republished = false, pauses = false, after = AFTER, more = () => ({}) } = {}
    ) {
      publisher.start()
      await delay(NORMAL / 3)
      await clients.measure()
      await delay(NORMAL)
      const before = await clients.report()
      assertComplete(before.clients)
      assertNoResync(before.clients)
      const { p50: normal } = quantiles(before.samples)
      await clients.measure()
      if (pauses) {
        await publisher.stop()
        await complete()
      }
      const numbers = { ...publisher.published }
      const load = loadavg()[0]
      let over = false
      const telling = tell(name, () => over)
      telling.catch(() => {})
      try {
        const made = performance.now()
        await make()
        const took = performance.now() - made
        if (pauses) publisher.start()
        await delay(after)
        // a resync that replaces the last records shows only by the next record
        await haveAll({ ...publisher.published })
        await publisher.stop()
        const published = await complete()
        const { clients: reports, refusals } = await clients.report()
        const gaps = quantiles(reports.map(({ stall }) => Math.max(0, stall - (normal ?? 0))), 0)
        const sum = (/** @type {'received' | 'repeated' | 'resyncs' | 'bridged' | 'connects'} */ what) =>
          reports.reduce((total, report) => total + report[what], 0)
        const faultsOf = (/** @type {string} */ kind) =>
          reports.reduce((total, { faults }) => total + (faults[kind] ?? 0), 0)
        saveRow({
          fault: name,
          clients: reports.length,
          records: Object.keys(published).reduce((total, guid) => total + published[guid] - numbers[guid], 0),
          deliveries: sum('received'),
          lost: faultsOf('lost'),
          disordered: faultsOf('disordered'),
          doubled: faultsOf('doubled'),
          dropped: sum('repeated'),
          resyncs: sum('resyncs'),
          bridged: sum('bridged'),
          reconnects: sum('connects'),
          lasted: Math.round(took),
          gaps,
          normal,
          load: [load, loadavg()[0]].map((each) => Math.round(each * 10) / 10),
          refusals,
          more: more()
        })
        assertComplete(reports, republished ? /: doubled: / : undefined)
        if (republished) assert.ok(faultsOf('doubled') <= sum('resyncs'), 'at most one record of each document comes again')
        if (resyncs === 'none') assertNoResync(reports)
        if (resyncs === 'all')
          assert.equal(
            reports.filter((report) => report.resyncs < each).length,
            0,
            'every client was asked to resync each document'
          )
      } finally {
        over = true
        await publisher.stop()
      }
    }
  }
}

/** @typedef {Awaited<ReturnType<typeof openScene>>} Scene */

/**
 * A cluster of two workers and its scene.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {Record<string, string>} env
 * @param {{ brokers: string, topic: string }} kafka
 */
export async function openClusterScene (t, env, kafka) {
  const cluster = await startCluster(t, { ...env, WORKERS: '2' })
  return openScene(t, { urls: [cluster.url], apiUrl: () => cluster.apiUrl, kafka })
}

/**
 * @param {import('./client-pool.js').ClientReport[]} reports
 * @param {RegExp} [expected] faults that count as none
 */
function assertComplete (reports, expected) {
  const details = reports.flatMap(({ details }) => details).filter((detail) => !expected?.test(detail))
  assert.deepEqual(details.slice(0, 10), [], 'nothing lost, out of order or twice')
}

/** @param {import('./client-pool.js').ClientReport[]} reports */
function assertNoResync (reports) {
  assert.equal(reports.filter(({ resyncs }) => resyncs > 0).length, 0, 'no client has to resync')
}

/** @param {string} line */
export function say (line) { console.log(`  ${new Date().toISOString().slice(11, 19)} ${line}`) }

/** @param {{ after: (stop: () => unknown) => void }} t @param {string} brokers */
async function startProducer (t, brokers) {
  const kafka = new kafkajs.Kafka({
    clientId: 'fault',
    brokers: brokers.split(','),
    logLevel: kafkajs.logLevel.NOTHING,
    connectionTimeout: 2000,
    requestTimeout: 5000
  })
  const producer = kafka.producer({
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    idempotent: true,
    maxInFlightRequests: 1,
    // after giving up, kafkajs would send the records with a new sequence number
    retry: { retries: 1000, initialRetryTime: 100, maxRetryTime: 1000 }
  })
  await producer.connect()
  t.after(() => producer.disconnect())
  return producer
}
