import { createCertificate } from './certificate.js'
import { createTicketKeys } from './ticket-keys.js'

/**
 * The certificates of the listeners, by their settings.
 *
 * @typedef {object} Parts
 * @property {import('../config/load.js').Config} config
 * @property {import('../common/log.js').Log} log
 * @property {import('../metrics/metrics.js').Metrics} metrics
 * @property {import('../common/clock.js').Clock} clock
 */

/** @typedef {import('./certificate.js').Certificate} Certificate */

/**
 * @param {Parts & { directory?: string }} parts `directory` that the workers of this machine share
 * @returns {Certificate | undefined} undefined: the gateway does not terminate TLS
 */
export function gatewayCertificate ({ config, directory, ...parts }) {
  const { tlsCertFile: cert, tlsKeyFile: key, tlsMinVersion, tlsGroups, tlsTicketSecret } = config.gateway
  if (cert === undefined || key === undefined) return undefined
  return createCertificate({
    settings: { cert: 'TLS_CERT_FILE', key: 'TLS_KEY_FILE' },
    files: { cert, key },
    minVersion: tlsMinVersion,
    groups: tlsGroups,
    tickets: createTicketKeys({ secret: tlsTicketSecret, directory, clock: parts.clock }),
    ...parts
  })
}

/**
 * The api asks for client certificates if `API_TLS_CLIENT_CA_FILE` is set, and takes tokens as well.
 * @param {Parts} parts
 * @returns {Certificate | undefined}
 */
export const apiCertificate = ({ config: { api, gateway }, ...parts }) => ofListener('API_', api, gateway, parts)

/**
 * `ADMIN_PORT` requires a client certificate if `ADMIN_TLS_CLIENT_CA_FILE` is set.
 * @param {Parts} parts
 * @returns {Certificate | undefined}
 */
export const adminCertificate = ({ config: { admin, gateway }, ...parts }) => ofListener('ADMIN_', admin, gateway, parts)

/**
 * @param {string} prefix of the settings
 * @param {Readonly<{ tlsCertFile?: string, tlsKeyFile?: string, tlsClientCaFile?: string }>} paths
 * @param {{ tlsMinVersion: 'TLSv1.2' | 'TLSv1.3' }} gateway
 * @param {Omit<Parts, 'config'>} parts
 */
function ofListener (prefix, { tlsCertFile: cert, tlsKeyFile: key, tlsClientCaFile: ca }, { tlsMinVersion }, parts) {
  if (cert === undefined || key === undefined) return undefined
  return createCertificate({
    settings: {
      cert: `${prefix}TLS_CERT_FILE`, key: `${prefix}TLS_KEY_FILE`, ca: `${prefix}TLS_CLIENT_CA_FILE`
    },
    files: { cert, key, ca },
    minVersion: tlsMinVersion,
    ...parts
  })
}

/**
 * Workers of other machines authenticate each other: the certificate is shown by the listener and by the client.
 * @param {Parts} parts
 * @returns {Certificate | undefined}
 */
export function peerCertificate ({ config: { gateway }, ...parts }) {
  const { peerTlsCertFile: cert, peerTlsKeyFile: key, peerTlsCaFile: ca } = gateway
  if (cert === undefined || key === undefined || ca === undefined) return undefined
  return createCertificate({
    settings: { cert: 'PEER_TLS_CERT_FILE', key: 'PEER_TLS_KEY_FILE', ca: 'PEER_TLS_CA_FILE' },
    files: { cert, key, ca },
    minVersion: 'TLSv1.3',
    ...parts
  })
}

/**
 * Starts certificates, shows their warnings in `/ready`, and reads them again on SIGHUP, without waiting for the next
 * comparison of the files.
 *
 * @param {(Certificate | undefined)[]} certificates
 * @param {object} context of the role
 * @param {ReturnType<typeof import('../process/lifecycle.js').createLifecycle>} context.lifecycle
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
