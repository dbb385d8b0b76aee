import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

/**
 * The Lua scripts in scripts/. A line `--@include <name>` includes a file of scripts/include. ioredis sends them as
 * EVALSHA, in full the first time on a connection and after Redis has lost them (NOSCRIPT).
 *
 * @typedef {string | number | Buffer} Argument
 *
 * @typedef {object} Scripts each takes its keys and then its arguments, and is documented in its file
 * @property {(keys: string[], args: Argument[]) => Promise<[epoch: string, ...results: number[]]>} publish
 * @property {(keys: string[], args: Argument[]) => Promise<number>} note
 * @property {(keys: string[], args: Argument[]) => Promise<1 | 0 | -1 | -2>} append
 * @property {(keys: string[], args: Argument[]) => Promise<Buffer[]>} take
 * @property {(keys: string[], args: Argument[]) => Promise<0 | 1>} done
 * @property {(keys: string[], args: Argument[]) => Promise<1>} release
 * @property {(keys: string[], args: Argument[]) => Promise<[] | [epoch: string, offset: string, removed: number]>} cut
 * @property {(keys: string[], args: Argument[]) => Promise<[epoch: string, offset: string, lost: number]>} open
 * @property {(keys: string[], args: Argument[]) => Promise<[] | [epoch: Buffer, offset: Buffer, state: number,
 *   ...offsets_and_envelopes: (number | Buffer)[]]>} history
 * @property {(keys: string[], args: Argument[]) => Promise<(string | number | null)[]>} positions
 * @property {(keys: string[], args: Argument[]) => Promise<[place: number, ...names_and_times: string[]][]>} users
 * @property {(keys: string[], args: Argument[]) => Promise<[at: string, ...workerNumbers: string[]]>} order
 * @property {(keys: string[], args: Argument[]) => Promise<0 | 1>} ordered
 * @property {(keys: string[], args: Argument[]) => Promise<number>} tell
 * @property {(keys: string[], args: Argument[]) => Promise<number>} drop
 * @property {(keys: string[], args: Argument[]) => Promise<unknown>} carried
 * @property {(keys: string[], args: Argument[]) => Promise<number>} outcome
 * @property {(keys: string[], args: Argument[]) => Promise<number>} leased
 * @property {(keys: string[], args: Argument[]) => Promise<[generation: string, state: '' | 'begun' | 'done' |
 *   'failed', mark: string, age: number]>} heal
 * @property {(keys: string[], args: Argument[]) => Promise<number>} mark
 * @property {(keys: string[], args: Argument[]) => Promise<string>} hold
 * @property {(keys: string[], args: Argument[]) => Promise<number>} ended
 * @property {(keys: string[], args: Argument[]) => Promise<string[]>} devices
 * @property {(keys: string[], args: Argument[]) => Promise<0 | 1>} session
 * @property {(keys: string[], args: Argument[]) => Promise<[state: 'new' | 'done' | 'busy' | 'other', text?: string,
 *   isRetry?: 0 | 1]>} request
 * @property {(keys: string[], args: Argument[]) => Promise<number>} settle
 * @property {(keys: string[], args: Argument[]) => Promise<0 | 1>} forget
 * @property {(keys: string[], args: Argument[]) => Promise<string[]>} receipt
 * @property {(keys: string[], args: Argument[]) => Promise<[number: number, incarnation: string]>} claim
 * @property {(keys: string[], args: Argument[]) => Promise<[secret: string, incarnation: string, lost: 0 | 1,
 *   time: string, name: string]>} renew
 * @property {(keys: string[], args: Argument[]) => Promise<[name: string, settling: number,
 *   isDoubted: 0 | 1, workers: string[]]>} registry
 * @property {(keys: string[], args: Argument[]) => Promise<0 | 1>} registered
 * @property {(keys: string[], args: Argument[]) => Promise<0 | 1>} whole
 * @property {(keys: string[], args: Argument[]) => Promise<[newest: string, nextExpiry: number, ended: string[],
 *   claimed: string[]]>} watch
 * @property {(keys: string[], args: Argument[]) => Promise<string>} presence
 * @property {(keys: string[], args: Argument[]) => Promise<[stored: string, ...users: string[]]>} left
 * @property {(keys: string[], args: Argument[]) => Promise<[version: string, count: string, countOnly: '0' | '1',
 *   cursor: string, ...connections: string[]]>} members
 * @property {(keys: string[], args: Argument[]) => Promise<(string | null)[]>} versions
 * @property {(keys: string[], args: Argument[]) => Promise<string[]>} mine
 * @property {(keys: string[], args: Argument[]) => Promise<string | null>} slot
 * @property {(keys: string[], args: Argument[]) => Promise<string | null>} owner
 * @property {(keys: string[], args: Argument[]) => Promise<string[]>} numbers
 * @property {(keys: string[], args: Argument[]) => Promise<string[]>} report
 * @property {(keys: string[], args: Argument[]) => Promise<string[]>} spend
 */

const FOLDER = new URL('scripts/', import.meta.url)
/** @param {string} file @returns {string} */
const read = (file) =>
  readFileSync(new URL(file, FOLDER), 'utf8').replace(/^--@include (\w+)$/gm, (_, name) => read(`include/${name}.lua`))

/** Scripts whose replies contain envelopes, which must not be decoded as text. */
const BINARY = new Set(['history', 'take'])

/**
 * Exported for tests: the store runs the same scripts. `command` has a prefix, to replace no command of Redis.
 * @type {readonly { name: string, command: string, lua: string }[]}
 */
export const SCRIPTS = readdirSync(FOLDER).filter((file) => file.endsWith('.lua')).map((file) => {
  const name = file.slice(0, -'.lua'.length)
  return { name, command: `inkcast_${name}`, lua: read(file) }
})

/** Names of the scripts by their SHA, which is all that a command has of them. @returns {Map<string, string>} */
export const scriptNames = () =>
  new Map(SCRIPTS.map(({ command, lua }) => [createHash('sha1').update(lua).digest('hex'), command]))

/**
 * @param {import('ioredis').Redis | import('ioredis').Cluster} client gets one command per script
 * @returns {Scripts}
 */
export function defineScripts (client) {
  /** @type {Record<string, (keys: string[], args: Argument[]) => Promise<any>>} */
  const scripts = {}
  for (const { name, command, lua } of SCRIPTS) {
    client.defineCommand(command, { lua })
    const method = BINARY.has(name) ? `${command}Buffer` : command
    // ioredis flattens its arguments one level deep, hence long lists need not be copied
    scripts[name] = (keys, args) => /** @type {any} */ (client)[method](keys.length, keys, args)
  }
  return /** @type {Scripts} */ (/** @type {unknown} */ (scripts))
}
