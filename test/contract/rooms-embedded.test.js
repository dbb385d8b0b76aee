import { startEmbedded } from '../helpers/embedded.js'
import { roomsContract } from './rooms.js'

roomsContract('embedded', {
  start: async (scope, env) => [(await startEmbedded(scope, env)).url]
})
