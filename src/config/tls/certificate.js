import { X509Certificate } from 'node:crypto'
import tls, { createSecureContext } from 'node:tls'
import { createReloadedFiles } from '../reloaded-files.js'

/**
 * The certificate of one listener, or of this process as a client: read from files that may change while it runs. New
 * connections get the changed one; open connections keep the one they began with. Wrong files change nothing, and the
 * reason is logged.
 *
 * @typedef {import('../setting.js').PemFiles} CertificateFiles
 *
 * @typedef {object} Material
 * @property {Buffer} cert
 * @property {Buffer} key
 * @property {Buffer} [ca]
 *
 * @typedef {ReturnType<typeof createCertificate>} Certificate
 */

/**
 * Versions and ciphers of every TLS listener: Mozilla's "intermediate" without DHE, whose keys cost a server the most.
 * Clients choose among the ciphers, because only they know whether their processor has AES.
 *
 * `sessionIdContext`: a ticket is accepted by listeners with the same one; Node's default depends on the command line.
 * https://wiki.mozilla.org/Security/Server_Side_TLS
 */
const SECURE_OPTIONS = Object.freeze({
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
    'ECDHE-RSA-CHACHA20-POLY1305'
  ].join(':'),
  honorCipherOrder: false,
  sessionIdContext: 'inkcast',
  /** s; a ticket ends earlier when its key is rotated */
  sessionTimeout: 12 * 3600
})

const DAY = 24 * 3600_000
/** From here on `/ready` shows a warning, days; authorities renew a third before the end of 90 days. */
const WARN_DAYS = 14
/** TLS 1.3 with Node's option --tls-min-v1.3; its other options do not allow older versions here. */
const oldestVersion = () => tls.DEFAULT_MIN_VERSION === 'TLSv1.3' ? 'TLSv1.3' : 'TLSv1.2'
/** Certificate and key are replaced one after the other: time for the second one, ms. */
const BETWEEN_FILES = 300

/**
 * @param {object} options
 * @param {string} options.setting
 * @param {CertificateFiles} options.files
 * @param {'TLSv1.2' | 'TLSv1.3'} [options.minVersion] default: TLSv1.2, or TLSv1.3 with Node's option for it
 * @param {string} [options.groups] of the key exchange, separated by colons; default: those of Node
 * @param {import('./ticket-keys.js').TicketKeys} [options.tickets] started and stopped with it; default: sessions
 *   resume at this process only
 * @param {import('../../base/common/log.js').Log} options.log
 * @param {Pick<import('../../observe/metrics/metrics.js').Metrics, 'settings_file_wrong' | 'settings_file_loads' |
 *   'onCollect' |
 *   'tls_certificate_days_left'>} options.metrics
 * @param {Pick<import('../../base/common/clock.js').Clock, 'now' | 'sleep' | 'timer'>} options.clock
 * @param {number} [options.every] interval of the comparison of the files, ms
 */
export function createCertificate ({
  setting, files, minVersion = oldestVersion(), groups = 'auto', tickets, log, metrics, clock, every
}) {
  /** @type {Material | undefined} */
  let current
  let version = 0
  let validTo = NaN
  /** @type {Set<import('node:tls').Server>} */
  const servers = new Set()
  const daysLeft = () => (validTo - clock.now()) / DAY

  const contextOptions = () => {
    if (current === undefined) throw new Error('the certificate is not read yet')
    const { cert, key, ca } = current
    return { ...SECURE_OPTIONS, minVersion, ecdhCurve: groups, cert, key, ...ca === undefined ? {} : { ca } }
  }

  const reloaded = createReloadedFiles({
    setting,
    path: files.cert,
    async load (_readText, read) {
      const readAll = async () => checked({
        cert: await read(files.cert),
        key: await read(files.key),
        ...files.ca === undefined ? {} : { ca: await read(files.ca) }
      })
      const material = await readAll().catch(async () => {
        await clock.sleep(BETWEEN_FILES)
        return readAll()
      })
      createSecureContext({ ...SECURE_OPTIONS, minVersion, ecdhCurve: groups, cert: material.cert, key: material.key })
      return material
    },
    apply (material) {
      current = material
      version++
      validTo = Math.min(...certificatesIn(material.cert).map(({ validTo: end }) => Date.parse(end)))
      for (const server of servers) use(server)
    },
    log, metrics, clock, every
  })

  /** @param {import('node:tls').Server} server */
  function use (server) {
    server.setSecureContext({ ...contextOptions(), ...tickets === undefined ? {} : { ticketKeys: tickets.current() } })
  }

  metrics.onCollect(() => {
    if (current !== undefined) metrics.tls_certificate_days_left.set({ setting }, daysLeft())
  })
  tickets?.onRotated((keys) => { for (const server of servers) server.setTicketKeys(keys) })

  return {
    /** @throws {Error} that names setting, file and problem */
    async start () {
      await tickets?.start()
      await reloaded.start()
    },

    async stop () {
      tickets?.stop()
      await reloaded.stop()
    },

    /** Reads the files now (SIGHUP). */
    reload: () => reloaded.reload(),

    /**
     * @returns {import('node:https').ServerOptions} for a new server, which is then passed to `serve`. With a `ca` a
     *   client certificate is asked for, and the listener decides
     */
    serverOptions () {
      return {
        ...contextOptions(),
        ...tickets === undefined ? {} : { ticketKeys: tickets.current() },
        ...files.ca === undefined ? {} : { requestCert: true, rejectUnauthorized: false }
      }
    },

    /**
     * Gives the server each later certificate and each ticket key, also after it has stopped listening for a time, as
     * in a reload of other workers.
     * @param {import('node:tls').Server} server
     */
    serve (server) {
      servers.add(server)
      server.on('close', () => servers.delete(server))
      server.on('listening', () => {
        servers.add(server)
        if (current !== undefined) use(server)
        // node:cluster gives a worker that begins to listen the ticket keys of the first one, which may be old
        if (tickets !== undefined) server.setTicketKeys(tickets.current())
      })
    },

    /** For connections that this process opens. @returns {import('node:tls').SecureContextOptions} */
    clientOptions: () => contextOptions(),

    /** Grows with each certificate that is taken. @returns {number} */
    get version () { return version },

    daysLeft,

    /** @returns {string[]} */
    warnings () {
      const days = Math.floor(daysLeft())
      if (!(days < WARN_DAYS)) return []
      return [days < 0 ? `the certificate of ${setting} has expired` : `the certificate of ${setting} expires in ${days} days`]
    }
  }
}

/**
 * @param {Material} material
 * @returns {Material} the same
 * @throws {Error} with what is wrong
 */
function checked (material) {
  try {
    createSecureContext({ cert: material.cert, key: material.key })
  } catch (error) {
    throw new Error(`cert and key are no PEM certificate and its key (${causeOf(error)})`, {
      cause: error
    })
  }
  // node:tls ignores what is no certificate, and would then refuse every other side
  if (material.ca !== undefined && certificatesIn(material.ca).length === 0)
    throw new Error('ca has no PEM certificate')
  return material
}

/** @param {Buffer} pem @returns {X509Certificate[]} */
function certificatesIn (pem) {
  const blocks = pem.toString('latin1').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return blocks.map((block) => new X509Certificate(block))
}

/** @param {unknown} error */
const causeOf = (error) => error instanceof Error ? error.message : String(error)
