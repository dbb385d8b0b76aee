import { wellFormed } from '../../wire/msgpack.js'
import { timeOfSid } from '../../wire/session-id.js'

/**
 * A member as clients see it, made of its connections.
 *
 * @typedef {import('./contract.js').Member} Member
 * @typedef {{ name?: string, state?: object, idle?: true }} Body the stored part of a connection, as JSON
 */

/**
 * @param {string} uid
 * @param {[id: string, body: Body][]} connections at least one
 * @returns {Member}
 */
export function makeMember (uid, connections) {
  if (connections.length === 1) {
    const [[id, body]] = connections
    return { uid, id, ...body }
  }
  const all = connections.map(([id, body]) => ({ id, body, at: timeOfSid(id) })).sort((a, b) => a.at - b.at)
  const { id, body: { idle, ...body } } = all[all.length - 1]
  return {
    uid,
    id,
    ...body,
    // a user who works in one tab is not idle
    ...(idle && all.every((one) => one.body.idle) && { idle }),
    connections: all.map(({ id, body: { name: _, ...own } }) => ({ id, ...own }))
  }
}

/**
 * @param {string | undefined} name
 * @param {object | undefined} state
 * @param {boolean} [idle]
 * @returns {string} well formed, because msgpack cannot hold half a surrogate pair
 */
export function encodeBody (name, state, idle) {
  const body = { name, state, idle: idle ? true : undefined }
  const text = JSON.stringify(body)
  return SURROGATE.test(text) ? JSON.stringify(wellFormed(body)) : text
}

/** @param {string} body @returns {boolean} before the last brace, others have that of a state or the quote of a name */
export const isIdle = (body) => body.endsWith('"idle":true}')

/** JSON.stringify escapes halves of surrogate pairs. */
const SURROGATE = /\\ud[89a-f]/
