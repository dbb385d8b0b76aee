import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { connectClient } from '../helpers/clients.js'

const SENDERS = 10

/**
 * What a cluster without Kafka acknowledged during a fault, and what of it is lost: publications of the scene's
 * services, and messages of clients, which go to the uplink's stream.
 *
 * @param {import('node:test').TestContext} t
 * @param {object} options
 * @param {{ url: string, apiUrl: string }} options.cluster
 * @param {import('./scene.js').Scene} options.scene
 */
export async function sendMessages (t, { cluster, scene }) {
  /** @type {Set<string>} */
  const acknowledged = new Set()
  const run = randomUUID()
  let over = false
  t.after(() => { over = true })
  const senders = await Promise.all(Array.from({ length: SENDERS }, async (_, sender) => {
    const client = await connectClient(t, cluster.url, { reconnection: true })
    const guid = `sent-${sender}`
    await client.ask('doc:join', { guid })
    return async () => {
      for (let i = 0; !over; i++) {
        const data = `${run}:${sender}:${i}`
        const answer = await client.ask('doc:send', { guid, event: 'edit', data }).catch(() => ({ ok: false }))
        if (answer.ok) acknowledged.add(data)
        else await delay(100)
      }
    }
  }))
  const sending = Promise.all(senders.map((send) => send()))

  /**
   * @param {string} guid
   * @returns {Promise<Set<number>>} numbers of the records in the document's log
   */
  async function logged (guid) {
    const get = async (/** @type {string} */ path) =>
      /** @type {any} */ (await (await fetch(`${cluster.apiUrl}/v1/documents/${guid}/${path}`)).json())
    const { position: { epoch, offset: end } } = await get('position')
    const numbers = new Set()
    for (let offset = 0; offset < end;) {
      const { records, gap } = await get(`history?epoch=${epoch}&offset=${offset}&limit=100`)
      assert.equal(gap, null)
      assert.ok(records.length > 0)
      for (const { value } of records) numbers.add(value.number)
      offset = records.at(-1).offset
    }
    return numbers
  }

  return {
    /** Number of messages that are acknowledged. */
    get acknowledged () { return acknowledged.size },

    /**
     * Ends the messages, and asserts that nothing is lost.
     * @param {import('ioredis').Redis} master
     */
    async assertKept (master) {
      over = true
      await sending
      const { published } = scene.publisher
      const lost = []
      for (const [guid, number] of Object.entries(published)) {
        const found = await logged(guid)
        for (let i = 1; i <= number; i++) if (!found.has(i)) lost.push(`${guid} ${i}`)
      }
      const parts = await master.keys('inkcast:{uplink:*}:log')
      const kept = new Set()
      for (const part of parts) {
        for (const [, fields] of await master.xrange(part, '-', '+')) kept.add(fields[fields.indexOf('v') + 1])
      }
      const missing = [...acknowledged].filter((data) => !kept.has(JSON.stringify(data)))
      const records = Object.values(published).reduce((sum, number) => sum + number, 0)
      console.log(`  acknowledged: ${records} records, ${acknowledged.size} messages of clients; lost: ${lost.length}, ${missing.length}`)
      assert.deepEqual([lost.slice(0, 10), missing.slice(0, 10)], [[], []])
    }
  }
}
