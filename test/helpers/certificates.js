import { execFileSync } from 'node:child_process'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/common/clock.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { Certificate } from '../../src/config/tls/certificate.js'
import { recordingLog } from './recording-log.js'

/** @typedef {{ cert: string, key: string }} Pair paths */
/** @typedef {ReturnType<typeof makeAuthority>} Authority */

const DATABASE = `[ca]
default_ca = d
[d]
new_certs_dir = .
database = index.txt
serial = serial
default_md = sha256
policy = p
copy_extensions = copy
unique_subject = no
[p]
commonName = supplied
[req]
distinguished_name = n
[n]
`

/**
 * A certificate authority in a folder of its own, by the command openssl.
 * @param {{ after: (end: () => void) => void }} t
 * @param {string} [name]
 */
export function makeAuthority (t, name = 'authority') {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-ca-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const openssl = (/** @type {string[]} */ ...args) =>
    execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const makeKey = (/** @type {string} */ file, bits = 0) => bits > 0
    ? openssl('genrsa', '-out', file, String(bits))
    : openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', file)
  writeFileSync(join(folder, 'ca.cnf'), DATABASE)
  writeFileSync(join(folder, 'index.txt'), '')
  writeFileSync(join(folder, 'serial'), '1000')
  makeKey('ca.key')
  openssl('req', '-x509', '-new', '-key', 'ca.key', '-subj', `/CN=${name}`, '-days', '365', '-out', 'ca.pem', '-addext',
    'basicConstraints=critical,CA:true', '-addext', 'keyUsage=critical,keyCertSign,digitalSignature')
  let made = 0

  return {
    folder,
    ca: join(folder, 'ca.pem'),

    /**
     * @param {string} subject common name
     * @param {object} [options]
     * @param {number} [options.days] default 90
     * @param {string} [options.names] alternative names, default those of the loopback interface
     * @param {number} [options.rsa] bits of an RSA key; default: P-256
     * @returns {Pair} of new files
     */
    issue (subject, { days = 90, names = 'IP:127.0.0.1,DNS:localhost', rsa = 0 } = {}) {
      const base = `${made++}-${subject}`
      makeKey(`${base}.key`, rsa)
      openssl('req', '-new', '-key', `${base}.key`, '-subj', `/CN=${subject}`, '-addext', `subjectAltName=${names}`,
        '-out', `${base}.csr`)
      openssl('ca', '-batch', '-config', 'ca.cnf', '-cert', 'ca.pem', '-keyfile', 'ca.key', '-days', String(days),
        '-notext', '-in', `${base}.csr`, '-out', `${base}.pem`)
      return { cert: join(folder, `${base}.pem`), key: join(folder, `${base}.key`) }
    }
  }
}

/** Replaces a file as a whole. @param {string} path @param {string | Buffer} content */
export function replaceFile (path, content) {
  writeFileSync(`${path}.new`, content)
  renameSync(`${path}.new`, path)
}

/**
 * A certificate that is read, and read again every 20 ms; stopped after the test.
 *
 * @param {import('node:test').TestContext} t
 * @param {import('../../src/config/tls/certificate.js').CertificateFiles} files
 * @param {Partial<ConstructorParameters<typeof Certificate>[0]>} [more]
 */
export async function startCertificate (t, files, more = {}) {
  const { log, lines } = recordingLog()
  const metrics = createMetrics({ processMetrics: false })
  const certificate = new Certificate({
    setting: 'TLS_FILES',
    files, log, metrics, clock: systemClock, every: 20, ...more
  })
  t.after(() => certificate.stop())
  await certificate.start()
  return { certificate, log, lines, metrics }
}
