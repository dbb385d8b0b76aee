import v8 from 'node:v8'
import vm from 'node:vm'

/**
 * While modules are loaded and the warm-up runs, V8 would let the young generation grow to its maximum, and does not
 * shrink it again: 15 MB in each gateway worker, 30 in the api. So processes start with START_SMALL, and it grows only
 * from their readiness on, if their work needs it.
 *
 * Why and figures: docs/decisions/0134-rest.md
 */

/** Node's flags for a process that starts small. */
export const START_SMALL = Object.freeze(['--import', new URL('start-small.js', import.meta.url).href])
/** V8's own factor. */
const USUAL = 2

/** Lets the young generation grow, when the start is over. */
export function letGrow () { v8.setFlagsFromString(`--semi-space-growth-factor=${USUAL}`) }

/** Gives back what the start has left, in some 30 ms: call it before anybody is served. */
export function collectGarbage () {
  v8.setFlagsFromString('--expose-gc')
  vm.runInNewContext('gc')()
  v8.setFlagsFromString('--no-expose-gc')
}
