import { dirname, resolve } from 'node:path'
import { keyFromPem, keyFromSecret } from '../../../people/auth/keys.js'
import { parseCallers } from './callers-schema.js'
import { digestOf } from './credentials.js'
import { rightsOf } from './rights.js'

/**
 * API_CALLERS_FILE: who may call the api, and for what, with the files that it names.
 *
 * @typedef {import('../../../config/reloaded-files.js').ReadText} ReadText
 * @typedef {import('./book.js').Entry} Entry
 * @typedef {import('./issuers.js').Issuer} Issuer
 * @typedef {{ digest: Buffer, entry: Pick<Entry, 'name'> }} OwnToken
 */

/** Every request compares its token with all of them. */
const MAX_TOKENS = 1000
/** All are read every second. */
const MAX_FILES = 100
const MIN_TOKEN = 16
const MIN_SECRET = 32 // RFC 7518, 3.2

/**
 * Reads API_CALLERS_FILE, and fetches keys of issuers that are new.
 *
 * @param {object} options
 * @param {string} options.path
 * @param {ReadText} options.readText
 * @param {readonly OwnToken[]} options.own of API_TOKENS
 * @param {Pick<import('../../../people/tenants/names.js').TenantNames, 'has'>} [options.tenants]
 * @param {ReadonlyMap<string, import('./issuers.js').KeySet>} options.keySets those that are there, by URL
 * @param {(url: string) => import('./issuers.js').KeySet} options.newKeySet
 */
export async function loadCallers ({ path, readText, own, tenants, keySets, newKeySet }) {
  /** @type {Map<string, import('./issuers.js').KeySet>} */
  const used = new Map()
  const contents = await readCallers({
    text: await readText(path),
    folder: dirname(path),
    readText,
    own,
    tenants,
    keySetAt (url) {
      const keySet = used.get(url) ?? keySets.get(url) ?? newKeySet(url)
      used.set(url, keySet)
      return keySet
    }
  })
  // a set that cannot be fetched fails nothing: its callers are `unavailable` until it can
  await Promise.all([...used].map(([url, keySet]) => keySets.has(url) ? undefined : keySet.start()))
  return { contents, used }
}

/**
 * Exported for tests: what is wrong with a file, without one.
 * @param {object} options
 * @param {string} options.text of the file
 * @param {string} options.folder of the file: paths in it are relative to it
 * @param {ReadText} options.readText
 * @param {readonly OwnToken[]} options.own of API_TOKENS
 * @param {Pick<import('../../../people/tenants/names.js').TenantNames, 'has'>} [options.tenants]
 * @param {(url: string) => import('./issuers.js').KeySet} options.keySetAt
 * @returns {Promise<import('./book.js').Contents & { entries: Entry[] }>}
 * @throws {Error} (rejects) that names what is wrong; never with a credential
 */
export async function readCallers ({ text, folder, readText, own, tenants, keySetAt }) {
  const { callers, issuers: issuerSettings } = parseCallers(text)
  let files = 0
  const read = (/** @type {string} */ path) => {
    if (++files > MAX_FILES) throw new Error(`it names more than ${MAX_FILES} files`)
    return readText(resolve(folder, path))
  }

  /** @type {Map<string, Issuer>} */
  const issuers = new Map()
  for (const settings of issuerSettings) {
    const at = `issuer "${settings.issuer}"`
    if (issuers.has(settings.issuer)) throw new Error(`${at}: it is there twice`)
    issuers.set(settings.issuer, await readIssuer(at, settings, read, keySetAt))
  }

  /** @type {Entry[]} */
  const entries = []
  /** @type {{ digest: Buffer, entry: Entry }[]} */
  const tokens = []
  /** @type {import('./book.js').Contents['certificates'][number][]} */
  const certificates = []
  /** @type {import('./book.js').Contents['subjects'][number][]} */
  const subjects = []
  const taken = new Set(own.map(({ entry }) => entry.name))
  /** Owner of each credential. @type {Map<string, string>} */
  const owners = new Map(own.map(({ digest, entry }) => [digest.toString('hex'), entry.name]))
  /** @param {string} key @param {string} kind @param {string} name */
  const take = (key, kind, name) => {
    const owner = owners.get(key)
    if (owner !== undefined && taken.has(owner))
      throw new Error(`caller "${name}": API_TOKENS has its token too, as "${owner}" with all rights; give each its own`)
    if (owner !== undefined && owner !== name) throw new Error(`callers "${owner}" and "${name}" have the same ${kind}`)
    owners.set(key, name)
  }

  for (const given of callers) {
    const { name, rate, rates = {}, tokens: ownTokens = [], certificates: shown = [], jwt = [], ...rights } = given
    const at = `caller "${name}"`
    if (taken.has(name)) throw new Error(`${at}: API_TOKENS has this name too, with all rights; take it out there`)
    if (entries.some((entry) => entry.name === name)) throw new Error(`${at}: it is there twice`)
    if (rights.tenant !== undefined && !tenants?.has(rights.tenant))
      throw new Error(`${at}: tenant: TENANTS has no ${JSON.stringify(rights.tenant.slice(0, 64))}`)
    const entry = {
      name,
      tenant: rights.tenant,
      rights: rightsOf(rights),
      rate: rate && withBurst(rate),
      rates: new Map(Object.entries(rates).map(([what, one]) => [what, withBurst(one)]))
    }
    entries.push(entry)
    for (const token of ownTokens) {
      const digest = await readToken(at, token, read)
      take(digest.toString('hex'), 'token', name)
      tokens.push({ digest, entry })
    }
    for (const certificate of shown) {
      take(JSON.stringify(certificate.san ?? Object.entries(certificate.subject ?? {}).sort()), 'certificate', name)
      certificates.push({ certificate, entry })
    }
    for (const { subject, issuer = onlyIssuer(at, issuers) } of jwt) {
      if (!issuers.has(issuer)) throw new Error(`${at}: jwt: "${issuer}" is not in issuers`)
      take(JSON.stringify([issuer, subject]), 'subject', name)
      subjects.push({ issuer, subject, entry })
    }
  }
  if (tokens.length > MAX_TOKENS) throw new Error(`it has more than ${MAX_TOKENS} tokens`)
  return { entries, tokens, certificates, issuers, subjects }
}

/**
 * @param {string} at for messages
 * @param {{ text?: string, sha256?: string, file?: string }} token one of them
 * @param {ReadText} read
 * @returns {Promise<Buffer>} its hash
 */
async function readToken (at, { text, sha256, file }, read) {
  if (sha256 !== undefined) return Buffer.from(sha256, 'hex')
  const token = text ?? (await read(/** @type {string} */ (file))).trim()
  if (token.length < MIN_TOKEN || !/^[\x21-\x7e]+$/.test(token)) {
    const from = file === undefined ? '' : ` in ${file}`
    throw new Error(`${at}: a token${from} must have at least ${MIN_TOKEN} characters, ASCII without spaces`)
  }
  return digestOf(token)
}

/**
 * @param {string} at
 * @param {import('./callers-schema.js').IssuerSettings} settings
 * @param {ReadText} read
 * @param {(url: string) => import('./issuers.js').KeySet} keySetAt
 * @returns {Promise<Issuer>}
 */
async function readIssuer (at, settings, read, keySetAt) {
  const { jwksUrl, publicKeyFile, secretFile } = settings
  const rest = { issuer: settings.issuer, audiences: settings.audience, claim: settings.claim }
  if (jwksUrl !== undefined) return { ...rest, keySet: keySetAt(jwksUrl) }
  if (secretFile !== undefined) {
    const secret = (await read(secretFile)).trim()
    if (secret.length < MIN_SECRET)
      throw new Error(`${at}: secretFile: the secret must have at least ${MIN_SECRET} characters`)
    return { ...rest, key: keyFromSecret(secret) }
  }
  const pem = await read(/** @type {string} */ (publicKeyFile))
  try {
    return { ...rest, key: keyFromPem(pem) }
  } catch (error) {
    throw new Error(`${at}: publicKeyFile: ${error instanceof Error ? error.message : error}`, { cause: error })
  }
}

/** @param {string} at @param {Map<string, Issuer>} issuers */
function onlyIssuer (at, issuers) {
  if (issuers.size !== 1) throw new Error(`${at}: jwt: name the issuer, there is not exactly one`)
  return [...issuers.keys()][0]
}

/**
 * @param {{ perSecond: number, burst?: number }} rate
 * @returns {import('../../../base/common/token-bucket.js').Rate} with a burst of one second's
 */
const withBurst = ({ perSecond, burst = Math.max(1, perSecond) }) => ({ perSecond, burst })
