import { createRequire } from 'node:module'
import path from 'node:path'

/** The library of the api's page `/docs/`. */
export const REFERENCE = 'swagger-ui-dist'

/**
 * @param {string} name of a package
 * @returns {string | undefined} its folder; undefined: it is not installed, as development dependencies are not with
 *   the package `inkcast` and after `npm ci --omit=dev`
 */
export function folderOf (name) {
  try {
    return path.dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
  } catch {
    return undefined
  }
}
