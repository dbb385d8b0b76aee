import { newTraceId } from '../../wire/headers.js'

/**
 * Life-cycle events as records of the uplink; docs/kafka.md describes them.
 *
 * @typedef {object} Happening
 * @property {string} [uid]
 * @property {string} [guid]
 * @property {string} [sid] connection that caused it
 * @property {string} [device] its client id, and
 * @property {string} [listener] its listener, if it is not Socket.IO's
 * @property {number} at ms since 1970
 * @property {string} [reason] of the end
 */

/**
 * @param {'0' | '1'} told '1': held now, '0': without a holder
 * @param {Happening} happening of a user (uid only), a document (guid only) or a user in a document
 * @param {import('../../wire/headers.js').TraceIdSource} random
 * @returns {import('../../log/publish/uplink.js').UplinkRecord | null} null: there is no event for it
 */
export function eventOf (told, { uid, guid, sid, device, listener, at, reason }, random) {
  if (uid === undefined && told === '1') return null
  const operator =
    uid === undefined
      ? 'vacated'
      : guid === undefined
        ? told === '1'
          ? 'online'
          : 'offline'
        : told === '1'
          ? 'joined'
          : 'left'
  const value = told === '0' && reason ? { reason } : {}
  return {
    operator,
    uid,
    guid,
    sid,
    ...(device !== undefined && { device }),
    ...(listener !== undefined && { listener }),
    traceId: newTraceId(random),
    timestamp: at,
    contentType: 'application/json',
    value: Buffer.from(JSON.stringify(value))
  }
}
