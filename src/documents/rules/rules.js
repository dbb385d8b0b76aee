import { createReloadedFiles } from '../../config/reloaded-files.js'
import { parseRules } from './file.js'
import { createFind } from './find.js'

/**
 * What applies to a document, by the prefix of its guid (DOCUMENT_RULES_FILE). The file is read again when it changes.
 * Ask for each use, and keep nothing of the answer: the next one may differ.
 *
 * @typedef {object} Rules of one document; frozen, and the same object for all documents of a rule
 * @property {Readonly<Required<import('../../log/bus/contract.js').HistoryLimits>>} history
 * @property {boolean} presence
 * @property {'nobody' | 'writers' | 'everybody'} signals who may send them
 * @property {boolean | undefined} echo whether a connection gets its own signals, and its own messages where there is
 *   no service in between; undefined: its messages, not its signals
 * @property {number | undefined} rate events per second and connection; undefined: no limit but the connection's
 * @property {boolean} uplink whether the webhook gets what concerns the document
 *
 * @typedef {(guid: string) => Rules} RulesOf
 */

/**
 * @param {object} dependencies
 * @param {{ size: number, ttl: number }} dependencies.history config.history, the defaults
 * @param {string} [dependencies.path] of the file; default: there are no rules
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {Parameters<typeof createReloadedFiles>[0]['metrics']} dependencies.metrics
 * @param {number} [dependencies.every] see createReloadedFiles
 * @param {import('../../base/common/wait.js').Timers} dependencies.clock
 */
export function createDocumentRules ({ history, path, log, metrics, every, clock }) {
  const defaults = rulesFrom({}, history)
  let find = createFind([], defaults)
  const file = path === undefined
    ? undefined
    : createReloadedFiles({
        setting: 'DOCUMENT_RULES_FILE',
        path,
        load: async (readText) => parseRules(await readText(path)),
        apply: (rules) => {
          find = createFind(rules.map((rule) => [rule.prefix, rulesFrom(rule, history)]), defaults)
        },
        log, metrics, every, clock
      })
  return {
    /** @throws {Error} (rejects) if the file is wrong */
    start: async () => file?.start(),
    stop: async () => file?.stop(),

    /** @type {RulesOf} */
    rulesOf: (guid) => find(guid),

    /** @type {import('../../log/bus/contract.js').HistoryOf} */
    historyOf: (guid) => find(guid).history
  }
}

/**
 * @param {{ size: number, ttl: number }} history
 * @returns {RulesOf} where there is no file
 */
export function withoutRules (history) {
  const rules = rulesFrom({}, history)
  return () => rules
}

/**
 * @param {Partial<import('./file.js').Rule>} rule
 * @param {{ size: number, ttl: number }} defaults
 * @returns {Rules}
 */
function rulesFrom ({ history, presence = true, signals = 'writers', echo, rate, webhook = true }, defaults) {
  const limits = Object.freeze({ bytes: 0, keys: true, ...defaults, ...history })
  return Object.freeze({ history: limits, presence, signals, echo, rate, uplink: webhook })
}
