import { startEmbedded } from '../helpers/embedded.js'
import { roomsContract } from './rooms.js'

roomsContract('embedded', {
  workers: 1,
  start: async (scope, env) => [(await startEmbedded(scope, env)).url]
})
