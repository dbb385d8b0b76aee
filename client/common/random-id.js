import { random } from './random.js'

/** @returns {string} 24 characters; not crypto.randomUUID, which is missing on pages without TLS */
export function randomId () {
  // React Native has no crypto; ids have to differ, and are no secret
  const { crypto } = /** @type {{ crypto?: Partial<Crypto> }} */ (globalThis)
  /** @type {ArrayLike<any>} */
  const bytes = crypto?.getRandomValues?.(new Uint8Array(12)) ?? { length: 12 }
  return Array.from(bytes, (byte = Math.floor(random.number() * 256)) => byte.toString(36).padStart(2, '0')).join('')
}
