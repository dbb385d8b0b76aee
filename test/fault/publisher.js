import { setTimeout as delay } from 'node:timers/promises'

/**
 * Publishes numbered records at a steady rate, in order within each document: the next records are offered only after
 * the previous ones are confirmed. Records that become due in the meantime are queued here. Each record carries the
 * time of its first publish attempt.
 *
 * @typedef {object} Way
 * @property {number} most maximum records of a document per request
 * @property {(guid: string, records: { number: number, value: string }[]) => Promise<void>} offer rejects when the
 *   records must be offered again
 */

/** Delay before a retry, ms. */
const AGAIN = 100

/**
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {object} options
 * @param {{ guid: string, way: Way }[]} options.documents
 * @param {number} options.perSecond total rate
 * @param {number} options.bytes padding of each record
 */
export function createPublisher (t, { documents, perSecond, bytes }) {
  const fill = 'x'.repeat(bytes)
  const lanes = documents.map((document) => ({
    ...document,
    number: 0,
    queue: /** @type {number[]} */ ([]),
    busy: false
  }))
  let next = 0
  let due = 0
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  let stopped = false
  t.after(() => {
    stopped = true
    clearInterval(timer)
  })

  /** @param {typeof lanes[number]} lane */
  async function drain (lane) {
    if (lane.busy) return
    lane.busy = true
    while (lane.queue.length > 0 && !stopped) {
      const numbers = lane.queue.slice(0, lane.way.most)
      const offered = Date.now()
      const records = numbers.map((number) => ({ number, value: JSON.stringify({ number, offered, fill }) }))
      while (!await isSafe(lane, records)) await delay(AGAIN)
      lane.queue.splice(0, numbers.length)
    }
    lane.busy = false
  }

  /**
   * @param {typeof lanes[number]} lane
   * @param {{ number: number, value: string }[]} records
   * @returns {Promise<boolean>}
   */
  async function isSafe ({ guid, way }, records) {
    try {
      await way.offer(guid, records)
      return true
    } catch {
      return stopped
    }
  }

  function tick () {
    const now = Date.now()
    for (; due <= now; due += 1000 / perSecond) {
      const lane = lanes[next++ % lanes.length]
      lane.queue.push(++lane.number)
      drain(lane)
    }
  }

  return {
    start () {
      due = Date.now()
      timer = setInterval(tick, 5)
    },

    /** @returns {Promise<void>} resolves when all due records are confirmed */
    async stop () {
      clearInterval(timer)
      while (!stopped && lanes.some(({ busy }) => busy)) await delay(10)
    },

    /** @returns {Record<string, number>} the last confirmed record of each document */
    get published () {
      return Object.fromEntries(lanes.map(({ guid, number, queue }) => [guid, number - queue.length]))
    },

    /** Records that are due and not confirmed yet. */
    get waiting () {
      return lanes.reduce((sum, { queue }) => sum + queue.length, 0)
    }
  }
}

/** @typedef {ReturnType<typeof createPublisher>} Publisher */

/**
 * Publishes over HTTP, with an idempotency key that makes a retry safe.
 * @param {() => string} apiUrl
 * @returns {Way}
 */
export function throughApi (apiUrl) {
  return {
    most: 1,
    async offer (guid, [{ number, value }]) {
      const answer = await fetch(`${apiUrl()}/v1/documents/${guid}/broadcast`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-event': 'record', 'idempotency-key': `"${guid}-${number}"` },
        body: value,
        signal: AbortSignal.timeout(5000)
      })
      const text = await answer.text()
      if (answer.status !== 202) throw new Error(`${answer.status}: ${text}`)
    }
  }
}

/**
 * Publishes directly to Kafka, as business services do. Records that become due during a request go with the next one.
 * @param {import('kafkajs').Producer} producer idempotent, so that a retry is safe
 * @param {string} topic
 * @returns {Way}
 */
export function throughKafka (producer, topic) {
  /** @type {{ messages: import('kafkajs').Message[], resolve: () => void, reject: (error: unknown) => void }[]} */
  let waiting = []
  let sending = false

  async function send () {
    if (sending) return
    sending = true
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      try {
        await producer.send({ topic, acks: -1, messages: batch.flatMap(({ messages }) => messages) })
        for (const { resolve } of batch) resolve()
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    sending = false
  }

  return {
    most: 1000,
    offer: (guid, records) => new Promise((resolve, reject) => {
      waiting.push({
        messages: records.map(({ value }) => ({
          key: guid,
          value,
          headers: { 'x-operator': 'broadcast', 'x-guid': guid, 'x-event': 'record' }
        })),
        resolve,
        reject
      })
      send()
    })
  }
}
