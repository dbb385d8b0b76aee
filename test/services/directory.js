/**
 * Scratch directories of tests and their services.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { identify } from './process-identity.js'

/**
 * inkcast-<what for>-<pid of who made it>-<random>; a run directory of inkcast itself has nothing in front of the pid
 */
const MADE = /^inkcast-.+-(\d+)-\w{6}$/

/**
 * Among temporary files, those that processes made which were killed, and could not remove them, are removed.
 *
 * @param {string} name what for, part of the directory's name
 * @param {string} [parent] for what may outlive this process; made when it doesn't exist. Default: the system's
 *   directory for temporary files
 * @returns {string} a new directory
 */
export function makeDirectory (name, parent) {
  if (parent !== undefined) {
    mkdirSync(parent, { recursive: true })
    return mkdtempSync(join(parent, `inkcast-${name}-`))
  }
  removeAbandoned()
  return mkdtempSync(join(tmpdir(), `inkcast-${name}-${process.pid}-`))
}

function removeAbandoned () {
  for (const name of readdirSync(tmpdir())) {
    const maker = MADE.exec(name)?.[1]
    if (maker === undefined || identify(Number(maker)) !== undefined) continue
    try {
      removeDirectory(join(tmpdir(), name))
    } catch {
      // another user's, or its maker's last server still writes there: nothing that has to be done now
    }
  }
}

/**
 * Removes it with all it holds. A server that was killed may still be writing for an instant, hence the retries.
 * @param {string} directory
 */
export function removeDirectory (directory) {
  rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
}
