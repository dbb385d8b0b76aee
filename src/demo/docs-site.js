import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createStaticFiles } from '../process/static-files.js'

/** Where `npm run docs:site` builds it (docs/.vitepress/config.js). */
const SITE = fileURLToPath(new URL('../../docs/.vitepress/dist/', import.meta.url))

/**
 * As strict as the one of the demo. The hash is that of the only style element of the site: when a reader changes
 * between light and dark, the library VueUse adds it to suppress transitions.
 */
const POLICY = [
  'default-src \'self\'', 'style-src \'self\' \'sha256-skqujXORqzxt1aE0NNXxujEanPTX6raoqSscTV/Ww/Y=\'',
  'img-src \'self\' data:', 'base-uri \'none\'', 'form-action \'none\'', 'frame-ancestors \'none\''
].join('; ')

const HTML = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }

/** The look of the demo, which is served beside it. */
const NOT_BUILT = `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>Docs are not built yet · inkcast</title>
  <link rel="icon" href="/icon.svg">
  <link rel="stylesheet" href="/css/base.css">
  <link rel="stylesheet" href="/css/docs-not-built.css">
</head>
<body>
  <main class="card not-built">
    <h1>The docs are not built yet</h1>
    <p>Run this command in the checkout of inkcast, then reload this page. It takes about half a minute; the gateway keeps running.</p>
    <pre tabindex="0"><code>npm run docs:site</code></pre>
    <p>Without it, read the same pages as Markdown files: begin with <code>docs/README.md</code>.</p>
    <p><a href="/">Back to the demo</a></p>
  </main>
</body>
</html>
`

/**
 * Serves the site of docs/ at `/docs/`; in development only. A build is found without a restart.
 *
 * @param {string} [site] folder of the built site
 * @returns {import('http').RequestListener}
 */
export function createDocsSite (site = SITE) {
  const files = createStaticFiles(site, { dev: true })
  return (req, res) => {
    const [path, query] = (req.url ?? '').split('?')
    if (path === '/docs') return void res.writeHead(301, { location: `/docs/${query === undefined ? '' : `?${query}`}` }).end()
    res.setHeader('content-security-policy', POLICY)
    res.setHeader('x-content-type-options', 'nosniff')
    res.setHeader('referrer-policy', 'no-referrer')
    if (!existsSync(`${site}index.html`))
      return void res.writeHead(503, HTML).end(NOT_BUILT)
    req.url = req.url?.slice('/docs'.length)
    // the site's own page, with its search
    files(req, res, () => { res.writeHead(404, HTML).end(readFileSync(`${site}404.html`)) })
  }
}
