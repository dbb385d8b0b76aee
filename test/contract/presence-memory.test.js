import { createMemoryPresence, createMemoryPresenceHub } from '../../src/presence/memory-presence.js'
import { presenceContract } from './presence.js'

presenceContract('memory', async () => {
  const hub = createMemoryPresenceHub({ maxMembers: 6 })
  return { create: async (options) => createMemoryPresence({ hub, ...options }), stop: async () => {} }
})
