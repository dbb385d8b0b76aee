import { closeQuietly } from './close.js'
import { createCluster, encoded } from './topic-id.js'

/** Kafka's OffsetForLeaderEpoch request (KIP-279, KIP-320; Kafka 2.1 and later), which kafkajs does not know. */
const REQUEST = Object.freeze({ apiKey: 23, apiVersion: 2, apiName: 'OffsetForLeaderEpoch' })
const CLOSE_TIMEOUT = 1000

/**
 * Requests the current end of a leader's records in a partition. If that is before the last record that was read from
 * that leader, the partition has lost its end since then, and all records from there on are new.
 *
 * @param {import('kafkajs').Kafka} kafka
 * @param {{ topic: string, partition: number, epoch: number }} leader
 * @param {import('../../base/common/wait.js').Timers} clock
 * @returns {Promise<number | undefined>} offset after its last record; undefined where the brokers cannot report it
 * @throws {Error} Kafka does not respond, or the partition has no leader at the moment
 */
export async function fetchEpochEnd (kafka, { topic, partition, epoch }, clock) {
  const cluster = createCluster(kafka)
  try {
    await cluster.connect()
    await cluster.addTargetTopic(topic)
    const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]))
    if (nodeId === undefined) throw new Error(`Kafka knows no partition ${partition} of ${topic}`)
    const broker = await cluster.findBroker({ nodeId })
    if (!(broker.versions?.[REQUEST.apiKey]?.maxVersion >= REQUEST.apiVersion)) return undefined
    return await broker.connectionPool.send({
      request: { ...REQUEST, encode: async () => encodeRequest(topic, partition, epoch) },
      response: {
        decode: async (/** @type {Buffer} */ payload) => ({ payload }),
        parse: async (/** @type {{ payload: Buffer }} */ { payload }) => epochEndIn(payload)
      }
    })
  } finally {
    closeQuietly(cluster, CLOSE_TIMEOUT, clock)
  }
}

/**
 * Exported for tests: a protocol.
 * @param {Buffer} payload a response for one partition, without its correlation id
 * @returns {number | undefined} undefined: the broker has no record of that leader or of an earlier one
 */
export function epochEndIn (payload) {
  // throttle time, number of topics, name, number of partitions
  const at = 8 + 2 + payload.readInt16BE(8) + 4
  const code = payload.readInt16BE(at)
  if (code !== 0) throw new Error(`Kafka does not say where a leader's records end (error ${code})`)
  const end = Number(payload.readBigInt64BE(at + 10))
  return end < 0 ? undefined : end
}

/** @param {string} topic @param {number} partition @param {number} epoch */
function encodeRequest (topic, partition, epoch) {
  const name = Buffer.from(topic)
  const body = Buffer.alloc(4 + 2 + name.length + 16)
  let at = body.writeInt32BE(1, 0)
  at = body.writeInt16BE(name.length, at)
  at += name.copy(body, at)
  at = body.writeInt32BE(1, at)
  at = body.writeInt32BE(partition, at)
  at = body.writeInt32BE(-1, at) // any leader
  body.writeInt32BE(epoch, at)
  return encoded(body)
}
