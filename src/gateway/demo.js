import { fileURLToPath } from 'node:url'
import sirv from 'sirv'
import { createClientFiles } from './client-files.js'
import { notFound } from './http.js'

/**
 * The demo page at `/`, and the client it loads at `/client/`; in development only.
 * @param {{ apiUrl: string, needsToken: boolean }} settings where the page says to publish, and whether that needs a token
 * @returns {import('http').RequestListener}
 */
export function createDemo (settings) {
  const page = sirv(fileURLToPath(new URL('../demo/', import.meta.url)), { dev: true })
  const client = createClientFiles()
  return (req, res) => {
    res.setHeader('content-security-policy', 'default-src \'self\'; connect-src \'self\' ws: wss:; img-src \'self\' data:; frame-ancestors \'none\'')
    res.setHeader('x-content-type-options', 'nosniff')
    if (req.url?.startsWith('/client/')) return client(req, res, () => notFound(req, res))
    if (req.url === '/settings.json') return void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(settings))
    page(req, res, () => notFound(req, res))
  }
}
