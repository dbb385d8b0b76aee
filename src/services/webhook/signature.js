import { createHmac } from 'node:crypto'

/**
 * Signatures as Standard Webhooks has them (https://github.com/standard-webhooks/standard-webhooks): services check
 * them with a library of their language.
 *
 * @param {readonly string[]} secrets `whsec_` and base64; each of them signs, so that a service may change from one
 *   to the next at any time
 * @returns {(id: string, timestamp: number, body: Buffer) => Record<string, string>} the headers; timestamp: s since
 *   1970
 */
export function createSigner (secrets) {
  const keys = secrets.map(keyOf)
  return (id, timestamp, body) => {
    const signatures = keys.map((key) =>
      `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`)
    return {
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      ...(signatures.length > 0 && { 'webhook-signature': signatures.join(' ') })
    }
  }
}

/** @param {string} secret @returns {Buffer} */
const keyOf = (secret) => Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
