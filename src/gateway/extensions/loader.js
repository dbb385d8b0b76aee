import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Finds and imports the modules that EXTENSIONS names.
 *
 * @typedef {object} LoadedExtension
 * @property {string} name of its file or package, for the log and metrics
 * @property {import('./extension.js').Extension} start
 */

/** Prometheus labels, logs and environment variables show it. */
const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

/**
 * @param {string} specifier a path (`./chat.js`, absolute) or the name of an installed package
 * @param {string} directory paths and packages are looked up from here
 * @returns {Promise<LoadedExtension>} rejects with one line that says what to change
 */
async function load (specifier, directory) {
  const isPath = specifier.startsWith('.') || path.isAbsolute(specifier)
  const file = isPath ? path.resolve(directory, specifier) : packageFile(specifier, directory)
  if (!existsSync(file)) throw new Error(`EXTENSIONS: ${specifier}: there is no file ${file}`)
  const name = isPath ? nameOfFile(file) : specifier.replace(/^@[^/]*\//, '')
  if (!NAME.test(name)) {
    throw new Error(
      `EXTENSIONS: ${specifier}: "${name}" cannot be the name of an extension: use letters, digits, - and _ only`
    )
  }
  let module
  try {
    module = await import(pathToFileURL(file).href)
  } catch (error) {
    throw new Error(`EXTENSIONS: ${specifier} cannot be loaded: ${messageOf(error)}`, { cause: error })
  }
  if (typeof module.default !== 'function') {
    throw new Error(`EXTENSIONS: ${specifier} has no default export that is a function: export default (context) => …`)
  }
  return { name, start: module.default }
}

/** `chat` of `chat.js`, `rooms` of `rooms/index.js`. @param {string} file */
function nameOfFile (file) {
  const { name, dir } = path.parse(file)
  return name === 'index' ? path.basename(dir) : name
}

/** @param {string} specifier @param {string} directory @returns {string} */
function packageFile (specifier, directory) {
  try {
    return createRequire(path.join(directory, 'package.json')).resolve(specifier)
  } catch {
    throw new Error(`EXTENSIONS: ${specifier} is not installed (a file is named ./${specifier})`)
  }
}

/** @param {unknown} error */
export const messageOf = (error) => error instanceof Error ? error.message.split('\n')[0] : String(error)

/**
 * @param {readonly string[]} specifiers
 * @param {string} [directory] default: the working directory
 * @returns {Promise<LoadedExtension[]>} rejects with one line that says what to change
 */
export async function loadExtensions (specifiers, directory = process.cwd()) {
  const loaded = []
  for (const specifier of specifiers) loaded.push(await load(specifier, directory))
  const names = loaded.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) < i)
  if (twice !== undefined) throw new Error(`EXTENSIONS: there are two extensions named ${twice}`)
  return loaded
}
