import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'

const COMPRESS = { br: promisify(brotliCompress), gzip: promisify(gzip) }
const TYPES = { '.js': 'text/javascript', '.css': 'text/css', '.html': 'text/html; charset=utf-8' }

/**
 * @typedef {object} Body
 * @property {string} type
 * @property {Buffer} bytes
 * @property {string} etag
 * @property {Map<string, Promise<Buffer>>} compressed by encoding
 */

/**
 * Bundles the page's scripts and style sheets in memory, so that a browser needs one request for all modules. esbuild
 * is a development dependency: without it pages get the modules as they are (docs/internals/decisions/0080-demo.md).
 *
 * @param {object} settings
 * @param {string} settings.folder of the page
 * @param {string} settings.client folder of the client
 * @param {typeof import('esbuild') | null} settings.esbuild null: it is not installed
 */
export function createBundles ({ folder, client, esbuild }) {
  /**
   * By path; bounded by the files there are.
   * @type {Map<string, Promise<{ body: Body, inputs: string[], state: string }>>}
   */
  const bundles = new Map()

  /** @param {string} entry absolute */
  async function build (entry) {
    const { outputFiles: [file], metafile } = await /** @type {typeof import('esbuild')} */ (esbuild).build({
      entryPoints: [entry],
      absWorkingDir: folder,
      bundle: true,
      minify: true,
      format: 'esm',
      target: 'es2022',
      write: false,
      metafile: true,
      outdir: folder,
      logLevel: 'silent',
      plugins: [{ name: 'client', setup: (build) => resolveClient(build, client) }]
    })
    const inputs = Object.keys(metafile.inputs).map((name) => path.resolve(folder, name))
    return { body: bodyOf(file.contents, path.extname(entry)), inputs, state: await stateOf(inputs) }
  }

  return {
    /**
     * @param {string} name path on the page, such as `/js/main.js`
     * @returns {Promise<Body | null>} null: not bundled
     * @throws {Error} if a module has an error
     */
    async read (name) {
      if (esbuild === null || !/^\/(js\/(main|[\w-]+-worker)\.js|css\/page\.css)$/.test(name)) return null
      const entry = path.join(folder, name)
      const kept = await bundles.get(name)?.catch(() => null)
      if (kept && await stateOf(kept.inputs) === kept.state) return kept.body
      if (await stat(entry).catch(() => null) === null) return null
      const next = build(entry)
      bundles.set(name, next)
      return (await next).body
    }
  }
}

/**
 * Modules of the client by their path on the page. The devtools stay apart: they are loaded on demand.
 * @param {import('esbuild').PluginBuild} build
 * @param {string} client folder
 */
function resolveClient ({ onResolve }, client) {
  onResolve({ filter: /^\/client\// }, ({ path: name }) =>
    name.startsWith('/client/devtools/')
      ? { path: name, external: true }
      : { path: path.join(client, name.slice('/client/'.length)) })
}

/** @param {string[]} files @returns {Promise<string>} differs when one of them is changed */
async function stateOf (files) {
  const times = await Promise.all(files.map((file) => stat(file).then(({ mtimeMs }) => mtimeMs, () => 'gone')))
  return times.join()
}

/** @param {Uint8Array} contents @param {string} extension @returns {Body} */
export function bodyOf (contents, extension) {
  const bytes = Buffer.from(contents)
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 20)}"`
  return { type: TYPES[/** @type {keyof typeof TYPES} */ (extension)], bytes, etag, compressed: new Map() }
}

/**
 * Sends a body compressed, or `304` if the browser has it.
 * @param {import('http').IncomingMessage} req
 * @param {import('http').ServerResponse} res
 * @param {Body} body
 */
export async function sendBody (req, res, { type, bytes, etag, compressed }) {
  res.setHeader('etag', etag)
  res.setHeader('cache-control', 'no-cache')
  res.setHeader('vary', 'accept-encoding')
  if (req.headers['if-none-match'] === etag) return void res.writeHead(304).end()
  const accepted = String(req.headers['accept-encoding'] ?? '')
  const encoding = /\bbr\b/.test(accepted) ? 'br' : /\bgzip\b/.test(accepted) ? 'gzip' : null
  let sent = bytes
  if (encoding !== null) {
    let work = compressed.get(encoding)
    if (work === undefined) compressed.set(encoding, work = COMPRESS[encoding](bytes))
    sent = await work
    res.setHeader('content-encoding', encoding)
  }
  res.writeHead(200, { 'content-type': type, 'content-length': sent.length }).end(req.method === 'HEAD' ? undefined : sent)
}

/** @returns {Promise<typeof import('esbuild') | null>} null where development dependencies are not installed */
export const loadEsbuild = () => import('esbuild').then((module) => module, () => null)
