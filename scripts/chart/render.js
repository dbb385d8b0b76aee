import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/**
 * Helm's engine and the schemas of Kubernetes, as Python packages: neither is to be had as a package for Node.
 *
 * @typedef {object} Rendered
 * @property {{ severity: number, path: string, error: string }[]} lint
 * @property {string[]} lintErrors
 * @property {Record<string, { files: Record<string, string>, error: string | null }>} cases
 * @property {string[]} invalid resources that Kubernetes would refuse
 */

const PACKAGES = ['helm-python-sdk==0.2.2', 'kubernetes-validate==1.37.0']
const folder = join(homedir(), '.cache', 'inkcast', PACKAGES.join('+'))
const python = join(folder, 'bin', 'python')
const run = promisify(execFile)
const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url))

export const CHART = here('../../deploy/helm/inkcast')
export const NAMESPACE = 'inkcast'

/** @returns {Promise<string | false>} why it is not available; installs it */
export async function lacksHelm () {
  if (existsSync(join(folder, 'complete'))) return false
  try {
    await run('python3', ['-m', 'venv', folder])
    await run(python, ['-m', 'pip', 'install', '--quiet', ...PACKAGES], { timeout: 300_000 })
    await run('touch', [join(folder, 'complete')])
    return false
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    return `${PACKAGES.join(' and ')} cannot be installed: ${String(error).split('\n')[0]}`
  }
}

/**
 * @param {Record<string, object>} cases values by name
 * @param {readonly string[]} versions of Kubernetes, as 1.37
 * @returns {Promise<Rendered>}
 */
export async function renderChart (cases, versions) {
  const running = run(python, [here('render.py')], { maxBuffer: 64_000_000 })
  running.child.stdin?.end(JSON.stringify({ chart: CHART, namespace: NAMESPACE, versions, cases }))
  return JSON.parse((await running).stdout)
}
