#!/usr/bin/env node
/**
 * Builds the generated part of the packages, in their dist/: types for TypeScript, CommonJS modules, and for the client
 * files for pages without a bundler. `npm pack` and `npm publish` run it.
 *
 *   node scripts/build-packages.js                   all, and the types of the root package
 *   node scripts/build-packages.js packages/react    one, with what it depends on
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const CLIENT = `${ROOT}client/index.js`
const TARGET = 'es2022'
const MINIFIED = /** @type {const} */ ({
  bundle: true,
  minify: true,
  format: 'esm',
  target: TARGET,
  logLevel: 'silent'
})
/** Packages in build order: the later ones need the types of the client. */
export const PACKAGES = ['client', 'packages/publisher', 'packages/react', 'packages/svelte', 'packages/vue', 'packages/yjs']

/**
 * Bundles the client into one file, without source map: for tests and examples.
 *
 * @param {string} [outfile] default: the bundle is only returned
 * @returns {Promise<Uint8Array>} the bundle, with socket.io-client
 */
export async function bundleClient (outfile) {
  const { outputFiles: [file] } = await build({ ...MINIFIED, entryPoints: [CLIENT], write: false })
  if (outfile !== undefined) {
    mkdirSync(dirname(outfile), { recursive: true })
    writeFileSync(outfile, file.contents)
  }
  return file.contents
}

/**
 * Bundles the part of the client that every page loads into one file: without socket.io-client, and without what is
 * loaded when it is used.
 *
 * @returns {Promise<Uint8Array>}
 */
export async function bundleCore () {
  const { outputFiles: [file] } = await build({
    ...MINIFIED,
    entryPoints: [CLIENT],
    external: ['socket.io-client'],
    write: false,
    plugins: [{
      name: 'leave out import()',
      setup ({ onResolve }) {
        onResolve({ filter: /^/ }, ({ path, kind }) => kind === 'dynamic-import' ? { path, external: true } : undefined)
      }
    }]
  })
  return file.contents
}

/**
 * Files for pages without a bundler: a module and a classic script (global `inkcast`), each with socket.io-client and
 * the outbox, and the devtools apart.
 *
 * @param {string} outdir
 */
export async function bundlePages (outdir) {
  const common = { ...MINIFIED, sourcemap: true }
  const client = { ...common, entryPoints: [CLIENT] }
  const files = ['inkcast-client.min.js', 'inkcast-client.global.min.js'].map((name) => join(outdir, name))
  await build({ ...client, outfile: files[0] })
  await build({ ...client, format: 'iife', globalName: 'inkcast', outfile: files[1] })
  for (const file of files) leaveOutOwnSources(`${file}.map`)
  const devtools = `${ROOT}client/devtools/index.js`
  if (existsSync(devtools)) {
    // all its sources are in the package
    await build({
      ...common,
      sourcesContent: false,
      entryPoints: [devtools],
      outfile: join(outdir, 'inkcast-devtools.min.js')
    })
  }
}

/** Those of the package itself are in it; those of its dependencies stay. @param {string} file a source map */
function leaveOutOwnSources (file) {
  const map = JSON.parse(readFileSync(file, 'utf8'))
  map.sourcesContent = map.sources.map((/** @type {string} */ source, /** @type {number} */ i) =>
    source.includes('node_modules/') ? map.sourcesContent[i] : null)
  writeFileSync(file, JSON.stringify(map))
}

/** @param {string} folder @returns {string[]} absolute paths of the package's modules */
const modulesOf = (folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js') && !/^(dist|node_modules)\b/.test(name))
    .map((name) => join(ROOT, folder, name))

/**
 * Compiles each module of a package to CommonJS. One file per module, so that modules that are loaded on demand share
 * the classes of the others.
 *
 * @param {string} folder @param {string} outdir
 */
async function buildCommonJs (folder, outdir) {
  await build({
    entryPoints: modulesOf(folder),
    outbase: join(ROOT, folder),
    outdir,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: TARGET,
    sourcemap: true,
    // the sources are in the package
    sourcesContent: false,
    logLevel: 'silent',
    plugins: [{
      name: 'modules-apart',
      setup: ({ onResolve }) => onResolve({ filter: /.*/ }, ({ path, kind }) =>
        kind === 'entry-point' ? undefined : { path: path.replace(/^(\.\.?\/.*)\.js$/, '$1.cjs'), external: true })
    }]
  })
}

/** @param {string} folder of a tsconfig.json, relative to the root @param {string} outDir for the declarations */
function declare (folder, outDir) {
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  try {
    execFileSync(process.execPath, [tsc, '-p', join(ROOT, folder, 'tsconfig.json'), '--outDir', outDir], {
      stdio: 'pipe'
    })
  } catch (error) {
    throw new Error(`types of ${folder}:\n${/** @type {any} */ (error).stdout}`, { cause: error })
  }
}

/**
 * @param {string} types folder
 * @throws {Error} if a type is that of a file outside the package, as tsc writes it for types without an annotation
 */
function checkDeclarations (types) {
  for (const name of readdirSync(types, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.d.ts')) continue
    for (const [, path] of readFileSync(join(types, name), 'utf8').matchAll(/['"](\.\.?\/[^'"\n]+\.js)['"]/g)) {
      if (relative(types, join(types, name, '..', path)).startsWith('..'))
        throw new Error(`${join(types, name)} imports ${path}: write the type in the source, by its package's name`)
    }
  }
}

/** Imports of packages whose types are only those of ES modules, although they can be required. */
const ONLY_ESM_TYPES = /^import (.+) from '(yjs|y-protocols\/[\w-]+)';$/gm

/** Copies declarations of ES modules as those of CommonJS modules. @param {string} from @param {string} to */
function declareCommonJs (from, to) {
  for (const name of readdirSync(from, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.d.ts')) continue
    const types = readFileSync(join(from, name), 'utf8')
      .replaceAll(/(['"])(\.\.?\/[^'"]+)\.js\1/g, '$1$2.cjs$1')
      .replaceAll(ONLY_ESM_TYPES, 'import type $1 from \'$2\' with { \'resolution-mode\': \'import\' };')
    writeFileSync(join(to, name.replace(/\.d\.ts$/, '.d.cts')), types)
  }
}

/** @param {string} outDir for the declarations of `inkcast` */
export const declareExtension = (outDir) => declare('src/gateway/extensions', outDir)

/** @param {string} folder of PACKAGES */
export async function buildPackage (folder) {
  const dist = join(ROOT, folder, 'dist')
  rmSync(dist, { recursive: true, force: true })
  declare(folder, join(dist, 'types'))
  checkDeclarations(join(dist, 'types'))
  await buildCommonJs(folder, join(dist, 'cjs'))
  declareCommonJs(join(dist, 'types'), join(dist, 'cjs'))
  if (folder !== 'client') return
  await bundlePages(dist)
  writeFileSync(join(dist, 'inkcast-client.min.d.ts'), 'export * from \'./types/index.js\'\n')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const named = process.argv.slice(2).map((path) => relative(ROOT, join(ROOT, path)))
  const unknown = named.filter((folder) => !PACKAGES.includes(folder))
  if (unknown.length > 0) throw new Error(`${unknown.join(', ')}: not one of ${PACKAGES.join(', ')}`)
  const chosen = named.length === 0 ? PACKAGES : PACKAGES.filter((folder) => folder === 'client' || named.includes(folder))
  for (const folder of chosen) {
    await buildPackage(folder)
    console.log(`${folder}/dist`)
  }
  if (named.length === 0) {
    declareExtension(join(ROOT, 'src/gateway/extensions/types'))
    console.log('src/gateway/extensions/types')
  }
}
