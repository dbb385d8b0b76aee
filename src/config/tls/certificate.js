import { X509Certificate } from 'node:crypto'
import tls, { createSecureContext } from 'node:tls'
import { createReloadedFiles } from '../reloaded-files.js'

/**
 * @typedef {import('../setting.js').PemFiles} CertificateFiles
 *
 * @typedef {object} Material
 * @property {Buffer} cert
 * @property {Buffer} key
 * @property {Buffer} [ca]
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
 * The certificate of one listener, or of this process as a client: read from files that may change while it runs. New
 * connections get the changed one; open connections keep the one they began with. Wrong files change nothing, and the
 * reason is logged.
 */
export class Certificate {
  /** @type {Material | undefined} */
  #current
  /** Grows with each certificate that is taken. */
  version = 0
  #validTo = NaN
  /** @type {Set<import('node:tls').Server>} */
  #servers = new Set()
  #reloaded
  /** Of each TLS context. @type {tls.SecureContextOptions} */
  #secure

  /**
   * @param {object} options
   * @param {string} options.setting
   * @param {CertificateFiles} options.files
   * @param {Pick<tls.SecureContextOptions, 'minVersion' | 'ecdhCurve'>} [options.secure] default: TLSv1.2, or TLSv1.3
   *   with Node's option for it; Node's groups of the key exchange
   * @param {import('./ticket-keys.js').TicketKeys} [options.tickets] started and stopped with it; default: sessions
   *   resume at this process only
   * @param {import('../../base/common/log.js').Log} options.log
   * @param {Pick<import('../../observe/metrics/metrics.js').Metrics, 'settings_file_wrong' | 'settings_file_loads' |
   *   'onCollect' | 'tls_certificate_days_left'>} options.metrics
   * @param {Pick<import('../../base/common/clock.js').Clock, 'now' | 'sleep' | 'timer'>} options.clock
   * @param {number} [options.every] interval of the comparison of the files, ms
   */
  constructor ({ setting, files, secure, tickets, log, metrics, clock, every }) {
    this.setting = setting
    this.files = files
    this.tickets = tickets
    this.clock = clock
    this.#secure = { ...SECURE_OPTIONS, minVersion: oldestVersion(), ecdhCurve: 'auto', ...secure }
    this.#reloaded = createReloadedFiles({
      setting,
      path: files.cert,
      load: (_readText, read) => this.#load(read),
      apply: (/** @type {Material} */ material) => this.#apply(material),
      log, metrics, clock, every
    })
    metrics.onCollect(() => {
      if (this.#current !== undefined) metrics.tls_certificate_days_left.set({ setting }, this.daysLeft())
    })
    tickets?.onRotated((keys) => { for (const server of this.#servers) server.setTicketKeys(keys) })
  }

  /** @throws {Error} that names setting, file and problem */
  async start () {
    await this.tickets?.start()
    await this.#reloaded.start()
  }

  async stop () {
    this.tickets?.stop()
    await this.#reloaded.stop()
  }

  /** Reads the files now (SIGHUP). */
  reload () { return this.#reloaded.reload() }

  /**
   * @returns {import('node:https').ServerOptions} for a new server, which is then passed to `serve`. With a `ca` a
   *   client certificate is asked for, and the listener decides
   */
  serverOptions () {
    return {
      ...this.#contextOptions(),
      ...this.files.ca === undefined ? {} : { requestCert: true, rejectUnauthorized: false }
    }
  }

  /**
   * Gives the server each later certificate and each ticket key, also after it has stopped listening for a time, as
   * in a reload of other workers.
   * @param {import('node:tls').Server} server
   */
  serve (server) {
    this.#servers.add(server)
    server.on('close', () => this.#servers.delete(server))
    server.on('listening', () => {
      this.#servers.add(server)
      if (this.#current !== undefined) server.setSecureContext(this.#contextOptions())
      // node:cluster gives a worker that begins to listen the ticket keys of the first one, which may be old
      if (this.tickets !== undefined) server.setTicketKeys(this.tickets.current())
    })
  }

  /** For connections that this process opens. @returns {import('node:tls').SecureContextOptions} */
  clientOptions () {
    if (this.#current === undefined) throw new Error('the certificate is not read yet')
    const { cert, key, ca } = this.#current
    return { ...this.#secure, cert, key, ...ca === undefined ? {} : { ca } }
  }

  #contextOptions () {
    return { ...this.clientOptions(), ...this.tickets === undefined ? {} : { ticketKeys: this.tickets.current() } }
  }

  daysLeft () { return (this.#validTo - this.clock.now()) / DAY }

  /** @returns {string[]} */
  warnings () {
    const days = Math.floor(this.daysLeft())
    if (!(days < WARN_DAYS)) return []
    return [`the certificate of ${this.setting} ${days < 0 ? 'has expired' : `expires in ${days} days`}`]
  }

  /** @param {(path: string) => Promise<Buffer>} read @returns {Promise<Material>} */
  async #load (read) {
    const { files } = this
    const readAll = async () => checked({
      cert: await read(files.cert),
      key: await read(files.key),
      ...files.ca === undefined ? {} : { ca: await read(files.ca) }
    })
    const material = await readAll().catch(async () => {
      await this.clock.sleep(BETWEEN_FILES)
      return readAll()
    })
    createSecureContext({ ...this.#secure, cert: material.cert, key: material.key })
    return material
  }

  /** @param {Material} material */
  #apply (material) {
    this.#current = material
    this.version++
    this.#validTo = Math.min(...certificatesIn(material.cert).map(({ validTo }) => Date.parse(validTo)))
    for (const server of this.#servers) server.setSecureContext(this.#contextOptions())
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
