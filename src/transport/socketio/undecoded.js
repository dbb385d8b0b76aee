import { InkcastError } from '../../base/common/errors.js'
import { LogLimit } from '../../base/common/log-limit.js'
import { refusal } from '../admission/rate-limit.js'

/** Messages to clients about a packet that is not decoded, by kind: the label of the metric `undecoded_packets`. */
const MESSAGES = {
  json: 'the packet is not a valid event; NaN and Infinity are not JSON',
  msgpack: 'the packet is not a valid event in msgpack',
  attachments: 'an event may have at most 10 attachments (byte fields of a JSON client), which follow it at once',
  placeholder: 'an object with `_placeholder: true` names no attachment of its event',
  depth: 'the value is nested too deep',
  values: 'there are too many values in one message',
  connect: 'the first packet must be CONNECT, and there may be 10 of them',
  mqtt: 'the packet is not valid MQTT',
  protocol: 'the client speaks an older version of the Socket.IO protocol'
}

/** @typedef {keyof typeof MESSAGES} Kind */

/** @type {Record<string, ReturnType<typeof refusal>>} */
const REFUSALS = Object.fromEntries(
  Object.entries(MESSAGES).map(([kind, message]) => [kind, refusal(new InkcastError('bad_value', message))])
)

/** A packet that is not allowed where it comes. */
export class WrongPacket extends Error {
  /** @param {Kind} kind @param {string} message */
  constructor (kind, message) {
    super(message)
    this.kind = kind
  }
}

/**
 * @param {Kind} kind
 * @param {unknown} [error] the decoder's
 * @returns {ReturnType<typeof refusal>} the answer to an event that is not decoded
 */
export const answerTo = (kind, error) => error instanceof InkcastError ? refusal(error) : REFUSALS[kind]

/** @typedef {(kind: Kind, reason: string, client?: { uid?: string }) => void} NoteUndecoded */

/**
 * Counts packets that are not decoded, and logs one line a minute of each kind.
 *
 * @param {object} dependencies
 * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @returns {NoteUndecoded}
 */
export function createUndecoded ({ metrics, log, clock }) {
  const limits = new Map(Object.keys(MESSAGES).map((kind) => [kind, new LogLimit({ clock })]))
  return (kind, reason, client) => {
    metrics.undecoded_packets.inc({ kind })
    if (limits.get(kind)?.due())
      log.warn({ kind, reason, uid: client?.uid }, 'a packet of a client was refused, because it cannot be decoded')
  }
}
