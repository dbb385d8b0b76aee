/**
 * The client processes, seen as one.
 */
import { startChild } from './child.js'

/** @typedef {import('./process.js').Commands} Commands */

const FILE = new URL('process.js', import.meta.url)

/** @param {number} size processes */
export function startClients (size) {
  const processes = Array.from({ length: size }, () =>
    /** @type {import('./child.js').Child<Commands>} */ (startChild(FILE)))

  return {
    size,

    /**
     * @template {keyof Commands} C
     * @param {C} command
     * @param {(process: number) => Parameters<Commands[C]>[0]} optionsOf
     * @returns {Promise<Awaited<ReturnType<Commands[C]>>[]>} one for each process
     */
    call: (command, optionsOf) => Promise.all(processes.map((one, i) => one.call(command, optionsOf(i)))),

    /** @returns {Promise<void>} */
    async stop () {
      await Promise.all(processes.map(({ stop }) => stop()))
    }
  }
}
