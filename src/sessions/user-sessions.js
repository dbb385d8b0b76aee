/**
 * How a worker's user is written: an array without names, because there are as many as there are users.
 *
 * @typedef {import('./contract.js').UserSessions} UserSessions
 */

/** @param {UserSessions} user @returns {string} */
export const encodeUser = ({ sessions, away, end }) =>
  JSON.stringify([sessions.map(({ sid, client, transport, lastSeen, documents }) => [sid, client ?? null, transport, lastSeen, documents]), away, end && [end.sid, end.reason, end.at]])

/** @param {string} json @returns {UserSessions} */
export function decodeUser (json) {
  const [sessions, away, end] = JSON.parse(json)
  return {
    sessions: sessions.map((/** @type {any[]} */ [sid, client, transport, lastSeen, documents]) => ({ sid, ...client === null ? {} : { client }, transport, lastSeen, documents })),
    away,
    ...end ? { end: { sid: end[0], reason: end[1], at: end[2] } } : {}
  }
}
