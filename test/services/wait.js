/**
 * Waiting with a deadline for what gives no event, such as a server that opens its port when it is ready.
 */
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Calls `probe` until it returns without throwing.
 *
 * @template T
 * @param {string} what for the error, as in "Redis on port 1234"
 * @param {() => Promise<T> | T} probe throws while it is not yet so; the last error is shown when the time is over
 * @param {object} [options]
 * @param {number} [options.timeoutMs] default 30,000
 * @param {number} [options.everyMs] pause between two tries, default 50
 * @param {import('./guard.js').GuardedProcess[]} [options.processes] gives up at once when one of these has ended
 * @returns {Promise<T>} what the probe returned
 * @throws {Error} with the last failure, and with the last lines of the log of a process that ended
 */
export async function waitUntil (what, probe, { timeoutMs = 30_000, everyMs = 50, processes = [] } = {}) {
  const deadline = performance.now() + timeoutMs
  // a probe may hang, for instance where another program holds the port; the end of the process is not missed for that
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
