import { ConnectionLimits } from '../transport/admission/connection-limits.js'
import { HandshakeLimit } from '../transport/admission/handshake-limit.js'
import { InputLimits } from '../transport/admission/input-limits.js'
import { createOrigins } from '../transport/admission/origin.js'

/** Maximum size of a client's message besides its data, bytes: event name, guid, packet type. */
const PACKET_OVERHEAD = 16_384

/**
 * Which clients may connect to this worker, and what they may send before they are admitted.
 *
 * @param {import('../observe/services.js').Services} services
 * @param {object} parts
 * @param {import('../config/load.js').Config} parts.config
 * @param {() => boolean} parts.isOverloaded
 * @param {() => number} parts.open connections of the public port
 */
export function createAdmission (services, { config, isOverloaded, open }) {
  const { limits, gateway, production } = config
  const perSecond = limits.maxHandshakesPerSecond
  const maxBytes = limits.maxRecordBytes + PACKET_OVERHEAD
  const connectionLimits = new ConnectionLimits({
    ...services, limits, production, trustedProxies: gateway.trustedProxies, open
  })
  return {
    maxBytes,
    connectionLimits,
    handshakeLimit: new HandshakeLimit({ ...services, perSecond, isOverloaded, connections: connectionLimits }),
    origins: createOrigins({
      ...services,
      allowed: gateway.allowedOrigins,
      development: !production,
      anonymous: config.auth.allowAnonymous
    }),
    inputLimits: new InputLimits({ maxBytes, perSecond }, services.metrics, services.clock)
  }
}
