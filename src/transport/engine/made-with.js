/**
 * Listeners with which Engine.IO makes its transports and WebSockets: closures and bound functions, new ones for each
 * emitter. They are remembered when they are made, so that later each one is recognized by identity.
 */

/** Property of an emitter: copies of its listeners by event, as in EventEmitter's `_events`. */
const kMadeWith = Symbol('made with')

/** @param {any} emitter that has the listeners of its maker and no others */
export function rememberListeners (emitter) {
  /** @type {Record<string, Function[]>} */
  const made = {}
  for (const event of emitter.eventNames()) made[event] = emitter.rawListeners(event)
  emitter[kMadeWith] = made
}

/**
 * Compares the listeners of an emitter with the remembered ones, and forgets those.
 * @param {any} emitter
 * @returns {boolean} whether they are the same; false if none were remembered
 */
export function isAsMade (emitter) {
  /** @type {Record<string, Function[]> | undefined} */
  const made = emitter[kMadeWith]
  if (made === undefined) return false
  emitter[kMadeWith] = undefined
  const events = Object.keys(made)
  return emitter.eventNames().length === events.length && events.every((event) => {
    const known = made[event]
    const listeners = /** @type {Function[]} */ (emitter.rawListeners(event))
    return listeners.length === known.length && listeners.every((each, i) => each === known[i])
  })
}
