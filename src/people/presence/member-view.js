import { wellFormed } from '../../wire/msgpack.js'
import { timeOfSid } from '../../wire/session-id.js'

/**
 * A member as clients see it, made of its connections.
 *
 * @typedef {import('./contract.js').Member} Member
 * @typedef {{ name?: string, state?: object }} Body the stored part of a connection, as JSON
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
  const { id, body } = all[all.length - 1]
  return {
    uid,
    id,
    ...body,
    connections: all.map(({ id, body: { state } }) => (state === undefined ? { id } : { id, state }))
  }
}

/**
 * @param {string | undefined} name
 * @param {object | undefined} state
 * @returns {string} well formed, because msgpack cannot hold half a surrogate pair
 */
export function encodeBody (name, state) {
  const body = JSON.stringify({ name, state })
  return SURROGATE.test(body) ? JSON.stringify(wellFormed({ name, state })) : body
}

/** JSON.stringify escapes halves of surrogate pairs. */
const SURROGATE = /\\ud[89a-f]/
