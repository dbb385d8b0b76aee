import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { spawnGuarded } from '../services/guard.js'
import { freePorts } from '../services/ports.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Ports that a tutorial names; a test has free ones in their place. */
const PORTS = [3000, 3001, 4000, 8000]

/**
 * Does what a reader of a tutorial does: has its files in a folder of a checkout, and runs its commands as they are
 * written, but for the ports.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string} page path of the tutorial, relative to the root
 */
export async function followTutorial (t, page) {
  const text = readFileSync(ROOT + page, 'utf8')
  const free = await freePorts(PORTS.length + 1)
  const port = (/** @type {number} */ written) => free[PORTS.indexOf(written)]
  const here = (/** @type {string} */ written) =>
    PORTS.reduce((code, one) => code.replaceAll(new RegExp(`(?<=localhost:|listen\\(|--serve=)${one}\\b`, 'g'), String(port(one))), written)

  // below the root, so that imports find the packages of the checkout
  mkdirSync(`${ROOT}test/output`, { recursive: true })
  const folder = mkdtempSync(`${ROOT}test/output/tutorial-`)
  /** @type {import('../services/guard.js').GuardedProcess[]} */
  const runs = []
  t.after(async () => {
    // they write into the folder until they have ended
    await Promise.all(runs.map((run) => run.stop(5000)))
    rmSync(folder, { recursive: true, force: true })
  })
  /** @type {string[]} */
  const files = []
  for (const [, file, code] of text.matchAll(/^`(my-[\w./-]+)`.*:\n\n```\w+\n([\s\S]*?)^```/gm)) {
    mkdirSync(join(folder, dirname(file)), { recursive: true })
    writeFileSync(join(folder, file), here(code))
    files.push(file)
  }
  const commands = [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, code]) => code.trim().split('\n'))
  /** @type {Set<string>} */
  const used = new Set()

  /** @param {string} beginning @returns {string} the only command of the page that begins so, for this folder */
  function commandOf (beginning) {
    const found = commands.filter((command) => command.startsWith(beginning))
    if (found.length !== 1) throw new Error(`${page} has ${found.length} commands that begin with ${beginning}`)
    used.add(found[0])
    return here(found[0]).replace(/^npm start(?: --)?/, `node ${ROOT}cluster.js`)
      .replace(/^npx esbuild/, `tail -f /dev/null | ${ROOT}node_modules/.bin/esbuild`) // its stdin is open, as in a terminal
  }

  return {
    files,
    port,
    folder,
    /** Commands of the page that no test has run. */
    unused: () => commands.filter((command) => !used.has(command)),
    /**
     * @param {string} beginning of a command that runs until it is stopped
     * @param {Record<string, string>} [settings] besides those of the page
     * @returns {import('../services/guard.js').GuardedProcess}
     */
    start (beginning, settings = {}) {
      const run = spawnGuarded('bash', ['-c', `exec ${commandOf(beginning)}`.replace(/^exec (?=tail)/, '')], {
        log: join(folder, `${free[0]}.log`),
        cwd: folder,
        env: {
          PATH: process.env.PATH,
          HOME: process.env.HOME,
          INKCAST_ENV_FILE: '',
          PORT: String(port(3000)),
          API_PORT: String(port(3001)),
          ADMIN_PORT: String(free[PORTS.length]),
          ...settings
        }
      })
      runs.push(run)
      return run
    },
    /** @param {string} beginning of a command that ends @returns {Promise<string>} its output */
    async run (beginning) {
      const log = join(folder, `run-${used.size}.log`)
      const { code } = await spawnGuarded('bash', ['-ec', commandOf(beginning)], { log, cwd: folder }).finished()
      const output = readFileSync(log, 'utf8')
      if (code !== 0) throw new Error(`${beginning} ended with ${code}: ${output}`)
      return output
    }
  }
}
