import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/**
 * @typedef {import('./client-process.js').Commands} Commands
 * @typedef {import('./client-process.js').ClientReport} ClientReport
 */

const FILE = fileURLToPath(new URL('client-process.js', import.meta.url))

/**
 * The client processes, seen as one. They end with the test, or with this process.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {number} size processes
 */
export function createClientPool (t, size) {
  const processes = Array.from({ length: size }, () => startProcess(t))
  /**
   * @template {keyof Commands} C
   * @param {C} command
   * @param {Parameters<Commands[C]>[0]} [options]
   */
  const callAll = (command, options) => Promise.all(processes.map((process) => process.call(command, options)))
  let opened = 0

  return {
    /**
     * Distributes clients over the processes; resolves when all have joined.
     * @param {{ url: string, guids: string[][] }} options guids: of each client
     */
    async open ({ url, guids }) {
      const share = Math.ceil(guids.length / size)
      await Promise.all(
        processes.map((process, i) =>
          process.call('open', { url, first: opened + i * share, guids: guids.slice(i * share, (i + 1) * share) })
        )
      )
      opened += guids.length
    },

    /** Resets the measurements. */
    async measure () { await callAll('measure') },

    /** @param {Record<string, number>} published number of the last record by document */
    async progress (published) {
      const all = await callAll('progress', published)
      const sum = (/** @type {'clients' | 'connected' | 'missing' | 'behind'} */ what) =>
        all.reduce((total, each) => total + each[what], 0)
      return { clients: sum('clients'), connected: sum('connected'), missing: sum('missing'), behind: sum('behind') }
    },

    /**
     * @returns {Promise<{ clients: ClientReport[], samples: number[], refusals: Record<string, number> }>} samples:
     *   latencies, ms; refusals: of tries to connect, by reason
     */
    async report () {
      const all = await callAll('report')
      /** @type {Record<string, number>} */
      const refusals = {}
      for (const own of all)
        for (const [reason, count] of Object.entries(own.refusals)) refusals[reason] = (refusals[reason] ?? 0) + count
      return {
        clients: all.flatMap(({ clients }) => clients),
        samples: all.flatMap(({ samples }) => samples),
        refusals
      }
    },

    /** @returns {Promise<void>} */
    async close () { await callAll('close') }
  }
}

/** @typedef {ReturnType<typeof createClientPool>} ClientPool */

/** @param {{ after: (stop: () => unknown) => void }} t */
function startProcess (t) {
  const child = fork(FILE, { serialization: 'advanced' })
  t.after(() => { child.kill('SIGKILL') })
  /** @type {Map<number, { resolve: (result: any) => void, reject: (error: Error) => void }>} */
  const calls = new Map()
  let lastId = 0
  child.on('message', (/** @type {any} */ { id, error, result }) => {
    const call = calls.get(id)
    calls.delete(id)
    if (error === undefined) call?.resolve(result)
    else call?.reject(new Error(error))
  })
  child.on('exit', (code, signal) => {
    for (const { reject } of calls.values()) reject(new Error(`a process of the clients ended (${signal ?? code})`))
  })
  return {
    /**
     * @template {keyof Commands} C
     * @param {C} command
     * @param {Parameters<Commands[C]>[0]} [options]
     * @returns {Promise<Awaited<ReturnType<Commands[C]>>>}
     */
    call: (command, options) => new Promise((resolve, reject) => {
      const id = ++lastId
      calls.set(id, { resolve, reject })
      child.send({ id, command, options })
    })
  }
}
