import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'

/**
 * A setting that names a file (API_CALLERS_FILE), which may change while the process runs. A wrong file fails the
 * start; later it changes nothing, and the reason is logged once.
 *
 * Files are compared by their content: times and events of a file system miss changes (mounted secrets are replaced as
 * symbolic links, editors replace files, network file systems send no events).
 */

/** Between two comparisons, ms. */
const EVERY = 1000
const MAX_BYTES = 1_048_576

/** @typedef {(path: string) => Promise<string>} ReadText rejects if the file cannot be read or has more than 1 MB */
/** @typedef {(path: string) => Promise<Buffer>} ReadBytes as ReadText */

/**
 * @template T
 * @param {object} options
 * @param {string} options.setting the name that log and metrics show
 * @param {string} options.path
 * @param {(readText: ReadText, readBytes: ReadBytes) => Promise<T>} options.load reads the file, and others that it
 *   names, with `readText` or `readBytes`; rejects with an Error whose message says what is wrong
 * @param {(value: T) => void} options.apply puts a correct one into force
 * @param {import('../base/common/log.js').Log} options.log
 * @param {Pick<import('../observe/metrics/metrics.js').Metrics, 'settings_file_wrong' | 'settings_file_loads'>}
 *   options.metrics
 * @param {number} [options.every] ms
 * @param {import('../base/common/wait.js').Timers} options.clock
 */
export function createReloadedFiles ({
  setting, path, load, apply, log, metrics, every = EVERY, clock
}) {
  let stopped = false
  /** Each file that the last load read: a hash of it, or why it could not be read. @type {Map<string, string>} */
  let seen = new Map()
  /** @type {import('../base/common/clock.js').Timer | undefined} */
  let timer

  async function loadAll () {
    /** @type {typeof seen} */
    const files = new Map()
    /** @type {ReadBytes} */
    const read = async (name) => {
      const { bytes, state } = await look(name)
      files.set(name, state)
      if (bytes === undefined) throw new Error(`${name}: ${state}`)
      return bytes
    }
    try {
      apply(await load(async (name) => (await read(name)).toString(), read))
      count(true)
    } catch (error) {
      count(false)
      throw error
    } finally {
      seen = files
    }
  }

  /** @param {boolean} correct */
  function count (correct) {
    metrics.settings_file_wrong.set({ setting }, correct ? 0 : 1)
    metrics.settings_file_loads.count(setting, correct ? 'loaded' : 'wrong')
  }

  async function hasChanged () {
    for (const [name, state] of seen) if ((await look(name)).state !== state) return true
    return false
  }

  async function check () {
    if (await hasChanged() && !stopped) await loadAgain('has changed')
  }

  /** @param {string} event */
  async function loadAgain (event) {
    try {
      await loadAll()
      log.info({ file: path }, `${setting} ${event} and is in force`)
    } catch (error) {
      log.error(
        { file: path, reason: reasonOf(error) },
        `${setting} ${event} but is wrong: the last correct one stays in force`
      )
    }
  }

  /** The comparisons and loads, one after the other. @type {Promise<void>} */
  let last = Promise.resolve()

  /** @param {() => Promise<void>} next @returns {Promise<void>} */
  const inTurn = (next) => (last = last.then(next))

  function plan () {
    if (!stopped) timer = clock.timer(every, () => inTurn(check).then(plan)).unref()
  }

  return {
    /** @throws {Error} that names setting, file and problem */
    async start () {
      try {
        await loadAll()
      } catch (error) {
        throw new Error(`${setting}=${path}: ${reasonOf(error)}`, { cause: error })
      }
      plan()
    },

    /** Loads the files now, changed or not, and logs the result. */
    reload: () => inTurn(() => loadAgain('was read again')),

    async stop () {
      stopped = true
      timer?.stop()
      await last
    }
  }
}

/**
 * @param {string} name
 * @returns {Promise<{ bytes?: Buffer, state: string }>}
 */
async function look (name) {
  try {
    const bytes = await readFile(name)
    if (bytes.length > MAX_BYTES) return { state: `has more than ${MAX_BYTES} bytes` }
    return { bytes, state: createHash('sha256').update(bytes).digest('base64') }
  } catch (error) {
    return { state: reasonOf(error) }
  }
}

/** @param {unknown} error */
const reasonOf = (error) => error instanceof Error ? error.message : String(error)
