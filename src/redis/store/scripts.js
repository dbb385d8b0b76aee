import { createHash } from 'node:crypto'
import { compile } from './lua/compile.js'

/** @typedef {(environment: import('./lua/values.js').Environment) => import('./resp/replies.js').Reply} Script */

/** Scripts that are kept; then the oldest goes, as after SCRIPT FLUSH: its clients send it again. */
const MAX_SCRIPTS = 1000

/** Compiled scripts by the SHA of their source. */
export class Scripts {
  /** @type {Map<string, Script>} */
  #scripts = new Map()
  #compile

  /** @param {(source: string) => Script} [ofSource] compiles a script */
  constructor (ofSource = compile) { this.#compile = ofSource }

  /** @param {string} sha @returns {Script | undefined} */
  get (sha) { return this.#scripts.get(sha.toLowerCase()) }

  /**
   * @param {string} source
   * @returns {string} its SHA
   * @throws {import('./resp/replies.js').ErrorReply} it cannot be compiled
   */
  load (source) {
    const sha = createHash('sha1').update(source, 'latin1').digest('hex')
    if (this.#scripts.has(sha)) return sha
    this.#scripts.set(sha, this.#compile(source))
    const [oldest] = this.#scripts.keys()
    if (this.#scripts.size > MAX_SCRIPTS) this.#scripts.delete(oldest)
    return sha
  }

  clear () { this.#scripts.clear() }
}
