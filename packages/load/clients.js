/**
 * The client processes, seen as one.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/**
 * @typedef {import('./process.js').Commands} Commands
 * @typedef {ReturnType<typeof startClients>} Clients
 */

const FILE = fileURLToPath(new URL('process.js', import.meta.url))

/** @param {number} size processes */
export function startClients (size) {
  const processes = Array.from({ length: size }, startProcess)

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

function startProcess () {
  const child = fork(FILE, { serialization: 'advanced' })
  let ids = 0
  /** @type {Map<number, { resolve: (result: any) => void, reject: (error: Error) => void }>} */
  const pending = new Map()
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.on('message', (/** @type {{ id: number, result?: any, error?: string }} */ { id, result, error }) => {
    const call = pending.get(id)
    pending.delete(id)
    if (error === undefined) call?.resolve(result)
    else call?.reject(new Error(error))
  })
  child.once('exit', (code, signal) => {
    for (const { reject } of pending.values()) reject(new Error(`a client process ended: ${code ?? signal}`))
    pending.clear()
  })
  return {
    /** @param {keyof Commands} command @param {unknown} options @returns {Promise<any>} */
    call: (command, options) => new Promise((resolve, reject) => {
      if (!child.connected) return reject(new Error('a client process has ended'))
      const id = ids++
      pending.set(id, { resolve, reject })
      child.send({ id, command, options })
    }),
    async stop () {
      if (child.connected) child.disconnect()
      await ended
    }
  }
}
