/**
 * Waiting with a deadline for conditions without an event, as when a server opens its port.
 */
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Calls `probe` until it returns without throwing.
 *
 * @template T
 * @param {string} what for the error, as in "Redis on port 1234"
 * @param {() => Promise<T> | T} probe throws while the condition does not hold; a timeout shows the last error
 * @param {object} [options]
 * @param {number} [options.timeoutMs] default 30,000
 * @param {number} [options.everyMs] pause between two attempts, default 50
 * @param {import('./guard.js').GuardedProcess[]} [options.processes] rejects at once when one of these has ended
 * @returns {Promise<T>} the result of the probe
 * @throws {Error} with the last error, and the last log lines of an ended process
 */
export async function waitUntil (what, probe, { timeoutMs = 30_000, everyMs = 50, processes = [] } = {}) {
  const deadline = performance.now() + timeoutMs
  // a probe may hang, for instance when another program holds the port; the end of the process must still be detected
  for (;;) {
    const dead = processes.find((candidate) => !candidate.running())
    if (dead !== undefined) {
      const { code, signal } = await dead.exited
      throw new Error(`${what}: the process ended (${signal ?? `exit code ${code}`})\n${dead.lastOutput()}`)
    }
    try {
      return await Promise.race([
        probe(),
        ...processes.map(({ exited }) =>
          exited.then(() => {
            throw new Error('the process ended')
          })
        )
      ])
    } catch (error) {
      if (performance.now() > deadline) {
        const output = processes.map((candidate) => candidate.lastOutput()).join('\n')
        throw new Error(
          `${what}: not ready after ${timeoutMs} ms: ${error instanceof Error ? error.message : error}\n${output}`,
          { cause: error }
        )
      }
    }
    await delay(everyMs)
  }
}
