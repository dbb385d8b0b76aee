import { createMemorySessions } from '../../src/sessions/memory-sessions.js'
import { sessionsContract } from './sessions.js'

sessionsContract('memory', async () => {
  const store = createMemorySessions()
  return { one: store, two: store, first: '3.1000', second: '4.1000' }
})
