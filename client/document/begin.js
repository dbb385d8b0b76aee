import { lastOf } from './last.js'
import { loaderFor } from './loader.js'

/**
 * How a document begins on a page that has no copy of it, with the option `load` or `last`.
 *
 * @typedef {import('./last.js').Last & { Loader?: typeof import('./loader.js').Loader }} Begin Loader: loads it
 */

/**
 * @param {import('./options.js').OpenOptions} options with `load` or `last`
 * @returns {Begin}
 * @throws {TypeError | import('../common/error.js').ClientError} one of them is wrong
 */
export const beginOf = (options) => options.last == null ? { Loader: loaderFor(options.load) } : lastOf(options)
