import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/**
 * Packages that a page names and inkcast does not depend on, from the registry, once for this machine.
 *
 * @param {string[]} packages with their versions
 * @returns {Promise<{ modules: string, missing: string | false }>} modules: the folder node_modules; missing: why it is
 *   not there, as a reason to skip
 */
export async function npmPackages (packages) {
  const folder = join(homedir(), '.cache', 'inkcast', packages.join('+').replaceAll('/', '-'))
  const modules = join(folder, 'node_modules')
  if (existsSync(join(folder, 'complete'))) return { modules, missing: false }
  try {
    await mkdir(folder, { recursive: true })
    await promisify(execFile)(
      'npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder, ...packages], { timeout: 120_000 }
    )
    await writeFile(join(folder, 'complete'), '')
    return { modules, missing: false }
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    return { modules, missing: `${packages.join(' ')} cannot be installed: ${String(error).split('\n')[0]}` }
  }
}
