/**
 * Reason codes of MQTT 5 (2.4) and return codes of 3.1.1 for inkcast's errors.
 *
 * @typedef {import('../../transport/mqtt/packets.js').Version} Version
 */

export const Reason = Object.freeze({
  OK: 0x00,
  NO_SUBSCRIPTION: 0x11,
  UNSPECIFIED: 0x80,
  PROTOCOL_ERROR: 0x82,
  OTHER: 0x83,
  CLIENT_ID: 0x85,
  CREDENTIALS: 0x86,
  FORBIDDEN: 0x87,
  SHUTTING_DOWN: 0x8b,
  AUTH_METHOD: 0x8c,
  TAKEN_OVER: 0x8e,
  TOPIC_FILTER: 0x8f,
  TOPIC_NAME: 0x90,
  RECEIVE_MAXIMUM: 0x93,
  TOPIC_ALIAS: 0x94,
  TOO_LARGE: 0x95,
  QUOTA: 0x97,
  PAYLOAD: 0x99,
  QOS: 0x9b,
  OTHER_SERVER: 0x9c,
  SHARED: 0x9e,
  SUBSCRIPTION_ID: 0xa1,
  WILDCARD: 0xa2
})

/** MQTT 3.1.1, 3.2.2.3 */
export const OTHER_VERSION = 1
const [CLIENT_ID, SERVER_UNAVAILABLE, CREDENTIALS, NOT_AUTHORIZED] = [2, 3, 4, 5]

/** By error of a login: reason code of version 5, return code of 3.1.1. @type {Record<string, [number, number]>} */
const CONNACK = {
  bad_request: [Reason.CLIENT_ID, CLIENT_ID],
  unauthorized: [Reason.CREDENTIALS, CREDENTIALS],
  token_expired: [Reason.CREDENTIALS, CREDENTIALS],
  banned: [0x8a, NOT_AUTHORIZED],
  too_many_connections: [Reason.QUOTA, SERVER_UNAVAILABLE],
  too_many_documents: [Reason.QUOTA, SERVER_UNAVAILABLE],
  draining: [Reason.OTHER_SERVER, SERVER_UNAVAILABLE],
  overloaded: [0x89, SERVER_UNAVAILABLE],
  rate_limited: [0x9f, SERVER_UNAVAILABLE],
  unavailable: [0x88, SERVER_UNAVAILABLE],
  timeout: [0x88, SERVER_UNAVAILABLE],
  internal: [Reason.UNSPECIFIED, SERVER_UNAVAILABLE]
}

/**
 * @template T
 * @param {Record<string, T>} table
 * @param {string} code of inkcast's errors, or any of the application
 * @param {T} otherwise
 * @returns {T}
 */
const codeIn = (table, code, otherwise) => Object.hasOwn(table, code) ? table[code] : otherwise

/** @param {string} code @param {Version} version @returns {number} */
export const connackOf = (code, version) =>
  codeIn(CONNACK, code, [Reason.FORBIDDEN, NOT_AUTHORIZED])[version === 5 ? 0 : 1]

/** By error that ends a connection. @type {Record<string, number>} */
const DISCONNECT = {
  kicked: 0x98,
  banned: 0x98,
  token_expired: Reason.FORBIDDEN,
  rate_limited: 0x96,
  overloaded: 0x89,
  draining: Reason.SHUTTING_DOWN,
  bad_value: Reason.PROTOCOL_ERROR,
  replaced: Reason.TAKEN_OVER
}

/** @param {string} code @returns {number} */
export const disconnectOf = (code) => codeIn(DISCONNECT, code, Reason.UNSPECIFIED)

/** By error of a message. @type {Record<string, number>} */
const PUBACK = {
  forbidden: Reason.FORBIDDEN,
  bad_request: Reason.TOPIC_NAME,
  reserved_event: Reason.TOPIC_NAME,
  bad_value: Reason.PAYLOAD,
  bad_utf8: Reason.PAYLOAD,
  bad_content_type: Reason.PAYLOAD,
  rate_limited: Reason.QUOTA,
  value_too_large: Reason.QUOTA
}

/** @param {string} code @returns {number} */
export const pubackOf = (code) => codeIn(PUBACK, code, Reason.OTHER)

/** By error of a subscription. @type {Record<string, number>} */
const SUBACK = {
  forbidden: Reason.FORBIDDEN,
  bad_request: Reason.TOPIC_FILTER,
  too_many_documents: Reason.QUOTA,
  rate_limited: Reason.QUOTA
}

/** @param {string} code @returns {number} */
export const subackOf = (code) => codeIn(SUBACK, code, Reason.UNSPECIFIED)
