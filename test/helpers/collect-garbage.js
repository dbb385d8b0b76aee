import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** A full garbage collection, at once. */
export function collectGarbage () {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}
