import { systemClock } from '../../src/common/clock.js'
import { createMemoryPresence, createMemoryPresenceHub } from '../../src/presence/memory-presence.js'
import { presenceContract } from './presence.js'

presenceContract('memory', async () => {
  const hub = createMemoryPresenceHub({ maxMembers: 6, clock: systemClock })
  return { create: async (options) => createMemoryPresence({ hub, ...options }), stop: async () => {} }
})
