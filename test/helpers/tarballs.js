import { execFile, execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Parts of the repository that packing needs. */
const PACKED = [
  'package.json',
  '.npmrc',
  'tsconfig.json',
  'README.md',
  'LICENSE',
  'CHANGELOG.md',
  'SECURITY.md',
  'cluster.js',
  'pm2.config.js',
  'scripts',
  'client',
  'packages',
  'src',
  'docs',
  'examples'
]
/** npm's errors without access to its registry. */
const NO_REGISTRY = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED|EIDLETIMEOUT/

export const PACKAGE_NAMES = /** @type {const} */ ([
  'inkcast', 'inkcast-client', 'inkcast-demo', 'inkcast-load', 'inkcast-publisher', 'inkcast-react', 'inkcast-svelte', 'inkcast-vue',
  'inkcast-yjs', 'inkcast-yjs-server'
])

/** npm cannot reach its registry: a reason to skip a test. */
export class NoRegistry extends Error {}

/**
 * @param {string} cwd
 * @param {string[]} args
 * @returns {Promise<{ stdout: string, stderr: string }>}
 * @throws {NoRegistry}
 */
export async function npm (cwd, ...args) {
  try {
    // npm of the outer process: `npm test` passes settings of this repository to its children
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(?!config_cache)/i.test(name)))
    return await promisify(execFile)('npm', [...args, '--no-audit', '--no-fund'], {
      cwd,
      env: { ...env, NEXT_TELEMETRY_DISABLED: '1' },
      timeout: 400_000,
      maxBuffer: 20_000_000
    })
  } catch (error) {
    const { stderr = '', stdout = '' } = /** @type {any} */ (error)
    if (NO_REGISTRY.test(stderr)) throw new NoRegistry('npm cannot reach its registry', { cause: error })
    throw new Error(`npm ${args.join(' ')}:\n${stderr}${stdout}`, { cause: error })
  }
}

/** @param {{ after: (stop: () => unknown) => void }} t @returns {string} */
export function temporaryFolder (t) {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  return folder
}

/**
 * Packs the packages as `npm publish` does, with their scripts, from a copy: other tests read this checkout. A package
 * that the script of another one has built is not built again: the types take the most time.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {readonly (typeof PACKAGE_NAMES)[number][]} names
 * @returns {Promise<Record<string, string>>} path of each tarball
 */
export async function packAll (t, names) {
  const folder = temporaryFolder(t)
  const copy = join(folder, 'copy')
  mkdirSync(copy)
  for (const path of PACKED) {
    cpSync(join(ROOT, path), join(copy, path), {
      recursive: true,
      filter: (source) => !/\/(node_modules|dist|\.next|data)(\/|$)/.test(source.slice(ROOT.length - 1))
    })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  /** @type {Record<string, string>} */
  const tarballs = {}
  const building = names.includes('inkcast')
    ? ['inkcast']
    : names.filter((name) => name !== 'inkcast-client' || names.length === 1)
  // one npm for those that need no script: it takes longer to start than to pack
  for (const group of [building, names.filter((name) => !building.includes(name))]) {
    if (group.length === 0) continue
    const { stdout } = await npm(
      copy,
      'pack',
      '--pack-destination',
      folder,
      ...(group === building ? [] : ['--ignore-scripts']),
      ...group.flatMap((name) => name === 'inkcast' ? [] : ['--workspace', name])
    )
    const packed = stdout.trim().split('\n')
    for (const name of group)
      tarballs[name] = join(folder, /** @type {string} */ (packed.findLast((line) => new RegExp(`^${name}-\\d.*\\.tgz$`).test(line))))
    if (group.includes('inkcast')) {
      // as it is published: .github/workflows/release.yml
      execFileSync(process.execPath, ['scripts/stage-package.js', join(folder, 'staged')], { cwd: copy })
      await npm(join(folder, 'staged'), 'pack', '--pack-destination', folder)
    }
  }
  return tarballs
}

/**
 * Installs tarballs and packages of the registry in an empty folder.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {Record<string, string>} dependencies
 * @returns {Promise<{ folder: string, warnings: string, packages: string[] }>} `packages`: installed ones, sorted
 * @throws {NoRegistry}
 */
export async function installIn (t, dependencies) {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }))
  const { stderr } = await npm(folder, 'install', '--ignore-scripts', '--prefer-offline')
  const { packages } = JSON.parse(readFileSync(join(folder, 'node_modules', '.package-lock.json'), 'utf8'))
  const names = Object.keys(packages).map((path) => path.slice(path.lastIndexOf('node_modules/') + 13))
  return { folder, warnings: stderr, packages: names.sort() }
}

/** @param {string} folder @returns {string[]} files, relative */
export const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()
