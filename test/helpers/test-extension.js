/**
 * An extension whose code is in a test of the same process: EXTENSIONS is the path of this file.
 */
import { fileURLToPath } from 'node:url'
import { startEmbedded } from './embedded.js'

/** @typedef {import('../../src/gateway/extensions/extension.js').Extension} Extension */

/** @type {Extension} */
let code = () => {}

/** @type {Extension} */
export default (context) => code(context)

/**
 * @param {Parameters<typeof startEmbedded>[0]} t
 * @param {Extension} extension
 * @param {Record<string, string>} [env]
 * @param {import('../../src/base/common/log.js').Log} [log]
 */
export function startExtended (t, extension, env = {}, log) {
  code = extension
  return startEmbedded(t, { EXTENSIONS: fileURLToPath(import.meta.url), ...env }, log)
}
