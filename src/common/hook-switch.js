import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { HOOKS } from './hooks.js'

/**
 * Packages whose private parts are combined in one connection: if the version of one is unchecked, the optional parts
 * of all are off.
 * @type {readonly string[]}
 */
const CONNECTION = [
  'socket.io', 'socket.io-adapter', 'socket.io-parser', 'socket.io-msgpack-parser', 'notepack.io', 'engine.io', 'ws'
]

/**
 * Packages whose version is checked, with the checked one. Node's parts are tested where they are used, in every
 * version; socket.io-client is installed elsewhere.
 */
const CHECKED = new Map(
  HOOKS.map(({ package: name, version }) => /** @type {const} */ ([name, version]))
    .filter(([name]) => name !== 'node' && name !== 'socket.io-client')
)

const require = createRequire(import.meta.url)
/** Dependencies of other packages, by the package that uses them. @type {Record<string, string>} */
const USED_BY = { 'socket.io-adapter': 'socket.io', 'notepack.io': 'socket.io-msgpack-parser' }

/**
 * Not every package exports its package.json, so search for it above the entry file.
 * @param {string} name
 * @returns {string}
 */
function installedVersion (name) {
  const user = USED_BY[name]
  let folder = path.dirname((user === undefined ? require : createRequire(require.resolve(user))).resolve(name))
  while (!folder.endsWith(path.join('node_modules', name))) folder = path.dirname(folder)
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')).version
}

/**
 * Packages whose optional parts are off in this process; one set, because patches change prototypes. @type
 * {Set<string>}
 */
const off = new Set()

/**
 * Decides once, at the start of a process, which private parts it may use.
 *
 * @param {object} options
 * @param {boolean} options.enabled the setting PRIVATE_HOOKS
 * @param {import('./log.js').Log} options.log
 * @param {(name: string) => string} [options.versionOf] installed version of a package
 */
export function checkHooks ({ enabled, log, versionOf = installedVersion }) {
  off.clear()
  if (!enabled) {
    for (const hook of HOOKS) off.add(hook.package)
    log.info('PRIVATE_HOOKS=false: private parts of libraries are off, except where they are required')
    return
  }
  const unchecked = [...CHECKED]
    .map(([name, version]) => ({ name, version, found: versionOf(name) }))
    .filter(({ version, found }) => found !== version)
  for (const { name } of unchecked) for (const each of CONNECTION.includes(name) ? CONNECTION : [name]) off.add(each)
  if (unchecked.length > 0) {
    const list = unchecked.map(({ name, version, found }) => `${name} ${found} (checked: ${version})`).join(', ')
    log.warn(`private parts are off, and slower alternatives are used, because of unchecked versions: ${list}`)
  }
}

/**
 * @param {string} name of a package of the list
 * @returns {boolean} whether its optional parts may be used
 */
export const mayHook = (name) => !off.has(name)
