/**
 * The encoding of a user's sessions on one worker.
 *
 * @typedef {import('./contract.js').Session} Session
 * @typedef {import('./contract.js').UserSessions} UserSessions
 */

/** @param {UserSessions} user @returns {string} JSON arrays without names, to save memory for each user */
export function encodeUser ({ sessions, away, end }) {
  const list = []
  for (const { sid, client, transport, lastSeen, documents, listener } of sessions) {
    const session = [sid, client ?? null, transport, lastSeen, documents]
    list.push(listener === undefined ? session : [...session, listener])
  }
  if (end === undefined) return JSON.stringify([list, away])
  const { sid, reason, at, device = null, listener } = end
  return JSON.stringify([list, away, listener === undefined ? [sid, reason, at] : [sid, reason, at, device, listener]])
}

/** @param {string} json @returns {UserSessions} */
export function decodeUser (json) {
  const [sessions, away, end] = JSON.parse(json)
  return {
    sessions: sessions.map((/** @type {any[]} */ [sid, client, transport, lastSeen, documents, listener]) => ({
      sid,
      ...(client === null ? {} : { client }),
      transport,
      lastSeen,
      documents,
      ...(listener === undefined ? {} : { listener })
    })),
    away,
    ...(end ? { end: decodeEnd(end) } : {})
  }
}

/** @param {any[]} end @returns {NonNullable<UserSessions['end']>} */
const decodeEnd = ([sid, reason, at, device, listener]) => ({
  sid, reason, at, ...(listener === undefined ? {} : { ...(device === null ? {} : { device }), listener })
})

/**
 * @param {Session[]} sessions
 * @param {number} [seen] time at or after which all of them were heard from, ms since 1970
 * @returns {Session[]}
 */
export const asSeen = (sessions, seen = 0) =>
  sessions.map((session) => (session.lastSeen < seen ? { ...session, lastSeen: seen } : session))
