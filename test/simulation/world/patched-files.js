import fs from 'node:fs'
import fsPromises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { fileURLToPath } from 'node:url'
import { currentWorld } from './now.js'

/**
 * A world has no files: what they hold, and how long they take, no seed decides. What uses one while a world runs is a
 * violation, except what reads the program itself at once: libraries load some of their modules when they need them.
 * Unix sockets have no files in a world, so nothing is to be removed; a directory shows those that listen in it.
 */
const PROGRAM = fileURLToPath(new URL('../../../', import.meta.url))

/** Of these functions, the ones that touch no file. */
const HARMLESS = new Set(['_toUnixTimestamp'])

/** @param {string} name of a function @param {unknown} file */
const isHarmless = (name, file) => {
  // standard output and error; and what reads, by the number of a file that was opened at once
  if (file === 1 || file === 2 || (typeof file === 'number' && /^(read|fstat|close)Sync$/.test(name))) return true
  const path = file instanceof URL ? fileURLToPath(file) : file
  return typeof path === 'string' && name.endsWith('Sync') && !/^(write|append|rm|unlink|mk)/.test(name) && path.startsWith(PROGRAM)
}

/** @param {any} functions @param {string} prefix */
function watch (functions, prefix) {
  for (const [name, own] of Object.entries(functions)) {
    if (typeof own !== 'function' || !/^[a-z]/.test(name) || HARMLESS.has(name)) continue
    const watched = (/** @type {any[]} */ ...args) => {
      const world = currentWorld()
      if (world !== undefined && !isHarmless(name, args[0]))
        world.violation(`${world.current?.name ?? 'the world'} uses a file: ` +
          `${prefix}${name}(${args[0]})${String(new Error().stack).slice(5)}`)
      return own.apply(functions, args)
    }
    functions[name] = Object.assign(watched, own)
  }
}

watch(fs, 'fs.')
watch(fsPromises, 'fs.promises.')
const { readdir, rm } = fsPromises
fsPromises.readdir = /** @type {any} */ (async (/** @type {string} */ path, /** @type {any} */ options) => {
  const world = currentWorld()
  if (world === undefined || world.current === null) return readdir(path, options)
  return world.network.socketsIn(world.current.machine, path)
})
fsPromises.rm = async (path, options) => { if (currentWorld() === undefined) return rm(path, options) }
syncBuiltinESMExports()
