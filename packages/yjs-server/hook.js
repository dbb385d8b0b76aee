import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Refusal } from './errors.js'

/** Time for an answer of the hook, ms. */
const TIMEOUT = 5000

/**
 * @typedef {object} Asked
 * @property {string} guid
 * @property {string | null} uid user; null without a login
 * @property {string} sid connection
 * @property {string} event `yjs`, or `yjs:part` for an update that came in parts
 * @property {Uint8Array} update
 * @property {number} documentBytes of the document's file
 *
 * @typedef {(asked: Asked) => Promise<string | null>} Check reason to refuse the update, or null
 * @typedef {(asked: Asked) => unknown} Hook returns the reason to refuse the update as a text, or nothing
 */

/**
 * @param {string | undefined} path of a module whose default export is a Hook
 * @param {import('./log.js').Log} log
 * @returns {Promise<Check>} rejects with one line that says what is wrong
 */
export async function loadHook (path, log) {
  if (path === undefined) return async () => null
  const file = resolve(path)
  if (!existsSync(file)) throw new Error(`--hook: there is no file ${file}`)
  const { default: hook } = await import(pathToFileURL(file).href)
  if (typeof hook !== 'function') throw new Error(`--hook: ${path} has no default export that is a function`)
  return createCheck(hook, log)
}

/** @param {Hook} hook @param {import('./log.js').Log} log @returns {Check} */
export const createCheck = (hook, log) => async (asked) => {
  let timer
  try {
    const late = new Promise((_resolve, reject) => {
      timer = setTimeout(() => reject(Object.assign(new Error('it did not answer in time'), { retryable: true })), TIMEOUT)
    })
    const answer = await Promise.race([hook(asked), late])
    if (answer === undefined || answer === null || answer === true) return null
    return typeof answer === 'string' && answer !== '' ? answer : 'the update is not allowed'
  } catch (error) {
    const { message, retryable = false } = /** @type {any} */ (Object(error))
    log.error(`the hook failed for ${asked.guid}: ${message}`)
    // its database is down: the gateway sends the update again
    if (retryable) throw new Refusal(503, 'the hook failed', { cause: error })
    return 'the update could not be checked'
  } finally {
    clearTimeout(timer)
  }
}
