/**
 * Scratch directories of tests and their services.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { identify } from './process-identity.js'

/**
 * inkcast-<purpose>-<pid of the creator>-<random>; a run directory of inkcast itself has no purpose
 */
const MADE = /^inkcast-.+-(\d+)-\w{6}$/

/**
 * Creates a scratch directory. Among temporary files, also removes the directories of processes that were killed.
 *
 * @param {string} name purpose, part of the directory's name
 * @param {string} [parent] for directories that may outlive this process; created when it doesn't exist. Default: the
 *   system's directory for temporary files
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
      // another user's directory, or a server still writes there: cleanup can wait
    }
  }
}

/**
 * Removes a directory with its content. A killed server may still be writing for a moment, hence the retries.
 * @param {string} directory
 */
export function removeDirectory (directory) {
  rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
}
