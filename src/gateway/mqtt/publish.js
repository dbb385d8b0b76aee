import { InkcastError, publicError } from '../../base/common/errors.js'
import { RATE_LIMITED } from '../../transport/admission/rate-limit.js'
import { MqttError } from '../../transport/mqtt/packet-reader.js'
import { HEADER } from '../../wire/headers.js'
import { readTopic } from '../../wire/mqtt-topic.js'
import { ID_RULE } from '../../wire/publication.js'
import { RawValue } from '../../wire/raw-value.js'
import { checkValue } from '../../wire/value.js'
import { answerEvent, handleEvent } from '../handlers/dispatch.js'
import { Reason, pubackOf } from './codes.js'

/**
 * PUBLISH of a client: to `doc/<guid>` it is doc:send, to `doc/<guid>/signal/<event>` doc:signal.
 *
 * @typedef {import('./mqtt-connection.js').MqttConnection} MqttConnection
 * @typedef {import('../handlers/context.js').HandlerContext} HandlerContext
 * @typedef {{ topic: string, payload: Buffer, properties?: Record<string, any> }} Message payload: its own bytes
 * @typedef {{ ok: true } | { ok: false, error: { code: string, message: string, retryable: boolean } }} Answer
 */

const WILDCARD = /[+#]/

/**
 * @param {MqttConnection} connection
 * @param {any} packet with views of the received bytes
 * @param {HandlerContext} context
 * @throws {MqttError} (or rejects with) that ends the connection
 */
export async function publish (connection, { topic: given, qos, messageId, payload, properties }, context) {
  if (qos === 2) throw new MqttError(Reason.QOS, 'the highest quality of service is 1') // [MQTT5-3.2.2-11]
  const topic = connection.incoming.topicOf(given, properties?.topicAlias)
  if (WILDCARD.test(topic)) throw new MqttError(Reason.TOPIC_NAME, 'a message has no wildcards') // [MQTT-3.3.2-2]
  const slot = qos === 1 ? connection.incoming.open(messageId) : undefined
  const answer = connection.mayHandle()
    ? await send(connection, { topic, payload: Buffer.from(payload), properties }, context)
    : connection.limited ?? RATE_LIMITED
  if (slot === undefined || answer === undefined || !connection.open) return
  if (answer.ok) return connection.incoming.answer(slot, Reason.OK)
  const { code, message, retryable } = answer.error
  // 3.1.1 has no word for a refusal [MQTT-3.3.5-2]: a client that may send it again has to, others must not for ever
  if (connection.offer.version === 4 && retryable) throw new MqttError(Reason.OTHER, message)
  connection.incoming.answer(slot, pubackOf(code), message)
}

/**
 * @param {MqttConnection} connection
 * @param {Message} message
 * @param {HandlerContext} context
 * @returns {Promise<Answer | undefined>} undefined: the connection has gone
 */
async function send (connection, message, context) {
  try {
    const { event, input } = readMessage(message)
    /** @type {Answer | undefined} */
    let answer
    await handleEvent(connection, event, [input, (/** @type {Answer} */ given) => { answer = given }], context)
    return answer
  } catch (error) {
    const shown = publicError(error)
    context.metrics.client_events.count('doc:send', shown.code)
    return { ok: false, error: shown }
  }
}

/**
 * Sends the last words of a client that has gone without saying so.
 * @param {MqttConnection} connection
 * @param {Message} will
 * @param {HandlerContext} context
 */
export async function sendWill (connection, will, context) {
  const { event, input } = readMessage(will)
  if (connection.mayHandle()) await answerEvent(connection, event, [input], context)
}

/**
 * @param {Message} message
 * @returns {{ event: 'doc:send' | 'doc:signal', input: object }}
 * @throws {InkcastError}
 */
export function readMessage ({ topic, payload, properties }) {
  const to = readTopic(topic)
  if (to === null)
    throw new InkcastError('bad_request', `a topic is doc/<guid> or doc/<guid>/signal/<event>; ${ID_RULE}`)
  if (to.kind === 'user' || to.kind === 'gateway') throw new InkcastError('forbidden', `clients cannot publish to ${topic}`)
  const contentType = properties?.contentType ?? 'application/json'
  checkValue(payload, contentType)
  const data = new RawValue(payload, contentType)
  if (to.kind === 'signal') return { event: 'doc:signal', input: { guid: to.guid, event: to.event, data } }
  const { [HEADER.event]: event, [HEADER.traceparent]: traceparent } = properties?.userProperties ?? {}
  const headers = { ...(event !== undefined && { event }), ...(traceparent !== undefined && { traceparent }) }
  return { event: 'doc:send', input: { guid: to.guid, data, ...headers } }
}
