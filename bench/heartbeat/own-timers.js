/**
 * For `node --import`: inkcast without its heartbeat, so that Engine.IO's own timers run.
 */
import { register } from 'node:module'

const STUB =
  'export class Heartbeat { start () {} stop () {} watch () {} replan () {} heard () {} forget () {} silence () { return 0 } }'
const LOADER = `
export const load = (url, context, next) => url.endsWith('/src/transport/heartbeat/heartbeat.js')
  ? { format: 'module', shortCircuit: true, source: ${JSON.stringify(STUB)} }
  : next(url, context)`

register(`data:text/javascript,${encodeURIComponent(LOADER)}`)
