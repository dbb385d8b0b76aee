import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { systemClock } from '../../../base/common/clock.js'
import { systemRandom } from '../../../base/common/random.js'
import { createMetrics } from '../../../observe/metrics/metrics.js'
import { findingsOf } from './finding.js'

/** Days before a certificate's end from which it is a warning. */
const SOON = 14
const DAY = 86_400_000

const { ok, warning, error } = findingsOf('files')

/** @typedef {import('./finding.js').Finding} Finding */

/**
 * Certificates, rules of documents and callers, as they are read at the start.
 * @param {import('../../../config/load.js').Config} config
 * @param {import('../../../base/common/log.js').Log} log
 * @returns {Promise<Finding[]>}
 */
export async function checkContents (config, log) {
  const { gateway, api, admin, kafka, documents, history, limits, production } = config
  const metrics = createMetrics({ processMetrics: false })
  /** @type {(Finding | undefined)[]} */
  const findings = [
    certificate('TLS_FILES', gateway.tls),
    certificate('API_TLS_FILES', api.tls),
    certificate('ADMIN_TLS_FILES', admin.tls),
    certificate('PEER_TLS_FILES', gateway.peerTls),
    certificate('KAFKA_SSL', kafka.ssl)
  ]
  if (documents.rulesFile !== undefined) {
    const { createDocumentRules } = await import('../../../documents/rules/rules.js')
    const rules = createDocumentRules({ history, path: documents.rulesFile, log, metrics, clock: systemClock })
    findings.push(await starts(rules, documents.rulesFile, 'docs/document-rules.md says what it may contain'))
  }
  if (api.callersFile !== undefined && api.tokens !== undefined) {
    const { Callers } = await import('../../../services/api/callers/callers.js')
    const { TenantNames } = await import('../../../people/tenants/names.js')
    const callers = new Callers({
      settings: api,
      production,
      tenants: limits.tenants && { names: new TenantNames(limits.tenants), publishes () {} },
      log, metrics, clock: systemClock, random: systemRandom
    })
    findings.push(await starts(callers, api.callersFile, 'docs/callers.md says what it may contain'))
  }
  return findings.filter((finding) => finding !== undefined)
}

/**
 * @param {{ start: () => Promise<unknown>, stop: () => unknown }} part
 * @param {string} file
 * @param {string} todo
 */
async function starts (part, file, todo) {
  try {
    await part.start()
    return ok(`${file} is correct`)
  } catch (wrong) {
    return error(/** @type {Error} */ (wrong).message, todo)
  } finally {
    await part.stop()
  }
}

/**
 * @param {string} setting
 * @param {{ cert?: string }} [files]
 * @returns {Finding | undefined} undefined: there is none, or it cannot be read, which is reported with the settings
 */
function certificate (setting, { cert: file } = {}) {
  if (file === undefined) return undefined
  try {
    const { validTo, subject } = new X509Certificate(readFileSync(file))
    const days = Math.floor((Date.parse(validTo) - systemClock.now()) / DAY)
    const name = subject.replaceAll('\n', ', ')
    if (days < 0) return error(`${setting}=cert:${file} (${name}) has expired on ${validTo}`, 'renew it: clients refuse it')
    if (days < SOON) return warning(`${setting}=cert:${file} (${name}) expires in ${days} days`, 'renew it')
    return ok(`${setting}: ${name}, ${days} days left`)
  } catch {
    return undefined
  }
}
