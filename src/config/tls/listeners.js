import { Certificate } from './certificate.js'
import { createTicketKeys } from './ticket-keys.js'

/**
 * The certificates of the listeners, by their settings.
 *
 * @typedef {object} Parts
 * @property {import('../load.js').Config} config
 * @property {import('../../base/common/log.js').Log} log
 * @property {import('../../observe/metrics/metrics.js').Metrics} metrics
 * @property {import('../../base/common/clock.js').Clock} clock
 */

/**
 * @param {Parts & { random: import('../../base/common/random.js').Random, directory?: string }} parts `directory` that
 *   the
 *   workers of this machine share
 * @returns {Certificate | undefined} undefined: the gateway does not terminate TLS
 */
export function gatewayCertificate ({ config, directory, random, ...parts }) {
  const { tls: files, tlsGroups, tlsTicketSecret } = config.gateway
  if (files === undefined) return undefined
  return new Certificate({
    setting: 'TLS_FILES',
    files,
    secure: { ecdhCurve: tlsGroups ?? 'auto' },
    tickets: createTicketKeys({ secret: tlsTicketSecret, directory, clock: parts.clock, random }),
    ...parts
  })
}

/**
 * The api asks for client certificates if `API_TLS_FILES` has a `ca`, and takes tokens as well.
 * @param {Parts} parts
 * @returns {Certificate | undefined}
 */
export const apiCertificate = ({ config, ...parts }) => ofListener('API_TLS_FILES', config.api.tls, parts)

/**
 * `ADMIN_PORT` requires a client certificate if `ADMIN_TLS_FILES` has a `ca`.
 * @param {Parts} parts
 * @returns {Certificate | undefined}
 */
export const adminCertificate = ({ config, ...parts }) => ofListener('ADMIN_TLS_FILES', config.admin.tls, parts)

/**
 * @param {string} setting
 * @param {import('../setting.js').PemFiles | undefined} files
 * @param {Omit<Parts, 'config'>} parts
 */
const ofListener = (setting, files, parts) => files && new Certificate({ setting, files, ...parts })

/**
 * Workers of other machines authenticate each other: the certificate is shown by the listener and by the client.
 * @param {Parts} parts
 * @returns {Certificate | undefined}
 */
export const peerCertificate = ({ config: { gateway: { peerTls: files } }, ...parts }) =>
  files && new Certificate({ setting: 'PEER_TLS_FILES', files, secure: { minVersion: 'TLSv1.3' }, ...parts })

/**
 * Starts certificates, shows their warnings in `/ready`, and reads them again on SIGHUP, without waiting for the next
 * comparison of the files.
 *
 * @param {(Certificate | undefined)[]} certificates
 * @param {object} context of the role
 * @param {ReturnType<typeof import('../../base/process/lifecycle.js').createLifecycle>} context.lifecycle
 * @param {{ addWarnings: (warn: () => string[]) => void }} context.status
 */
export async function startCertificates (certificates, { lifecycle, status }) {
  const present = certificates.filter((one) => one !== undefined)
  for (const certificate of present) {
    await lifecycle.start('certificate', certificate)
    status.addWarnings(() => certificate.warnings())
  }
  if (present.length === 0) return
  const reload = () => { for (const certificate of present) certificate.reload() }
  process.on('SIGHUP', reload)
  lifecycle.onStop('certificates: SIGHUP', () => { process.off('SIGHUP', reload) })
}
