/**
 * The encoding of a user's sessions on one worker.
 *
 * @typedef {import('./contract.js').Session} Session
 * @typedef {import('./contract.js').UserSessions} UserSessions
 */

/** @param {UserSessions} user @returns {string} JSON arrays without names, to save memory for each user */
export function encodeUser ({ sessions, away, end }) {
  const list = []
  for (const { sid, client, transport, lastSeen, documents } of sessions)
    list.push([sid, client ?? null, transport, lastSeen, documents])
  return JSON.stringify(end === undefined ? [list, away] : [list, away, [end.sid, end.reason, end.at]])
}

/** @param {string} json @returns {UserSessions} */
export function decodeUser (json) {
  const [sessions, away, end] = JSON.parse(json)
  return {
    sessions: sessions.map((/** @type {any[]} */ [sid, client, transport, lastSeen, documents]) => ({
      sid,
      ...(client === null ? {} : { client }),
      transport,
      lastSeen,
      documents
    })),
    away,
    ...(end ? { end: { sid: end[0], reason: end[1], at: end[2] } } : {})
  }
}

/**
 * @param {Session[]} sessions
 * @param {number} [seen] time at or after which all of them were heard from, ms since 1970
 * @returns {Session[]}
 */
export const asSeen = (sessions, seen = 0) =>
  sessions.map((session) => (session.lastSeen < seen ? { ...session, lastSeen: seen } : session))
