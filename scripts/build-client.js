#!/usr/bin/env node
/**
 * Builds the generated part of the client package, in client/dist/: types for TypeScript, and one file for pages that
 * have neither a bundler nor a gateway in development mode to load modules from. `npm pack` and `npm publish` run it.
 */
import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const ROOT = fileURLToPath(new URL('../', import.meta.url))

/**
 * @param {object} options
 * @param {string} [options.outfile] default: the bundle is only returned
 * @param {boolean} options.withSocketIo whether to include socket.io-client
 * @returns {Promise<Uint8Array>} the bundle
 */
export async function bundleClient ({ outfile, withSocketIo }) {
  const { outputFiles: [file] } = await build({
    entryPoints: [`${ROOT}client/index.js`],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    external: withSocketIo ? [] : ['socket.io-client'],
    logLevel: 'silent'
  })
  if (outfile !== undefined) {
    await mkdir(new URL('./', pathToFileURL(outfile)), { recursive: true })
    await writeFile(outfile, file.contents)
  }
  return file.contents
}

/** @param {string} project folder of a tsconfig.json @param {string} outDir for the declarations */
function declare (project, outDir) {
  execFileSync(
    process.execPath,
    [`${ROOT}node_modules/typescript/bin/tsc`, '-p', `${ROOT}${project}/tsconfig.json`, '--outDir', outDir],
    { stdio: 'pipe' }
  )
}

/** @param {string} outDir for the declarations of `inkcast/client` */
export const declareClient = (outDir) => declare('client', outDir)

/** @param {string} outDir for the declarations of `inkcast` */
export const declareExtension = (outDir) => declare('src/extensions', outDir)

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { length } = await bundleClient({ outfile: `${ROOT}client/dist/inkcast-client.min.js`, withSocketIo: true })
  declareClient(`${ROOT}client/dist/types`)
  declareExtension(`${ROOT}src/extensions/types`)
  console.log(`client/dist: inkcast-client.min.js, ${length} bytes, and types; src/extensions/types`)
}
