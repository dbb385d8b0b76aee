/**
 * The services left running by `npm run services start`: `.services/state.json`.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isAlive } from './process-identity.js'

/**
 * Names of the services, and the variable with each one's address.
 * @type {{ redis: 'REDIS_URL', cluster: 'REDIS_CLUSTER_URL', kafka: 'KAFKA_BROKERS' }}
 */
export const VARIABLES = { redis: 'REDIS_URL', cluster: 'REDIS_CLUSTER_URL', kafka: 'KAFKA_BROKERS' }

/** @typedef {keyof typeof VARIABLES} ServiceName */

/** In display order. */
export const SERVICE_NAMES = /** @type {ServiceName[]} */ (Object.keys(VARIABLES))

/**
 * @typedef {object} ServiceEntry
 * @property {string} url the value of its variable
 * @property {string} [classpath] Kafka only
 * @property {import('./process-identity.js').ProcessIdentity[]} processes
 * @property {string[]} directories to remove with it
 */

/** @typedef {Partial<Record<ServiceName, ServiceEntry>>} State */

/** @returns {string} INKCAST_SERVICES_DIR, or .services in the project */
export function stateDirectory () {
  return process.env.INKCAST_SERVICES_DIR || fileURLToPath(new URL('../../.services', import.meta.url))
}

/** @returns {State} services that were started, running or not; empty when there is no readable state */
export function readState () {
  try {
    return JSON.parse(readFileSync(join(stateDirectory(), 'state.json'), 'utf8'))
  } catch {
    return {}
  }
}

/**
 * Changes one entry. Writers hold the lock of services.js; readers need none, because the file is replaced atomically.
 * @param {ServiceName} name
 * @param {ServiceEntry | undefined} entry undefined removes it
 */
export function writeEntry (name, entry) {
  const directory = stateDirectory()
  mkdirSync(directory, { recursive: true })
  const file = join(directory, 'state.json')
  const next = `${file}.${process.pid}`
  writeFileSync(next, `${JSON.stringify({ ...readState(), [name]: entry }, null, 2)}\n`)
  renameSync(next, file)
}

/** @returns {State} only services whose processes all run */
export function runningServices () {
  return Object.fromEntries(Object.entries(readState()).filter(([, entry]) => entry.processes.every(isAlive)))
}
