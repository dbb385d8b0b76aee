import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { readUsage } from '../../../src/base/process/usage.js'

/** Time without progress after which a seed has failed, ms, without that in which other programs had the cores. */
const PATIENCE = 60_000
/** Seeds after which a process is replaced, so that what they leave in memory has a bound. */
const SEEDS_PER_PROCESS = 200
/** Characters of a process' error output that are kept. */
const KEPT_OUTPUT = 2000

const PROGRAM = fileURLToPath(new URL('seed-process.js', import.meta.url))

/**
 * @typedef {import('./seed-process.js').Job} Job
 * @typedef {import('./seed-process.js').SeedResult} SeedResult
 * @typedef {{ result: SeedResult } | { error: string } | { code: number | null, signal: string | null }} Answer
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
      wallMs: performance.now() - begin, cpuMs: 0, plan: []
    })
    let isLate = false
    const queued = () => readUsage(child.pid ?? 0).queuedMs
    const mark = () => ({ at: performance.now(), queued: queued() })
    let last = mark()
    const look = () => {
      const stood = performance.now() - last.at - (queued() - last.queued)
      if (stood >= this.#patience) isLate = child.kill('SIGKILL')
      else late = setTimeout(look, this.#patience - stood)
    }
    let late = setTimeout(look, this.#patience)
    /** @type {(answer: Answer) => void} */
    let ended = () => {}
    const answered = new Promise((/** @type {(answer: Answer) => void} */ resolve) => { ended = resolve })
    const onMessage = (/** @type {any} */ message) => { if ('turns' in message) last = mark(); else ended(message) }
    const onClose = (/** @type {number | null} */ code, /** @type {string | null} */ signal) => ended({ code, signal })
    child.on('message', onMessage).on('close', onClose)
    try {
      child.send(job)
      const answer = await answered
      if ('result' in answer) return answer.result
      if ('error' in answer) return failed(`the scenario throws ${answer.error}`)
      const { code, signal } = answer
      const stopped = signal === 'SIGTERM' || signal === 'SIGINT'
      if (isLate) return failed(`the seed made no progress for ${this.#patience / 1000} s`)
      const reason = `the process of the seed ended: ${signal ?? `exit code ${code}`}${this.#output && `\n${this.#output}`}`
      return { ...failed(reason), ...(stopped && { stopped }) }
    } finally {
      clearTimeout(late)
      child.off('message', onMessage).off('close', onClose)
    }
  }

  #start () {
    this.#seeds = 0
    this.#output = ''
    const child = fork(this.#program, this.#module === undefined ? [] : [this.#module], {
      execArgv: ['--max-semi-space-size=32'], stdio: ['ignore', 'inherit', 'pipe', 'ipc']
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
