import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** Packages of this repository, by the folder that holds them. */
const OWN = { 'inkcast-client': 'client', 'inkcast-react': 'packages/react' }

/** @param {string} folder @returns {any} */
const manifestOf = (folder) => JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))

/** The real builds take minutes, and are in test/nightly/builds.test.js. */
describe('the examples with a build of their own', () => {
  for (const example of ['vite', 'next']) {
    const folder = join(ROOT, 'examples', example)
    const { dependencies, devDependencies = {} } = manifestOf(`examples/${example}`)

    test(`${example}: each file parses, and imports only what exists and its package.json has`, async () => {
      const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.jsx?$/.test(name) && !/^(?:node_modules|dist|\.next)\//.test(name))
      /** @type {Set<string>} */
      const imported = new Set()
      await build({
        entryPoints: files.map((file) => join(folder, file)),
        outdir: folder,
        bundle: true,
        write: false,
        format: 'esm',
        jsx: 'automatic',
        logLevel: 'silent',
        plugins: [{
          name: 'packages',
          setup: ({ onResolve }) => onResolve({ filter: /^[^./]/ }, ({ path, importer }) => {
            if (!importer.startsWith(folder)) return undefined
            const [name] = /** @type {RegExpExecArray} */ (/^(@[^/]+\/)?[^/]+/.exec(path))
            imported.add(name)
            return name in OWN ? undefined : { external: true }
          })
        }]
      })
      // React itself is imported by the JSX of each file
      assert.deepEqual([...imported].filter((name) => !(name in { ...dependencies, ...devDependencies })), [])
      for (const name of ['inkcast-react', 'react']) assert.ok(imported.has(name), name)
    })

    test(`${example}: it has the versions of the packages in this repository`, () => {
      for (const [name, path] of Object.entries(OWN)) assert.equal(dependencies[name], manifestOf(path).version, name)
      assert.equal(dependencies.react, dependencies['react-dom'])
    })
  }
})
