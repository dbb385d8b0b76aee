import { createMemorySessions } from '../../src/sessions/memory-sessions.js'
import { sessionsContract } from './sessions.js'

sessionsContract('memory', async (options) => {
  const store = createMemorySessions(options)
  return { one: store, two: store, first: '3.1000', second: '4.1000' }
})
