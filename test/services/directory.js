/**
 * Scratch directories of services.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * @param {string} name what for, part of the directory's name
 * @param {string} [parent] default: the system's directory for temporary files; made when it doesn't exist
 * @returns {string} a new directory
 */
export function makeDirectory (name, parent = tmpdir()) {
  mkdirSync(parent, { recursive: true })
  return mkdtempSync(join(parent, `inkcast-${name}-`))
}

/**
 * Removes it with all it holds. A server that was killed may still be writing for an instant, hence the retries.
 * @param {string} directory
 */
export function removeDirectory (directory) {
  rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
}
