import { InkcastError, publicError } from '../../base/common/errors.js'
import { MqttError } from '../../transport/mqtt/packet-reader.js'
import { encodePacket } from '../../transport/mqtt/packets.js'
import { isId } from '../../wire/publication.js'
import { Reason } from './codes.js'
import { MAX_ALIASES, MAX_INCOMING } from './incoming.js'
import { readMessage } from './publish.js'

/**
 * CONNECT of a client, and its answer.
 *
 * @typedef {ReturnType<typeof import('../../transport/mqtt/packets.js').decodeConnect>} Connect
 *
 * @typedef {object} Wish what a client wants
 * @property {import('./mqtt-connection.js').Offer} offer
 * @property {string} client id
 * @property {boolean} clean whether a session of before ends
 * @property {number} expiry that the session outlasts the connection, s
 * @property {boolean} assigned whether the gateway has chosen the id
 * @property {number} keepAlive s; 0: none
 * @property {import('./publish.js').Message | undefined} will
 * @property {{ token?: string, client: string, username?: string }} auth
 */

/** Records on their way to a client that does not say how many it takes, and to any client. */
const [IN_FLIGHT, MOST_IN_FLIGHT] = [16, 128]
/** Longest time that a session is kept, and time while its client is connected, s. */
export const MAX_EXPIRY = 86_400
/** Longest keep-alive of version 5, s: the gateway notices a client that is gone after 1.5 times that. */
const MAX_KEEP_ALIVE = 600

/**
 * @param {Connect} packet with views of the received bytes
 * @param {() => string} newId for a client without an id
 * @returns {Wish}
 * @throws {InkcastError | MqttError} MqttError: with the reason code of version 5
 */
export function readConnect (packet, newId) {
  const { protocolVersion: version, clientId, clean, keepalive = 0, username, password, will, properties = {} } = packet
  if (properties.authenticationMethod !== undefined)
    throw new MqttError(Reason.AUTH_METHOD, 'there is no authentication method: use a password')
  // [MQTT-3.1.3-8]
  if (clientId === '' && version === 4 && !clean) throw new InkcastError('bad_request', 'a session needs a client id')
  if (clientId !== '' && !isId(clientId)) throw new InkcastError('bad_request', 'the client id is too long, or has control characters')
  const client = clientId === '' ? newId() : clientId
  const most = properties.receiveMaximum ?? IN_FLIGHT
  return {
    offer: {
      version,
      receiveMaximum: Math.min(most, MOST_IN_FLIGHT),
      maxPacket: properties.maximumPacketSize ?? 0,
      explains: properties.requestProblemInformation !== false
    },
    client,
    clean: clean === true,
    expiry: Math.min(version === 4 ? (clean ? 0 : MAX_EXPIRY) : properties.sessionExpiryInterval ?? 0, MAX_EXPIRY),
    assigned: clientId === '',
    keepAlive: version === 4 ? keepalive : Math.min(keepalive || MAX_KEEP_ALIVE, MAX_KEEP_ALIVE),
    will: will && readWill(will),
    auth: {
      client,
      ...(password !== undefined && password.length > 0 && { token: password.toString() }),
      ...(username !== undefined && { username })
    }
  }
}

/** @param {NonNullable<Connect['will']>} will @returns {import('./publish.js').Message} */
function readWill ({ topic, payload, qos, properties }) {
  if (qos === 2) throw new MqttError(Reason.QOS, 'the highest quality of service is 1') // [MQTT5-3.2.2-12]
  const message = { topic, payload: Buffer.from(/** @type {Buffer} */ (payload)), properties }
  try {
    const { event } = readMessage(message)
    // its sender has left the document by then
    if (event === 'doc:signal') throw new InkcastError('forbidden', 'it cannot be a signal')
  } catch (error) {
    const { code, message: text } = publicError(error)
    throw new MqttError(code === 'bad_request' || code === 'forbidden' ? Reason.TOPIC_NAME : Reason.PAYLOAD, `will: ${text}`)
  }
  return message
}

/**
 * @typedef {object} Granted what CONNACK says
 * @property {number | undefined} keepalive that the client asked for, s
 * @property {boolean} sessionPresent
 * @property {number} expiry of the session, s
 * @property {number} maxBytes largest packet
 */

/**
 * @param {Wish} wish
 * @param {Granted} granted
 * @param {import('./kept-packets.js').KeptPackets} [kept]
 * @returns {Buffer} CONNACK
 */
export function connackFor (wish, granted, kept) {
  const encode = () => encodePacket(connackOf(wish, granted), wish.offer.version)
  if (kept === undefined || wish.assigned) return encode()
  const { keepalive, sessionPresent, expiry } = granted
  return kept.get(`${sessionPresent} ${expiry} ${keepalive === wish.keepAlive ? '' : wish.keepAlive}`, encode)
}

/** @param {Wish} wish @param {Granted} granted @returns {any} CONNACK */
function connackOf ({ offer: { version }, client, assigned, keepAlive }, granted) {
  const { keepalive, sessionPresent, expiry, maxBytes } = granted
  const accepted = { cmd: 'connack', sessionPresent, reasonCode: 0, returnCode: 0 }
  if (version === 4) return accepted
  return {
    ...accepted,
    properties: {
      sessionExpiryInterval: expiry,
      receiveMaximum: MAX_INCOMING,
      maximumQoS: 1,
      maximumPacketSize: maxBytes,
      topicAliasMaximum: MAX_ALIASES,
      wildcardSubscriptionAvailable: false,
      subscriptionIdentifiersAvailable: false,
      sharedSubscriptionAvailable: false,
      ...(keepAlive !== keepalive && { serverKeepAlive: keepAlive }),
      ...(assigned && { assignedClientIdentifier: client })
    }
  }
}
