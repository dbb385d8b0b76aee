/**
 * Documented timeouts of what attackers leave open (docs/security-model.md).
 */
import { TIMES } from '../../src/base/process/socket-times.js'

/** The client has a message or a request that does not end: the session is closed, then its connection, ms. */
const UNFINISHED = TIMES.request + TIMES.linger

/** ms, by the name of the attack @type {Record<string, number>} */
const TIMEOUTS = {
  // a line whose first answer comes too late sends no body
  'bodies of 1 MB that do not end': TIMES.keepAlive,
  'frames that claim 1 MB': UNFINISHED,
  'frames of 1 MB that do not end': UNFINISHED,
  'plain: half handshakes, and WebSockets without a login': TIMES.headers + TIMES.linger,
  'plain: first messages of 60 KB that do not end': TIMES.headers + TIMES.linger,
  // among them kept connections without a request
  'unfinished lines': TIMES.keepAlive,
  'TLS without a byte, or half a hello': TIMES.handshake,
  'openapi.json, pipelined and not read': TIMES.silence,
  'gRPC: silent connections': TIMES.headers,
  // some of the requests are valid, and their connections are kept
  'malformed requests at PORT': TIMES.keepAlive,
  'malformed requests at API_PORT': TIMES.keepAlive
}

/** @param {string} attack its name @returns {number} ms; 0 if the attacker closes its connections */
export const timeoutOf = (attack) => TIMEOUTS[attack] ?? 0
