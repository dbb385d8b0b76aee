/** @returns {string} 24 characters; not crypto.randomUUID, which is missing on pages without TLS */
export function randomId () {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(36).padStart(2, '0')).join('')
}
