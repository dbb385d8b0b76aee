import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { InkcastError } from '../base/common/errors.js'
import { HOOKS } from '../base/common/hooks.js'

/**
 * The versions of libraries whose private parts inkcast uses (hooks.js). Parts of Node are tested where they are used,
 * in every version; socket.io-client is installed elsewhere.
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
  const entry = (user === undefined ? require : createRequire(require.resolve(user))).resolve(name)
  for (let folder = path.dirname(entry); folder !== path.dirname(folder); folder = path.dirname(folder)) {
    const file = path.join(folder, 'package.json')
    const { name: found, version } = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
    if (found === name) return version
  }
  return 'of an unknown version'
}

/**
 * @param {(name: string) => string} [versionOf] installed version of a package
 * @returns {{ problem: string, remedy: string } | null} null: every library has the checked version
 */
export function uncheckedLibraries (versionOf = installedVersion) {
  const unchecked = [...CHECKED]
    .map(([name, version]) => ({ name, version, found: versionOf(name) }))
    .filter(({ version, found }) => found !== version)
  if (unchecked.length === 0) return null
  return {
    problem: `unchecked versions of libraries: ${unchecked.map(({ name, found }) => `${name} ${found}`).join(', ')}`,
    remedy: `install ${unchecked.map(({ name, version }) => `${name}@${version}`).join(' ')}`
  }
}

/**
 * Called at each start, before the libraries are used.
 * @param {Pick<import('./load.js').Config, 'admin'>} config
 * @param {(name: string) => string} [versionOf]
 * @throws {InkcastError} unchecked_libraries, with what to install
 */
export function checkLibraries ({ admin }, versionOf) {
  const unchecked = admin.libraryVersions === 'any' ? null : uncheckedLibraries(versionOf)
  if (unchecked === null) return
  const { problem, remedy } = unchecked
  throw new InkcastError(
    'unchecked_libraries', `${problem}; ${remedy}, or set LIBRARY_VERSIONS=any to start with a warning`
  )
}
