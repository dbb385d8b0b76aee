import { randomBytes } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Two processes on one directory would overwrite each other's documents.
 * @param {string} directory
 * @returns {Promise<() => Promise<void>>} gives it back; rejects if another process has it
 */
export async function lock (directory) {
  const path = join(directory, 'lock')
  for (;;) {
    try {
      await writeFile(path, String(process.pid), { flag: 'wx' })
      return () => rm(path, { force: true })
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error
    }
    const pid = Number(await readFile(path, 'utf8').catch(() => ''))
    // in a container, the process before had this id as well
    if (pid > 0 && pid !== process.pid && isAlive(pid))
      throw new Error(`process ${pid} stores documents in ${directory} already (if it is another program, remove ${path})`)
    await rm(path, { force: true })
  }
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
