import { execFileSync } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { ensureInstalled, pathOf } from '../services/install.js'

const SOURCE = new URL('clock.c', import.meta.url).pathname
/** Number of the system call clock_gettime. @type {Partial<Record<string, number>>} */
const CLOCK_GETTIME = { x64: 228, arm64: 113 }

/** Why no clock can be set here, for `skip`; false if one can. */
export const noClock = process.platform === 'linux' && CLOCK_GETTIME[process.arch] !== undefined
  ? false
  : 'the clock of a process can be set on Linux only'

/**
 * A clock for a process of its own (`env`), which stands still until it is set.
 * @param {string} directory for its files
 * @returns {Promise<{ env: NodeJS.ProcessEnv, set: (us: number) => void, close: () => void }>}
 */
export async function settableClock (directory) {
  if (pathOf('gcc') === undefined) await ensureInstalled(['tcc'])
  const [library, file] = [join(directory, 'clock.so'), join(directory, 'clock')]
  execFileSync(pathOf('gcc') ?? 'tcc', ['-nostdlib', '-shared', '-fPIC', '-w', `-DCLOCK_GETTIME=${CLOCK_GETTIME[process.arch]}`,
    '-o', library, SOURCE])
  const descriptor = openSync(file, 'w+')
  const time = Buffer.alloc(8)
  const set = (/** @type {number} */ us) => {
    time.writeBigInt64LE(BigInt(us))
    writeSync(descriptor, time, 0, 8, 0)
  }
  set(Date.now() * 1000)
  return {
    env: { ...process.env, LD_PRELOAD: library, CLOCK_FILE: file },
    set,
    close: () => closeSync(descriptor)
  }
}
