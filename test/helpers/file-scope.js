import { after } from 'node:test'

/** @typedef {{ after: (stop: () => unknown) => void }} Scope */

/**
 * A cleanup scope that lives as long as the test file: node:test runs `after` hooks that are registered inside a
 * `before` hook when that hook ends. Call it at the top level.
 *
 * @returns {Scope} runs cleanups in reverse order of registration
 */
export const fileScope = () => reversed({ after })

/**
 * A cleanup scope for parts that need the parts made before them in order to stop.
 *
 * @param {Scope} t a test's context, which runs cleanups in order of registration
 * @returns {Scope} runs cleanups in reverse order of registration
 */
export function reversed (t) {
  /** @type {(() => unknown)[]} */
  const stops = []
  t.after(async () => {
    for (const stop of stops.splice(0).reverse()) await stop()
  })
  return { after: (stop) => { stops.push(stop) } }
}
