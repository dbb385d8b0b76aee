import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { bodyOf, createBundles, loadEsbuild, sendBody } from './bundles.js'

const FOLDER = fileURLToPath(new URL('./page/', import.meta.url))
const PLACE = '<script id="settings" type="application/json">{}</script>'

/**
 * The files of the page. The settings are in its HTML, scripts and styles are one file each: the first view takes few
 * requests.
 *
 * @param {Pick<import('./index.js').Inkcast, 'createStaticFiles' | 'ROOT'>} inkcast
 * @param {object} dependencies
 * @param {import('../../src/base/common/log.js').Log} dependencies.log
 * @param {typeof loadEsbuild} [dependencies.loadBundler]
 */
export function createPageFiles ({ createStaticFiles, ROOT }, { log, loadBundler = loadEsbuild }) {
  const files = createStaticFiles(FOLDER, { dev: true })
  /** @type {Promise<ReturnType<typeof createBundles>> | undefined} loaded with the first visitor */
  let bundles

  /** @param {string} name @param {object} settings */
  async function bodyFor (name, settings) {
    if (name === '/' || name === '/index.html') {
      const html = await readFile(path.join(FOLDER, 'index.html'), 'utf8')
      // `<` could end the element
      const json = JSON.stringify(settings).replaceAll('<', '\\u003c')
      return bodyOf(Buffer.from(html.replace(PLACE, () => PLACE.replace('{}', () => json))), '.html')
    }
    bundles ??= loadBundler().then((esbuild) => createBundles({ folder: FOLDER, client: path.join(ROOT, 'client'), esbuild }))
    return (await bundles).read(name)
  }

  /**
   * @param {import('http').IncomingMessage} req
   * @param {import('http').ServerResponse} res
   * @param {object} settings for the page
   * @param {() => void} next
   */
  return async (req, res, settings, next) => {
    const name = req.url?.split('?')[0] ?? '/'
    try {
      const body = req.method === 'GET' || req.method === 'HEAD' ? await bodyFor(name, settings) : null
      if (body !== null) return await sendBody(req, res, body)
    } catch (error) {
      // a module has an error, while the page is being changed: the browser tells more about it
      log.warn({ err: error }, 'the demo page could not be bundled')
    }
    files(req, res, next)
  }
}
