import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { InkcastError } from '../../base/common/errors.js'
import { askPrivately } from './private-listener.js'

/**
 * The processes of this machine, by the sockets of their private listeners, and one question to several of them.
 *
 * @typedef {{ name: string, file: string }} Listening file: path of the socket
 * @typedef {{ name: string, answer?: any, error?: string }} Answered error: why there is no answer
 */

/**
 * The order of processes; localeCompare would load ICU, 3 MB.
 * @param {{ name: string }} a
 * @param {{ name: string }} b
 */
export const byName = (a, b) => Number(a.name > b.name) - Number(a.name < b.name)

/** @param {string} file of a private listener @returns {string} name of the process, `gateway-0` */
export const nameOf = (file) => path.basename(file).split('.', 1)[0]

/**
 * @param {string} directory with the private listeners
 * @returns {Promise<string[]>} names of their sockets, sorted
 */
export const socketsIn = async (directory) => (await readdir(directory)).filter((file) => file.endsWith('.sock')).sort()

/** @param {string} directory with the private listeners @returns {Promise<Listening[]>} by name */
export const processesIn = async (directory) =>
  (await socketsIn(directory)).map((file) => ({ name: nameOf(file), file: path.join(directory, file) }))

/**
 * @param {readonly Listening[]} processes
 * @param {string} route
 * @param {object} options
 * @param {number} options.timeout of each answer, ms
 * @param {string} [options.method]
 * @param {object} [options.body]
 * @returns {Promise<Answered[]>} without processes that have ended, or do not listen yet
 */
export async function askProcesses (processes, route, { timeout, method, body }) {
  const answers = await Promise.all(processes.map(async ({ name, file }) => {
    try {
      return { name, answer: await askPrivately(file, route, { timeout, method, body: body && JSON.stringify(body) }) }
    } catch (error) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error)
      return code === 'ECONNREFUSED' || code === 'ENOENT' ? null : { name, error: message }
    }
  }))
  return answers.filter((answer) => answer !== null)
}

/**
 * As `askProcesses`, where each answer is needed.
 * @param {Parameters<typeof askProcesses>} question
 * @returns {Promise<Required<Pick<Answered, 'name' | 'answer'>>[]>}
 * @throws {InkcastError} unavailable: a process does not answer
 */
export async function askEach (...question) {
  const answers = await askProcesses(...question)
  const silent = answers.find(({ error }) => error !== undefined)
  if (silent !== undefined) throw new InkcastError('unavailable', `${silent.name} did not answer: try again`)
  return /** @type {any} */ (answers)
}
