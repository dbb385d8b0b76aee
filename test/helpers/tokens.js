import { createHmac, generateKeyPairSync } from 'node:crypto'
import { SignJWT } from 'jose'

export const SECRET = 'a secret of this test, with more than 64 characters so that it is long enough for HS512'

/**
 * Signs with a library other than the one that verifies.
 *
 * @param {Record<string, unknown>} claims
 * @param {object} [options]
 * @param {string} [options.alg]
 * @param {string | import('node:crypto').KeyObject} [options.key] a secret, or a private key
 * @param {Record<string, unknown>} [options.header]
 * @returns {Promise<string>}
 */
export function signToken (claims, { alg = 'HS256', key = SECRET, header = {} } = {}) {
  return new SignJWT(claims).setProtectedHeader({ alg, ...header })
    .sign(typeof key === 'string' ? Buffer.from(key) : key)
}

/**
 * RSA keys are slow to generate, so these are reused in turn.
 * @type {import('node:crypto').KeyPairKeyObjectResult[]}
 */
const rsaPairs = []
let dealt = 0

/**
 * @param {string} alg
 * @returns {import('node:crypto').KeyPairKeyObjectResult} differs from the last two
 */
export function keyPairFor (alg) {
  if (alg.startsWith('ES'))
    return generateKeyPairSync('ec', { namedCurve: { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }[alg] ?? '' })
  if (alg === 'EdDSA') return generateKeyPairSync('ed25519')
  return rsaPairs[dealt++ % 3] ??= generateKeyPairSync('rsa', { modulusLength: 2048 })
}

/** @param {unknown} part @returns {string} a part of an unsigned token */
export const tokenPart = (part) =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')

/**
 * Signs arbitrary content, as a forger would; a library would refuse it.
 * @param {unknown} claims
 * @param {object} [options]
 * @param {string} [options.key]
 * @param {Record<string, unknown>} [options.header]
 */
export function forgeToken (claims, { key = SECRET, header = { alg: 'HS256' } } = {}) {
  const input = `${tokenPart(header)}.${tokenPart(claims)}`
  return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`
}
