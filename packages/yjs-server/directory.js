import { randomBytes, randomUUID } from 'node:crypto'
import { readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Time between two signs of life of a lock, ms. */
const REFRESH = 5000
/** Without one for this time, the lock of another machine or container is free, ms. */
const STALE = 30_000
/** In which other starts that have seen the lock before put back what is not theirs, ms. */
const SETTLE = 100

/**
 * Two processes on one directory would overwrite each other's documents.
 * @param {string} directory may be shared by machines and containers
 * @param {object} [own]
 * @param {string} [own.host]
 * @param {number} [own.pid]
 * @param {number} [own.refresh] ms
 * @param {() => void} [own.onLost] called when another process has it: this one gave no sign of life for too long
 * @returns {Promise<() => Promise<void>>} gives it back; rejects if another process has it
 */
export async function lock (directory, { host = hostname(), pid = process.pid, refresh = REFRESH, onLost } = {}) {
  const path = join(directory, 'lock')
  const own = `${host} ${pid} ${randomUUID()}`
  for (;;) {
    try {
      await writeFile(path, own, { flag: 'wx' })
      break
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error
    }
    const held = await readFile(path, 'utf8').catch(() => '')
    if (held !== '' && await isHeld(path, held, { host, pid }))
      throw new Error(`${held} stores documents in ${directory} already (if it is another program, remove ${path})`)
    await remove(path, held)
  }
  await sleep(SETTLE)
  if (await readFile(path, 'utf8').catch(() => '') !== own)
    throw new Error(`another process that starts stores documents in ${directory}`)
  let isGivenBack = false
  const timer = setInterval(async () => {
    try {
      // a start that looks at it moves it away for a moment
      if (await readFile(path, 'utf8') === own) return await utimes(path, new Date(), new Date())
    } catch {
      return
    }
    clearInterval(timer)
    // a look in progress may find the next owner
    if (!isGivenBack) onLost?.()
  }, refresh).unref()
  return () => {
    isGivenBack = true
    clearInterval(timer)
    return remove(path, own)
  }
}

/**
 * @param {string} path
 * @param {string} held
 * @param {{ host: string, pid: number }} own
 * @returns {Promise<boolean>} its process may live
 */
async function isHeld (path, held, own) {
  const [, host, pid] = /^(?:(.+) )?(\d+)(?: \S+)?$/.exec(held) ?? []
  // in a container, the process before had this id as well
  if (host === own.host || host === undefined) return Number(pid) !== own.pid && isAlive(Number(pid))
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: 0 }))
  return Date.now() - mtimeMs < STALE
}

/**
 * Removes a lock, but not one that another process has made meanwhile.
 * @param {string} path
 * @param {string} held
 */
async function remove (path, held) {
  const taken = `${path}.${randomUUID()}`
  try {
    await rename(path, taken)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return
    throw error
  }
  if (await readFile(taken, 'utf8') === held) await rm(taken)
  else await rename(taken, path)
}

/** @param {number} pid */
function isAlive (pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM'
  }
}

/** @param {string} directory @returns {Promise<string>} the secret that is kept there; a new one, if there is none */
export async function keptSecret (directory) {
  const path = join(directory, 'secret')
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error
    const secret = `whsec_${randomBytes(32).toString('base64')}`
    await writeFile(path, `${secret}\n`, { mode: 0o600, flush: true })
    return secret
  }
}
