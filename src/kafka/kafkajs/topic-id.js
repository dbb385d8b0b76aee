import { createRequire } from 'node:module'
import { closeQuietly } from './close.js'

const require = createRequire(import.meta.url)

/**
 * The first version of Kafka's Metadata request with topic ids (KIP-516, Kafka 2.8); kafkajs knows versions up to 6.
 */
const METADATA = Object.freeze({ apiKey: 3, apiVersion: 10, apiName: 'Metadata' })
const ENCODER = 'kafkajs/src/protocol/encoder'
const CLOSE_TIMEOUT = 1000

/**
 * The id that Kafka gave a topic when it was created. A topic that was deleted and created again has another id.
 *
 * @param {import('kafkajs').Kafka} kafka
 * @param {string} topic
 * @param {import('../../base/common/wait.js').Timers} clock
 * @returns {Promise<string>} '' where the brokers cannot report it
 * @throws {Error} the topic does not exist, or Kafka does not respond
 */
export async function fetchTopicId (kafka, topic, clock) {
  const cluster = createCluster(kafka)
  try {
    await cluster.connect()
    await cluster.refreshMetadata()
    const broker = await cluster.findControllerBroker()
    if (!(broker.versions?.[METADATA.apiKey]?.maxVersion >= METADATA.apiVersion)) return ''
    return await broker.connectionPool.send({
      request: { ...METADATA, encode: async () => encodeRequest(topic) },
      response: {
        decode: async (/** @type {Buffer} */ payload) => ({ payload }),
        parse: async (/** @type {{ payload: Buffer }} */ { payload }) => topicIdIn(payload, topic)
      }
    })
  } finally {
    closeQuietly(cluster, CLOSE_TIMEOUT, clock)
  }
}

/**
 * kafkajs has no public way to send a request that it does not know (src/index.js, PRIVATE.CREATE_CLUSTER).
 * @param {import('kafkajs').Kafka} kafka
 * @returns {any} with a connection of its own, to be closed
 */
export function createCluster (kafka) {
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster'
  )
  return /** @type {any} */ (kafka)[/** @type {symbol} */ (symbol)]({ allowAutoTopicCreation: false })
}

/** @param {string} topic */
function encodeRequest (topic) {
  const name = Buffer.from(topic)
  return encoded(Buffer.concat([
    Buffer.from([0]), // tags of the header; kafkajs writes its older form
    Buffer.from([2]), Buffer.alloc(16), unsigned(name.length + 1), name, Buffer.from([0]), // one topic, by its name
    Buffer.from([0, 0, 0, 0]) // no creation, no permissions, no tags
  ]))
}

/** @param {Buffer} body of a request @returns {object} in kafkajs's form */
export function encoded (body) {
  const encoder = new (require(ENCODER))()
  encoder.writeBufferInternal(body)
  return encoder
}

/** @param {number} value */
function unsigned (value) {
  const bytes = []
  for (; value > 0x7f; value >>>= 7) bytes.push((value & 0x7f) | 0x80)
  return Buffer.from([...bytes, value])
}

/**
 * @param {Buffer} payload a response, without its correlation id
 * @param {string} topic
 * @returns {string}
 */
function topicIdIn (payload, topic) {
  let at = 0
  const readUnsigned = () => {
    for (let value = 0, shift = 0; ; shift += 7) {
      const byte = payload.readUInt8(at++)
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  /** @param {number} length */
  const skip = (length) => { at += length }
  const skipText = () => skip(Math.max(0, readUnsigned() - 1))
  const skipTags = () => {
    for (let tags = readUnsigned(); tags > 0; tags--) {
      readUnsigned()
      skip(readUnsigned())
    }
  }
  skipTags()
  skip(4) // throttle time
  for (let brokers = readUnsigned() - 1; brokers > 0; brokers--) {
    skip(4) // node
    skipText() // host
    skip(4) // port
    skipText() // rack
    skipTags()
  }
  skipText() // cluster
  skip(4) // controller
  if (readUnsigned() !== 2) throw new Error(`Kafka does not know topic ${topic}`)
  const code = payload.readInt16BE(at)
  skip(2)
  skipText() // name
  if (code !== 0) throw new Error(`Kafka has no topic ${topic} at the moment (error ${code})`)
  return payload.toString('base64url', at, at + 16)
}
