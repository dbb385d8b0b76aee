import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** Time in which a seed must end, ms: it takes about one second. */
const PATIENCE = 60_000
/** Seeds after which a process is replaced, so that what they leave in memory has a bound. */
const SEEDS_PER_PROCESS = 200
/** Characters of a process' error output that are kept. */
const KEPT_OUTPUT = 2000

const PROGRAM = fileURLToPath(new URL('seed-process.js', import.meta.url))

/**
 * @typedef {import('./seed-process.js').Job} Job
 * @typedef {import('./seed-process.js').SeedResult} SeedResult
 */

/** Runs one seed after the other in a process of its own. A seed that hangs or ends the process has failed. */
export class SeedRunner {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child
  #seeds = 0
  #output = ''
  #patience
  #module
  #program

  /**
   * @param {object} [options]
   * @param {number} [options.patience]
   * @param {string} [options.module] replaces the scenarios, for tests
   * @param {string} [options.program] of another copy of the project
   */
  constructor ({ patience = PATIENCE, module, program = PROGRAM } = {}) {
    this.#program = program
    this.#patience = patience
    this.#module = module
  }

  /** @param {Job} job @returns {Promise<SeedResult>} */
  async run (job) {
    if (this.#seeds >= SEEDS_PER_PROCESS) await this.stop()
    const child = this.#child = this.#child !== undefined && isAlive(this.#child) ? this.#child : this.#start()
    this.#seeds++
    const begin = performance.now()
    const failed = (/** @type {string} */ violation) => ({
      seed: job.seed, hash: '', violations: [violation], counts: {}, seconds: 0, turns: 0,
      wallMs: performance.now() - begin, plan: []
    })
    const over = new AbortController()
    const { signal } = over
    const late = setTimeout(() => child.kill('SIGKILL'), this.#patience)
    try {
      const answer = Promise.race([once(child, 'message', { signal }), once(child, 'close', { signal })])
      child.send(job)
      const [message, endedBy] = await answer
      if (message?.result !== undefined) return message.result
      if (message?.error !== undefined) return failed(`the scenario throws ${message.error}`)
      this.#child = undefined
      if (endedBy === 'SIGKILL' && performance.now() - begin >= this.#patience)
        return failed(`the seed did not end within ${this.#patience / 1000} s`)
      return failed(`the process of the seed ended: ${endedBy ?? `exit code ${message}`}${this.#output && `\n${this.#output}`}`)
    } finally {
      clearTimeout(late)
      over.abort()
    }
  }

  #start () {
    this.#seeds = 0
    this.#output = ''
    const child = fork(this.#program, this.#module === undefined ? [] : [this.#module], {
      execArgv: [], stdio: ['ignore', 'inherit', 'pipe', 'ipc']
    })
    child.stderr?.setEncoding('utf8').on('data', (text) => { this.#output = `${this.#output}${text}`.slice(-KEPT_OUTPUT) })
    child.on('error', () => {}) // 'close' follows
    return child
  }

  /** Also during a seed, which then has failed. */
  async stop () {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || !isAlive(child)) return
    const closed = once(child, 'close')
    child.kill('SIGKILL')
    await closed
  }
}

/** @param {import('node:child_process').ChildProcess} child */
const isAlive = ({ exitCode, signalCode }) => exitCode === null && signalCode === null
