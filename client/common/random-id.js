import { random } from './random.js'

/** @returns {string} 24 characters; not crypto.randomUUID, which is missing on pages without TLS */
export function randomId () {
  const bytes = new Uint8Array(12)
  // React Native has no crypto; ids have to differ, and are no secret
  const { crypto } = /** @type {{ crypto?: Partial<Crypto> }} */ (globalThis)
  crypto?.getRandomValues?.(bytes) ?? bytes.forEach((_, i) => { bytes[i] = random.number() * 256 })
  return Array.from(bytes, (byte) => byte.toString(36).padStart(2, '0')).join('')
}
