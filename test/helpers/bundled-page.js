import { once } from 'node:events'
import http from 'node:http'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Serves an empty page with a script.
 *
 * @param {{ after: (close: () => void) => void }} scope
 * @param {string} source of the script, a module that may import files of the project
 * @returns {Promise<string>} its origin
 */
export async function serveBundled (scope, source) {
  const { outputFiles: [script] } = await build({
    stdin: { contents: source, resolveDir: ROOT },
    // a test's helper imports it for its default
    alias: { 'node:assert/strict': `${ROOT}client/common/error.js` },
    bundle: true, format: 'esm', target: 'es2022', write: false, logLevel: 'silent'
  })
  const server = http.createServer((req, res) => {
    const [type, body] = req.url === '/page.js'
      ? ['text/javascript', script.contents]
      : ['text/html', '<!doctype html><title>page</title><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>']
    res.writeHead(200, { 'content-type': type }).end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  scope.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${/** @type {import('net').AddressInfo} */ (server.address()).port}`
}
