import { MAX_ID_BYTES, isId } from './publication.js'

/**
 * Topics of MQTT (docs/devices.md): `doc/<guid>` is a document, `doc/<guid>/signal/<event>` its signals of one kind,
 * `user` what is published for the client's user, `gateway` the events of the gateway itself. In a guid or the name of
 * an event `%`, `/`, `+` and `#` are written as in URLs, because they have a meaning in topics.
 *
 * @typedef {{ kind: 'document', guid: string } | { kind: 'signal', guid: string, event: string } |
 *   { kind: 'user' } | { kind: 'gateway' }} Topic
 */

export const USER = 'user'
export const GATEWAY = 'gateway'
const DOCUMENT = 'doc'
const SIGNAL = 'signal'

/** @type {Record<string, string>} */
const WRITTEN = { '%': '%25', '/': '%2F', '+': '%2B', '#': '%23' }
/** @type {Record<string, string>} */
const READ = Object.fromEntries(Object.entries(WRITTEN).map(([char, written]) => [written, char]))
/** Characters that should have been escaped. */
const WRONG = /[+#]|%(?!25|2F|2B|23)/

/** @param {string} name */
const written = (name) => name.replace(/[%/+#]/g, (char) => WRITTEN[char])

/** @param {string} level of a topic */
const read = (level) => level.includes('%') ? level.replace(/%../g, (code) => READ[code]) : level

/** @param {string} guid */
export const documentTopic = (guid) => `${DOCUMENT}/${written(guid)}`

/** @param {string} guid @param {string} event */
export const signalTopic = (guid, event) => `${DOCUMENT}/${written(guid)}/${SIGNAL}/${written(event)}`

const LONGEST = '/'.repeat(MAX_ID_BYTES)
/** Characters of the longest topic. */
export const MAX_TOPIC = signalTopic(LONGEST, LONGEST).length

/**
 * @param {string} topic
 * @returns {Topic | null} null: there is no such topic. Of two topics that are written differently, none is the same
 */
export function readTopic (topic) {
  if (topic === USER) return { kind: 'user' }
  if (topic === GATEWAY) return { kind: 'gateway' }
  const [first, guid, third, event, ...more] = topic.split('/')
  if (first !== DOCUMENT || guid === undefined || WRONG.test(topic) || more.length > 0) return null
  const document = read(guid)
  if (!isId(document)) return null
  if (third === undefined) return { kind: 'document', guid: document }
  if (third !== SIGNAL || event === undefined) return null
  const signal = read(event)
  return isId(signal) ? { kind: 'signal', guid: document, event: signal } : null
}
