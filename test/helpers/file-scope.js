import { after } from 'node:test'

/**
 * A cleanup scope that lives as long as the test file: node:test runs `after` hooks that are registered inside a
 * `before` hook when that hook ends. Call it at the top level.
 *
 * @returns {{ after: (stop: () => unknown) => void }} runs cleanups in reverse order of registration
 */
export function fileScope () {
  /** @type {(() => unknown)[]} */
  const stops = []
  after(async () => {
    for (const stop of stops.splice(0).reverse()) await stop()
  })
  return { after: (stop) => { stops.push(stop) } }
}
