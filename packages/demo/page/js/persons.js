import { colorOf } from './colors.js'

/**
 * A person as their presence state describes them. Their connection may change; their id stays.
 *
 * @typedef {object} Person
 * @property {string} id
 * @property {string} name
 * @property {string} color
 * @property {number} since when their page was opened, ms since 1970
 * @property {boolean} guest one of the guests that a page brings in
 * @property {{ slide: number }} [presenting]
 * @property {string} connection
 */

/**
 * Reads the presence of a document. Clients can put anything into a state, so only valid fields are used.
 *
 * @param {ReadonlyMap<string, any>} presence of a document of the client
 * @returns {Person[]} one per connection
 */
export function personsIn (presence) {
  const persons = []
  // a user of several tabs is one member with several connections
  for (const { id: connection, state } of [...presence.values()].flatMap((member) => member.connections ?? [member])) {
    if (typeof state?.id !== 'string' || typeof state.name !== 'string') continue
    const { id, name, color, since, presenting, guest } = state
    persons.push({
      id,
      name: name.slice(0, 40),
      color: /^#[0-9a-f]{6}$/.test(color) ? color : colorOf(id),
      since: Number.isFinite(since) ? since : Infinity,
      guest: guest === true,
      connection,
      ...(Number.isInteger(presenting?.slide) ? { presenting } : {})
    })
  }
  return persons
}
