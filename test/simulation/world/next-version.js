import { Cluster, Redis } from 'ioredis'
import { currentWorld } from './now.js'

/**
 * Processes that run "the next version": their scripts have other names in Redis, and what they write for other
 * processes has a field more. Processes of this version must pass over it, and those of the next one must do without it
 * in what they read.
 */

/** The additional field of each message. */
export const ADDED = Object.freeze({ added: 'by the next version' })

/** Keys by which the heads of records and orders, addresses of workers, and members of documents are known. */
const SHAPES = [['v', 't', 'i'], ['slot', 'token'], ['name', 'state']]

const isNext = () => currentWorld()?.current?.isNext === true

const { stringify } = JSON
JSON.stringify = (/** @type {any} */ value, /** @type {any[]} */ ...rest) =>
  stringify(isNext() && isMessage(value) ? { ...value, next: ADDED } : value, ...rest)

/** @param {any} value */
const isMessage = (value) => value?.constructor === Object && SHAPES.some((keys) => keys.every((key) => key in value))

/** The beginning of each message of the presence script. */
const PRESENCE = `'{"kind":"'`

/** @param {string} command @param {string} lua */
function nextScript (command, lua) {
  if (command !== 'inkcast_presence') return `${lua}\n-- of the next version\n`
  if (!lua.includes(PRESENCE)) throw new Error(`the script of presence has no ${PRESENCE}`)
  return lua.replace(PRESENCE, `'{"next":${stringify(ADDED)},"kind":"'`)
}

for (const proto of /** @type {any[]} */ ([Redis.prototype, Cluster.prototype])) {
  const { defineCommand } = proto
  /** @this {any} @param {string} command */
  proto.defineCommand = function (command, /** @type {any} */ { lua, ...others }) {
    return defineCommand.call(this, command, { lua: isNext() ? nextScript(command, lua) : lua, ...others })
  }
}

/**
 * @template {{ headers: Record<string, any> }} T
 * @param {T[]} records that a process writes to Kafka
 * @returns {T[]}
 */
export const nextRecords = (records) => isNext()
  ? records.map((record) => ({ ...record, headers: { ...record.headers, 'x-next': ADDED.added } })) : records
